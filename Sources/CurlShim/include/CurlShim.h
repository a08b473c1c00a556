#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <curl/curl.h>
