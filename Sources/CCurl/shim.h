// The C headers that this module shows to Swift.
#pragma once
// Every module of the package defines this first, so that they agree about the system's own headers.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <curl/curl.h>
