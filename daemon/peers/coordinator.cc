// SPDX-License-Identifier: Apache-2.0
#include "daemon/peers/coordinator.h"

#include "daemon/peers/text.h"

#include <tuple>
#include <type_traits>
#include <utility>

namespace gind::peers {

Coordinator::Coordinator(boost::asio::io_context& io, const PeerOptions& options)
    : io_(io), options_(options) {}

Result<Coordinator::Created> Coordinator::create() {
  if (rendezvous_.size() >= options_.max_rendezvous) {
    return Error{ginLimitExceeded,
                 std::to_string(rendezvous_.size()) +
                     " unique ids of this gind wait for their ranks, the limit is " +
                     std::to_string(options_.max_rendezvous) + "; they expire after " +
                     duration_text(options_.rendezvous)};
  }
  Created made;
  do {
    if (auto filled = fill_random(&made.comm, sizeof made.comm); !filled) return filled.error();
  } while (rendezvous_.count(made.comm) != 0 || communicators_.count(made.comm) != 0);
  if (auto filled = fill_random(made.secret.data(), made.secret.size()); !filled) {
    return filled.error();
  }
  Rendezvous& entry = rendezvous_.emplace(made.comm, Rendezvous(io_)).first->second;
  entry.secret = made.secret;
  // The timers are part of this object.
  entry.deadline.arm(options_.rendezvous, [this, comm = made.comm] { expired(comm); });
  return made;
}

// Before its use in receive(): clang 14 does not instantiate it from the generic lambda otherwise.
template <typename M>
Result<void> Coordinator::forward(const Conduit* from, M&& message) {
  const std::uint64_t comm = message.comm;
  const auto it = communicators_.find(comm);
  // Not a breach: a member's last words may cross the end of the communicator.
  if (it == communicators_.end()) return {};
  auto result = it->second.receive(from, std::move(message));
  if (it->second.finished()) communicators_.erase(it);
  return result;
}

Result<void> Coordinator::receive(const std::shared_ptr<Conduit>& from, Message&& message) {
  return std::visit(
      [&](auto&& m) -> Result<void> {
        using M = std::decay_t<decltype(m)>;
        if constexpr (std::is_same_v<M, Join>) {
          join(from, std::move(m));
          return {};
        } else if constexpr (std::is_same_v<M, Gather> || std::is_same_v<M, Gone> ||
                             std::is_same_v<M, Quiet> || std::is_same_v<M, Leave>) {
          return forward(from.get(), std::move(m));
        } else {
          return Error{ginInvalidArgument, "a message that no member sends at this point"};
        }
      },
      std::move(message));
}

Result<void> Coordinator::admit(const Rendezvous& entry, const std::string& from,
                                const Join& join) const {
  const std::string who = "rank " + std::to_string(join.rank) + " on " + from;
  if (join.nranks < 1 || join.nranks > kMaxRanks) {
    return Error{ginInvalidArgument, who + " names a world of " + std::to_string(join.nranks) +
                                         " ranks, expected 1 to " + std::to_string(kMaxRanks)};
  }
  if (join.rank >= join.nranks) {
    return Error{ginInvalidArgument,
                 who + " is out of range, expected 0 to " + std::to_string(join.nranks - 1)};
  }
  if (entry.joined.empty()) return {};
  const auto& [first_rank, first] = *entry.joined.begin();
  const std::string other =
      "rank " + std::to_string(first_rank) + " on " + first.conduit->describe();
  if (join.nranks != entry.nranks) {
    return Error{ginInvalidArgument, who + " names a world of " + std::to_string(join.nranks) +
                                         " ranks, " + other + " one of " +
                                         std::to_string(entry.nranks)};
  }
  if (join.identity != entry.identity) {
    return Error{ginPermissionDenied, who + " comes as \"" + join.identity +
                                          "\", the communicator belongs to another identity"};
  }
  if (const auto taken = entry.joined.find(join.rank); taken != entry.joined.end()) {
    return Error{ginInvalidUsage, who + ": rank " + std::to_string(join.rank) +
                                      " has already joined from " +
                                      taken->second.conduit->describe()};
  }
  const auto differs = [&](const char* what, const std::string& mine, const std::string& theirs) {
    return Error{ginInvalidUsage, who + " has " + what + " \"" + mine + "\", " + other + " has \"" +
                                      theirs + "\"; configure all nodes of a communicator alike"};
  };
  const NodeInfo& a = join.node;
  const NodeInfo& b = first.node;
  if (a.transport != b.transport) return differs("transport", a.transport, b.transport);
  if (a.provider != b.provider) return differs("provider", a.provider, b.provider);
  if (a.signal_mode != b.signal_mode) return differs("signal mode", a.signal_mode, b.signal_mode);
  return {};
}

void Coordinator::join(const std::shared_ptr<Conduit>& from, Join&& join) {
  const auto refuse = [&](const Error& error) {
    from->send(JoinFailed{join.ticket, error.code, error.message});
  };
  const auto it = rendezvous_.find(join.comm);
  if (it == rendezvous_.end() || !same_secret(it->second.secret, join.secret)) {
    return refuse({ginInvalidArgument, "unique id is not known here: expired after " +
                                           duration_text(options_.rendezvous) +
                                           ", or already used; make a new one"});
  }
  Rendezvous& entry = it->second;
  if (auto admitted = admit(entry, from->describe(), join); !admitted) {
    return refuse(admitted.error());
  }
  if (entry.joined.empty()) {
    entry.nranks = join.nranks;
    entry.identity = join.identity;
    entry.deadline.arm(options_.rendezvous, [this, comm = join.comm] { expired(comm); });
  }
  entry.joined.emplace(join.rank, Joined{from, join.ticket, std::move(join.node)});
  if (entry.joined.size() < entry.nranks) return;
  Rendezvous whole = std::move(entry);
  rendezvous_.erase(it);
  whole.deadline.cancel();
  complete(join.comm, std::move(whole));
}

void Coordinator::expired(std::uint64_t comm) {
  auto node = rendezvous_.extract(comm);
  if (node.empty()) return;
  const Rendezvous& entry = node.mapped();
  std::vector<int> missing;
  for (std::uint32_t r = 0; r < entry.nranks; ++r) {
    if (entry.joined.count(r) == 0) missing.push_back(static_cast<int>(r));
  }
  const std::string text = ranks_text(missing) + " of " + std::to_string(entry.nranks) +
                           (missing.size() == 1 ? " has" : " have") + " not joined within " +
                           duration_text(options_.rendezvous);
  for (const auto& [rank, joined] : entry.joined) {
    joined.conduit->send(JoinFailed{joined.ticket, ginTimeout, text});
  }
}

void Coordinator::complete(std::uint64_t comm, Rendezvous entry) {
  // Nodes are numbered by their lowest rank.
  Ready ready;
  ready.comm = comm;
  std::vector<Communicator::Node> nodes;
  std::map<const Conduit*, std::uint16_t> number;
  for (auto& [rank, joined] : entry.joined) {
    const auto [it, fresh] =
        number.emplace(joined.conduit.get(), static_cast<std::uint16_t>(nodes.size()));
    if (fresh) {
      nodes.push_back({joined.conduit, true});
      ready.nodes.push_back(std::move(joined.node));
    }
    ready.node_of_rank.push_back(it->second);
  }
  communicators_.emplace(
      std::piecewise_construct, std::forward_as_tuple(comm),
      std::forward_as_tuple(io_, options_.rendezvous, comm, nodes, ready.node_of_rank));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    ready.this_node = static_cast<std::uint16_t>(i);
    ready.joined.clear();
    for (const auto& [rank, joined] : entry.joined) {
      if (joined.conduit == nodes[i].conduit) ready.joined.push_back({joined.ticket, rank});
    }
    nodes[i].conduit->send(ready);
  }
}

int Coordinator::lost(const Conduit* conduit, const std::string& why) {
  int ranks = 0;
  for (auto& [comm, entry] : rendezvous_) {
    ranks += static_cast<int>(std::erase_if(
        entry.joined, [&](const auto& item) { return item.second.conduit.get() == conduit; }));
  }
  for (auto it = communicators_.begin(); it != communicators_.end();) {
    ranks += it->second.lost(conduit, why);
    it = it->second.finished() ? communicators_.erase(it) : std::next(it);
  }
  return ranks;
}

void Coordinator::clear() {
  rendezvous_.clear();
  communicators_.clear();
}

std::size_t Coordinator::rounds() const {
  std::size_t n = 0;
  for (const auto& [comm, communicator] : communicators_) n += communicator.rounds();
  return n;
}

}  // namespace gind::peers
