// SPDX-License-Identifier: Apache-2.0
#include "connect.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace gind::client {
namespace {

constexpr const char* kDefaultPath = "/run/gind/gind.sock";

Error connect_error(const std::string& path, int err) {
  std::string message = "cannot connect to gind at " + path + ": " + errno_text(err);
  ginResult_t code = ginDaemonLost;
  switch (err) {
    case ENOENT:
    case ECONNREFUSED:
      message += "; is gind running? (GIND_SOCKET names another socket)";
      break;
    case EACCES:
    case EPERM:
      code = ginPermissionDenied;
      message += "; is this user in the group gin?";
      break;
    case EPROTOTYPE:
      message += "; this is not gind's socket";
      break;
    case EAGAIN:
      message = "gind at " + path + " does not accept connections: its queue is full";
      break;
    default:
      break;
  }
  return {code, message};
}

}  // namespace

std::string socket_path() {
  const char* path = ::secure_getenv("GIND_SOCKET");
  return path != nullptr && *path != '\0' ? path : kDefaultPath;
}

Result<Fd> connect_to(const std::string& path, std::chrono::steady_clock::time_point deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{ginInvalidArgument, "the socket path " + path + " (GIND_SOCKET) has " +
                                         std::to_string(path.size()) + " bytes, at most " +
                                         std::to_string(sizeof address.sun_path - 1) +
                                         " are possible"};
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return system_error("creating a socket for gind", errno);
  for (;;) {
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      return socket;
    }
    const int err = errno;
    if (err == EINTR) continue;
    // EAGAIN: the listen queue is full for now.
    if (err != EAGAIN || std::chrono::steady_clock::now() >= deadline) {
      return connect_error(path, err);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace gind::client
