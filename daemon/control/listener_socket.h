// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/config/config.h"
#include "gind/common/fd.h"
#include "gind/common/result.h"

#include <string>

namespace gind {

// gind's Unix socket: taken over by a lock file beside it, so that a second gind is refused and a
// stale socket of a killed one is not.  Removed on destruction.
class ListenerSocket {
 public:
  static Result<ListenerSocket> open(const Config::Daemon& config);
  ListenerSocket(ListenerSocket&&) noexcept = default;
  ListenerSocket& operator=(ListenerSocket&&) noexcept = default;
  ~ListenerSocket();

  int fd() const { return socket_.get(); }

 private:
  ListenerSocket() = default;
  std::string path_;
  Fd lock_;
  Fd socket_;
};

}  // namespace gind
