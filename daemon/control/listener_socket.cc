// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/listener_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace gind {

namespace {

Result<gid_t> group_id(const std::string& name) {
  group entry{};
  group* found = nullptr;
  std::vector<char> buffer(16384);
  const int err = ::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return found->gr_gid;
  return Error{ginInvalidArgument,
               fmt::format("daemon.socket_group: there is no group \"{}\"{}; create it (groupadd "
                           "--system {}) or name another",
                           name, err != 0 ? " (" + errno_text(err) + ")" : "", name)};
}

Result<void> set_access(const std::string& path, const Config::Daemon& config) {
  const auto mode = static_cast<mode_t>(std::stoul(config.socket_mode, nullptr, 8));
  if (::chmod(path.c_str(), mode) != 0) return system_error("chmod of " + path, errno);
  if (config.socket_group.empty()) return {};
  const auto gid = group_id(config.socket_group);
  if (!gid) return gid.error();
  if (::chown(path.c_str(), static_cast<uid_t>(-1), gid.value()) != 0) {
    return system_error(fmt::format("giving {} to group {}", path, config.socket_group), errno);
  }
  return {};
}

}  // namespace

Result<ListenerSocket> ListenerSocket::open(const Config::Daemon& config) {
  ListenerSocket made;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (config.socket.size() >= sizeof address.sun_path) {
    return Error{ginInvalidArgument,
                 fmt::format("daemon.socket: the path has {} bytes, a Unix socket's has at most {}",
                             config.socket.size(), sizeof address.sun_path - 1)};
  }
  std::memcpy(address.sun_path, config.socket.c_str(), config.socket.size() + 1);
  const std::string lock_path = config.socket + ".lock";
  made.lock_ = Fd(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!made.lock_.valid()) {
    const int err = errno;
    return system_error(
        fmt::format("daemon.socket {}: cannot open the lock file {}{}", config.socket, lock_path,
                    err == ENOENT ? " (does the folder exist?)" : ""),
        err);
  }
  if (::flock(made.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error{ginInvalidUsage,
                 fmt::format("another gind serves {} (it holds {}); stop it, or give this one "
                             "another daemon.socket",
                             config.socket, lock_path)};
  }
  struct stat st {};
  if (::lstat(config.socket.c_str(), &st) == 0) {
    if (!S_ISSOCK(st.st_mode)) {
      return Error{ginInvalidUsage, fmt::format("daemon.socket {} exists and is no socket; remove "
                                                "it or choose another path",
                                                config.socket)};
    }
    // The lock is ours, so whoever made it is gone, unless it is no gind at all.
    const Fd probe(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
        errno == EPROTOTYPE) {
      return Error{ginInvalidUsage, fmt::format("daemon.socket {} is in use by another program; "
                                                "stop it or choose another path",
                                                config.socket)};
    }
    if (::unlink(config.socket.c_str()) != 0) {
      return system_error("removing the stale socket " + config.socket, errno);
    }
  }
  made.socket_ = Fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.socket_.valid()) return system_error("socket", errno);
  if (::bind(made.socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
      0) {
    return system_error("daemon.socket " + config.socket, errno);
  }
  made.path_ = config.socket;
  if (const auto access = set_access(config.socket, config); !access) return access.error();
  if (::listen(made.socket_.get(), 128) != 0) return system_error("listen", errno);
  return made;
}

ListenerSocket::~ListenerSocket() {
  // The lock file stays: removing it would let two ginds hold locks on two files of that name.
  if (socket_.valid() && !path_.empty()) ::unlink(path_.c_str());
}

}  // namespace gind
