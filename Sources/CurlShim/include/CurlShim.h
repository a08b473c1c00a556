// libcurl's variadic functions, one plain function for each type of argument that this package passes.
#pragma once
#include <curl/curl.h>

typedef size_t (*curl_shim_receive)(char *bytes, size_t size, size_t count, void *context);

CURLcode curl_shim_set_long(CURL *handle, CURLoption option, long value);
CURLcode curl_shim_set_offset(CURL *handle, CURLoption option, curl_off_t value);
CURLcode curl_shim_set_text(CURL *handle, CURLoption option, const char *value);
CURLcode curl_shim_set_pointer(CURL *handle, CURLoption option, const void *value);
CURLcode curl_shim_set_receive(CURL *handle, CURLoption option, curl_shim_receive value);
CURLcode curl_shim_set_open_socket(CURL *handle, curl_opensocket_callback value);
// Whatever an address says, nothing but HTTP and HTTPS is spoken: by the name of the option that the library has, which
// changed in version 7.85.
CURLcode curl_shim_allow_http_only(CURL *handle);
CURLcode curl_shim_get_long(CURL *handle, CURLINFO info, long *value);
CURLcode curl_shim_get_pointer(CURL *handle, CURLINFO info, void **value);

// The result in a finished transfer's message, which is a member of a union.
CURLcode curl_shim_result(const CURLMsg *message);
