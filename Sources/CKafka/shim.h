// The C headers that this module shows to Swift.
#pragma once
// No feature macro such as _GNU_SOURCE is defined here: the system's own modules define none, and all must agree about its
// headers.
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
