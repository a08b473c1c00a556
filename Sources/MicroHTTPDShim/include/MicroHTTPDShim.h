// libmicrohttpd's variadic functions, as plain functions for what this package asks of them.
#pragma once
#include <microhttpd.h>

// How a server is to work.
struct microhttpd_shim_settings {
  int listen_socket;
  unsigned int connection_limit;
  unsigned int idle_seconds;
  size_t connection_memory;
  // Handed to every callback.
  void *context;
  void *(*begin)(void *context, const char *uri, struct MHD_Connection *connection);
  MHD_AccessHandlerCallback handle;
  MHD_RequestCompletedCallback complete;
  MHD_NotifyConnectionCallback notify;
};

// Starts a server with one thread of its own; null when it cannot be started.
struct MHD_Daemon *microhttpd_shim_start(const struct microhttpd_shim_settings *settings);

// The socket of a connection.
int microhttpd_shim_socket(struct MHD_Connection *connection);

// What the callback of a new connection has put down for it.
void *microhttpd_shim_connection_context(struct MHD_Connection *connection);
