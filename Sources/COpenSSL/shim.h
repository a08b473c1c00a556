// The C headers that this module shows to Swift.
#pragma once
// No feature macro such as _GNU_SOURCE is defined here: the system's own modules define none, and all must agree about its
// headers.
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
