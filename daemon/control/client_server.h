// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/control/listener_socket.h"
#include "daemon/control/node.h"
#include "daemon/control/session.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <set>
#include <string>

namespace gind {

// Accepts clients on gind's socket.  Control thread only.
class ClientServer {
 public:
  ClientServer(Node& node, ListenerSocket socket);

  // Accepts no more and drops those who are there.
  void shutdown(const std::string& reason);

 private:
  void wait();
  void accept_some();
  void pause();

  Node& node_;
  ListenerSocket listener_;
  boost::asio::posix::stream_descriptor acceptor_;  // on a duplicate of the listener's fd
  boost::asio::steady_timer retry_;
  std::set<std::shared_ptr<Session>> sessions_;
  bool stopping_ = false;
};

}  // namespace gind
