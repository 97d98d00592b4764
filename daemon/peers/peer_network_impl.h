// SPDX-License-Identifier: Apache-2.0
// PeerNetwork's own parts: the listener, the links and the routes between them.
#pragma once

#include "daemon/peers/coordinator.h"
#include "daemon/peers/deadline.h"
#include "daemon/peers/inbound_link.h"
#include "daemon/peers/local_uplink.h"
#include "daemon/peers/log_limit.h"
#include "daemon/peers/peer_network.h"
#include "daemon/peers/remote_uplink.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace gind {

class PeerNetwork::Impl : public std::enable_shared_from_this<PeerNetwork::Impl> {
 public:
  Impl(boost::asio::io_context& io, PeerOptions options, NodeInfo self, ControlCounters& counters);

  Result<void> listen();
  void begin();
  Result<UniqueIdBlob> create_unique_id();
  void join(const UniqueIdBlob& blob, int nranks, int rank, const std::string& identity,
            JoinDone done);
  void shutdown();
  std::uint16_t port() const { return port_; }
  Counts counts() const;

 private:
  using Inbound = std::shared_ptr<peers::InboundLink>;
  void accept();
  void accepted(peers::PeerSocket socket);
  void greeted(const Inbound& link);
  void ended(const Inbound& link, const Error& why);
  Result<std::shared_ptr<peers::Uplink>> uplink_to(const peers::UniqueId& id);
  void log(PeerLogLevel level, const std::string& text);
  void log_stranger(const std::string& text);

  boost::asio::io_context& io_;
  const PeerOptions options_;
  const NodeInfo self_;
  ControlCounters& counters_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::uint16_t port_ = 0;
  peers::Deadline accept_pause_;
  std::shared_ptr<peers::Coordinator> coordinator_;
  std::shared_ptr<peers::LocalConduit> local_conduit_;
  std::shared_ptr<peers::LocalUplink> local_;
  std::map<std::string, std::shared_ptr<peers::RemoteUplink>> uplinks_;  // by "host:port"
  std::set<Inbound> inbound_;
  peers::LogLimit strangers_;
  bool down_ = false;
};

}  // namespace gind
