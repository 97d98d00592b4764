// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/peers/deadline.h"
#include "daemon/peers/framed_link.h"
#include "daemon/peers/peer_network.h"

#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gind::peers {

// Connects to a gind: a bounded number of attempts, each with a deadline, with growing pauses.
class Dialer : public std::enable_shared_from_this<Dialer> {
 public:
  using Done = std::function<void(Result<PeerSocket>)>;
  Dialer(boost::asio::io_context& io, const PeerOptions& options, std::string host,
         std::uint16_t port);

  void dial(Done done);  // called once, never from inside
  void cancel();         // `done` is dropped

 private:
  void attempt();
  void connect(std::vector<boost::asio::ip::tcp::endpoint> endpoints);
  void attempt_failed(const std::string& why);

  boost::asio::io_context& io_;
  const PeerOptions& options_;
  const std::string host_;
  const std::uint16_t port_;
  Done done_;
  boost::asio::ip::tcp::resolver resolver_;
  PeerSocket socket_;
  Deadline deadline_;
  Deadline pause_;
  std::uint32_t attempts_ = 0;
  std::uint64_t token_ = 0;  // tells stale completions apart
};

}  // namespace gind::peers
