// SPDX-License-Identifier: Apache-2.0
// The process's one thread that reads all connections to gind: replies, events, and gind's end.
#pragma once

#include "connection.h"

#include <memory>
#include <utility>

namespace gind::client {

// Starts the thread with the first connection.
Result<void> watch(const std::shared_ptr<Connection>& connection);
// Joins it when the last connection goes.  After it returns the thread does not touch the
// connection any more, but for a reference that may end a little later.
void unwatch(const Connection* connection);

// Holds a connection under watch.
class Watch {
 public:
  static Result<Watch> start(std::shared_ptr<Connection> connection) {
    if (auto watched = watch(connection); !watched) return watched.error();
    Watch w;
    w.connection_ = std::move(connection);
    return w;
  }
  Watch() = default;
  Watch(Watch&&) noexcept = default;
  Watch& operator=(Watch&&) = delete;
  ~Watch() {
    if (connection_) unwatch(connection_.get());
  }

 private:
  std::shared_ptr<Connection> connection_;
};

}  // namespace gind::client
