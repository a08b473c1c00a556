// The C headers that this module shows to Swift.
#pragma once
// Every module of the package defines this first, so that they agree about the system's own headers.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
