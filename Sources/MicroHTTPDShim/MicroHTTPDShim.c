#include "MicroHTTPDShim.h"

struct MHD_Daemon *microhttpd_shim_start(const struct microhttpd_shim_settings *settings) {
  return MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, settings->handle, settings->context,
      MHD_OPTION_LISTEN_SOCKET, (MHD_socket)settings->listen_socket,
      MHD_OPTION_CONNECTION_LIMIT, settings->connection_limit,
      MHD_OPTION_CONNECTION_TIMEOUT, settings->idle_seconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, settings->connection_memory,
      MHD_OPTION_STRICT_FOR_CLIENT, 1,
      MHD_OPTION_URI_LOG_CALLBACK, settings->begin, settings->context,
      MHD_OPTION_NOTIFY_COMPLETED, settings->complete, settings->context,
      MHD_OPTION_NOTIFY_CONNECTION, settings->notify, settings->context,
      MHD_OPTION_END);
}

int microhttpd_shim_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

void *microhttpd_shim_connection_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : 0;
}
