// SPDX-License-Identifier: Apache-2.0
#include "daemon/peers/peer_network_impl.h"

#include "daemon/metrics/counters.h"
#include "daemon/peers/address.h"
#include "daemon/peers/text.h"

#include <boost/asio/post.hpp>

#include <utility>

namespace gind {

using boost::asio::ip::tcp;
using peers::host_port;

PeerNetwork::Impl::Impl(boost::asio::io_context& io, PeerOptions options, NodeInfo self,
                        ControlCounters& counters)
    : io_(io),
      options_(std::move(options)),
      self_(std::move(self)),
      counters_(counters),
      acceptor_(io),
      accept_pause_(io),
      coordinator_(std::make_shared<peers::Coordinator>(io, options_)),
      local_conduit_(std::make_shared<peers::LocalConduit>(io, "node " + self_.name)),
      local_(std::make_shared<peers::LocalUplink>(io, options_, self_, coordinator_,
                                                  local_conduit_)) {}

Result<void> PeerNetwork::Impl::listen() {
  boost::system::error_code ec;
  const auto address = boost::asio::ip::make_address(options_.listen, ec);
  if (ec) {
    return Error{ginInvalidArgument, "peer.listen \"" + peers::printable(options_.listen, 200) +
                                         "\" is not an IP address"};
  }
  const tcp::endpoint endpoint(address, options_.port);
  const char* step = "open a socket";
  acceptor_.open(endpoint.protocol(), ec);
  if (!ec) acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) {
    step = "bind";
    acceptor_.bind(endpoint, ec);
  }
  if (!ec) {
    step = "listen";
    acceptor_.listen(boost::asio::socket_base::max_listen_connections, ec);
  }
  if (!ec) port_ = acceptor_.local_endpoint(ec).port();
  if (ec) {
    return Error{ginSystemError, "cannot listen for peers on " +
                                     host_port(options_.listen, options_.port) + " (" + step +
                                     ": " + ec.message() +
                                     "); is another gind running here? peer.listen and peer.port "
                                     "choose the address"};
  }
  return {};
}

void PeerNetwork::Impl::begin() {
  local_conduit_->bind(local_);
  local_->established(self_.instance);
  accept();
}

void PeerNetwork::Impl::accept() {
  std::weak_ptr<Impl> weak = weak_from_this();
  acceptor_.async_accept([weak](const boost::system::error_code& ec, tcp::socket socket) {
    const auto self = weak.lock();
    if (!self || self->down_) return;
    if (ec) {
      // Out of descriptors, mostly: a short pause instead of a busy loop.
      self->log_stranger("cannot accept a peer's connection: " + ec.message());
      self->accept_pause_.arm(std::chrono::milliseconds(100), [weak] {
        if (const auto me = weak.lock()) me->accept();
      });
      return;
    }
    self->accepted(std::move(socket));
    self->accept();
  });
}

void PeerNetwork::Impl::accepted(peers::PeerSocket socket) {
  peers::tune_socket(socket, options_.silence);
  if (inbound_.size() >= options_.max_links) {
    counters_.handshake_rejected_limit.fetch_add(1, std::memory_order_relaxed);
    log_stranger("a peer's connection was refused: " + std::to_string(inbound_.size()) +
                 " peer connections are open, the limit is " + std::to_string(options_.max_links));
    const auto link = std::make_shared<peers::FramedLink>(
        io_, std::move(socket), peers::Side::kDialler, options_.max_queued_bytes);
    link->refuse({ginLimitExceeded,
                  "node " + self_.name + " has " + std::to_string(inbound_.size()) +
                      " peer connections, the limit is " + std::to_string(options_.max_links)});
    return;
  }
  std::weak_ptr<Impl> weak = weak_from_this();
  auto link = std::make_shared<peers::InboundLink>(
      io_, options_, self_, std::move(socket),
      peers::InboundLink::Hooks{
          [weak](const Inbound& from) {
            if (const auto self = weak.lock()) self->greeted(from);
          },
          [weak](const Inbound& from, peers::Message&& message) -> Result<void> {
            const auto self = weak.lock();
            return self ? self->coordinator_->receive(from, std::move(message)) : Result<void>();
          },
          [weak](const Inbound& from, const Error& why) {
            if (const auto self = weak.lock()) self->ended(from, why);
          }});
  inbound_.insert(link);
  link->start();
}

void PeerNetwork::Impl::greeted(const Inbound& link) {
  counters_.peers_connected.fetch_add(1, std::memory_order_relaxed);
  // A gind keeps one connection: an older one of the same instance is dead, its end not yet seen.
  Inbound older;
  for (const auto& other : inbound_) {
    if (other != link && other->greeted() && other->instance() == link->instance()) older = other;
  }
  if (!older) return;
  older->close();
  ended(older, {ginRemoteError, "it connected again"});
}

void PeerNetwork::Impl::ended(const Inbound& link, const Error& why) {
  if (inbound_.erase(link) == 0) return;
  if (link->greeted()) {
    counters_.peers_connected.fetch_sub(1, std::memory_order_relaxed);
    const int ranks = coordinator_->lost(link.get(), why.message);
    if (ranks == 0 && why.code == ginRemoteError) return;  // it idled out
    counters_.peer_link_failures.fetch_add(1, std::memory_order_relaxed);
    const std::string text = "lost the gind of " + link->describe() + " with " +
                             std::to_string(ranks) +
                             " ranks of communicators coordinated here: " + why.message;
    return ranks == 0 ? log_stranger(text) : log(PeerLogLevel::kWarning, text);
  }
  auto& count = why.code == ginVersionMismatch ? counters_.handshake_rejected_version
                : why.code == ginTimeout       ? counters_.handshake_rejected_timeout
                                               : counters_.handshake_rejected_malformed;
  count.fetch_add(1, std::memory_order_relaxed);
  log_stranger("dropped a connection from " + link->describe() +
               " to the peer port: " + why.message);
}

Result<UniqueIdBlob> PeerNetwork::Impl::create_unique_id() {
  if (down_) return Error{ginAborted, "gind is shutting down"};
  auto host = peers::advertised_host(options_.listen, options_.advertise);
  if (!host) return host.error();
  peers::UniqueId id;
  id.host = host.value();
  id.port = port_;
  id.instance = self_.instance;
  if (auto fits = peers::encode_unique_id(id); !fits) return fits;
  auto created = coordinator_->create();
  if (!created) return created.error();
  id.comm = created.value().comm;
  id.secret = created.value().secret;
  return peers::encode_unique_id(id);
}

Result<std::shared_ptr<peers::Uplink>> PeerNetwork::Impl::uplink_to(const peers::UniqueId& id) {
  if (id.instance == self_.instance) return std::shared_ptr<peers::Uplink>(local_);
  const std::string key = host_port(id.host, id.port);
  if (const auto it = uplinks_.find(key); it != uplinks_.end()) {
    return std::shared_ptr<peers::Uplink>(it->second);
  }
  if (uplinks_.size() >= options_.max_links) {
    return Error{ginLimitExceeded,
                 "this gind has connections to " + std::to_string(uplinks_.size()) +
                     " coordinating ginds, the limit is " + std::to_string(options_.max_links)};
  }
  std::weak_ptr<Impl> weak = weak_from_this();
  auto uplink = std::make_shared<peers::RemoteUplink>(io_, options_, self_, counters_, id.host,
                                                      id.port, [weak, key](const std::string& why) {
                                                        const auto self = weak.lock();
                                                        if (!self) return;
                                                        self->uplinks_.erase(key);
                                                        if (!why.empty())
                                                          self->log(PeerLogLevel::kWarning, why);
                                                      });
  uplinks_.emplace(key, uplink);
  uplink->dial();
  return std::shared_ptr<peers::Uplink>(uplink);
}

void PeerNetwork::Impl::join(const UniqueIdBlob& blob, int nranks, int rank,
                             const std::string& identity, JoinDone done) {
  const auto refuse = [&](Error error) {
    boost::asio::post(io_, [done = std::move(done), error = std::move(error)] { done(error); });
  };
  if (down_) return refuse({ginAborted, "gind is shutting down"});
  const auto id = peers::decode_unique_id(blob);
  if (!id) return refuse(id.error());
  if (nranks < 1 || nranks > static_cast<int>(peers::kMaxRanks)) {
    return refuse({ginInvalidArgument, "nranks is " + std::to_string(nranks) + ", expected 1 to " +
                                           std::to_string(peers::kMaxRanks)});
  }
  if (rank < 0 || rank >= nranks) {
    return refuse({ginInvalidArgument, "rank is " + std::to_string(rank) + ", expected 0 to " +
                                           std::to_string(nranks - 1)});
  }
  if (identity.empty() || identity.size() > peers::kMaxName || !peers::is_printable(identity)) {
    return refuse({ginInvalidArgument, "identity \"" + peers::printable(identity, 64) +
                                           "\" is not 1 to 255 printable bytes"});
  }
  const std::size_t pending = counts().pending_joins;
  if (pending >= options_.max_pending_joins) {
    return refuse({ginLimitExceeded, std::to_string(pending) +
                                         " joins are in progress on this gind, the limit is " +
                                         std::to_string(options_.max_pending_joins)});
  }
  auto uplink = uplink_to(id.value());
  if (!uplink) return refuse(uplink.error());
  uplink.value()->join(id.value(), nranks, rank, identity, std::move(done));
}

void PeerNetwork::Impl::shutdown() {
  if (std::exchange(down_, true)) return;
  boost::system::error_code ec;
  acceptor_.close(ec);
  accept_pause_.cancel();
  for (const auto& [key, uplink] : uplinks_) {
    uplink->abandon();
    uplink->close();
  }
  uplinks_.clear();
  local_->abandon();
  for (const auto& link : inbound_) {
    if (link->greeted()) counters_.peers_connected.fetch_sub(1, std::memory_order_relaxed);
    link->close();
  }
  inbound_.clear();
  coordinator_->clear();
}

PeerNetwork::Counts PeerNetwork::Impl::counts() const {
  Counts c;
  c.accepted = inbound_.size();
  c.uplinks = uplinks_.size();
  c.rendezvous = coordinator_->rendezvous();
  c.communicators = coordinator_->communicators();
  c.rounds = coordinator_->rounds();
  c.pending_joins = local_->joins();
  c.memberships = local_->groups();
  for (const auto& [key, uplink] : uplinks_) {
    c.pending_joins += uplink->joins();
    c.memberships += uplink->groups();
  }
  return c;
}

void PeerNetwork::Impl::log(PeerLogLevel level, const std::string& text) {
  if (options_.log) options_.log(level, text);
}

void PeerNetwork::Impl::log_stranger(const std::string& text) {
  std::uint64_t suppressed = 0;
  if (!strangers_.allow(&suppressed)) return;
  log(PeerLogLevel::kWarning,
      suppressed == 0 ? text
                      : text + " (" + std::to_string(suppressed) + " lines like it left out)");
}

}  // namespace gind
