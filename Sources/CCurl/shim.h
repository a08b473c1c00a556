// The C headers that this module shows to Swift.
#pragma once
// No feature macros: the toolchain's own modules (Dispatch, Glibc) are built without, and all must agree about the
// system's headers.
#include <curl/curl.h>
