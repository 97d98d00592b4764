// SPDX-License-Identifier: Apache-2.0
#include "daemon/peers/communicator.h"

#include "daemon/peers/text.h"

#include <algorithm>
#include <utility>

namespace gind::peers {
namespace {

// Failed rounds wait for ranks that have not come by; one that never comes must not grow them.
constexpr std::size_t kMaxRounds = 256;

Error breach(const std::string& what) { return {ginInvalidArgument, what}; }

}  // namespace

Communicator::Communicator(boost::asio::io_context& io, std::chrono::nanoseconds deadline,
                           std::uint64_t comm, std::vector<Node> nodes,
                           std::vector<std::uint16_t> node_of_rank)
    : io_(io),
      deadline_(deadline),
      comm_(comm),
      nodes_(std::move(nodes)),
      node_of_rank_(std::move(node_of_rank)),
      sequence_(node_of_rank_.size()),
      gone_(node_of_rank_.size()) {}

Result<int> Communicator::node_of(const Conduit* conduit) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].conduit.get() == conduit) return static_cast<int>(i);
  }
  return breach("a message for communicator " + label_of(comm_) + ", which it is no part of");
}

Result<int> Communicator::own_rank(const Conduit* from, std::uint32_t rank,
                                   const char* message) const {
  const auto node = node_of(from);
  if (!node) return node.error();
  if (rank >= node_of_rank_.size() || node_of_rank_[rank] != node.value()) {
    return breach(std::string(message) + " for rank " + std::to_string(rank) +
                  ", which is not on that node");
  }
  return static_cast<int>(rank);
}

Communicator::Round& Communicator::open_round(std::uint64_t sequence, CollectiveKind kind,
                                              int rank) {
  auto it = rounds_.find(sequence);
  if (it != rounds_.end()) return it->second;
  Round& round = rounds_.emplace(sequence, Round(io_)).first->second;
  round.kind = kind;
  round.first_rank = rank;
  round.payloads.resize(node_of_rank_.size());
  round.arrived.resize(node_of_rank_.size());
  // The round, and with it the timer, is part of this object.
  round.deadline.arm(deadline_, [this, sequence] { timed_out(sequence); });
  return round;
}

Result<void> Communicator::receive(const Conduit* from, Gather&& message) {
  const auto owned = own_rank(from, message.rank, "GATHER");
  if (!owned) return owned.error();
  const int rank = owned.value();
  if (message.sequence != sequence_[rank] + 1) {
    return breach("collective " + std::to_string(message.sequence) + " of rank " +
                  std::to_string(rank) + " follows its collective " +
                  std::to_string(sequence_[rank]));
  }
  sequence_[rank] = message.sequence;
  Conduit& back = *nodes_[node_of_rank_[rank]].conduit;
  const auto refuse = [&](const Error& error) {
    back.send(GatherFailed{comm_, message.sequence, error.code, error.message});
  };
  if (!broken_ && rounds_.size() >= kMaxRounds && rounds_.count(message.sequence) == 0) {
    broken_ = Error{ginLimitExceeded,
                    "ranks are " + std::to_string(kMaxRounds) + " failed collectives apart"};
  }
  if (broken_) {
    refuse(*broken_);
    return {};
  }
  Round& round = open_round(message.sequence, message.kind, rank);
  round.arrived[rank] = true;
  ++round.arrivals;
  const bool complete = round.arrivals == static_cast<int>(node_of_rank_.size());
  if (round.error) {
    refuse(*round.error);
    if (complete) rounds_.erase(message.sequence);
    return {};
  }
  if (round.kind != message.kind) {
    fail_round(message.sequence, round,
               {ginInvalidUsage, "rank " + std::to_string(rank) + " called " +
                                     collective_name(message.kind) + " while rank " +
                                     std::to_string(round.first_rank) + " called " +
                                     collective_name(round.kind) + " (collective " +
                                     std::to_string(message.sequence) + ")"});
    if (complete) rounds_.erase(message.sequence);
    return {};
  }
  round.payloads[rank] = std::move(message.payload);
  if (!complete) return {};
  Gathered all{comm_, message.sequence, {}};
  all.payloads.reserve(round.payloads.size());
  for (auto& payload : round.payloads) all.payloads.push_back(std::move(*payload));
  rounds_.erase(message.sequence);
  broadcast(all);
  return {};
}

void Communicator::timed_out(std::uint64_t sequence) {
  const auto it = rounds_.find(sequence);
  if (it == rounds_.end() || it->second.error) return;
  Round& round = it->second;
  std::vector<int> missing;
  for (std::size_t r = 0; r < round.arrived.size(); ++r) {
    if (!round.arrived[r]) missing.push_back(static_cast<int>(r));
  }
  fail_round(sequence, round,
             {ginTimeout, ranks_text(missing) + " of " + std::to_string(round.arrived.size()) +
                              " did not call " + collective_name(round.kind) + " (collective " +
                              std::to_string(sequence) + ") within " + duration_text(deadline_)});
}

void Communicator::fail_round(std::uint64_t sequence, Round& round, Error error) {
  round.deadline.cancel();
  round.payloads.clear();
  round.error = std::move(error);
  broadcast(GatherFailed{comm_, sequence, round.error->code, round.error->message});
}

Result<void> Communicator::receive(const Conduit* from, Gone&& message) {
  const auto rank = own_rank(from, message.rank, "GONE");
  if (!rank) return rank.error();
  rank_gone(rank.value(), message.code, message.reason);
  return {};
}

void Communicator::rank_gone(int rank, ginResult_t code, const std::string& reason) {
  if (gone_[rank]) return;
  gone_[rank] = true;
  ++gone_count_;
  const int node = node_of_rank_[rank];
  if (!broken_ || broken_->code != ginRemoteError) {
    broken_ = Error{ginRemoteError, "rank " + std::to_string(rank) + " on " +
                                        nodes_[node].conduit->describe() +
                                        (code == ginSuccess ? " has left" : " is gone") +
                                        (reason.empty() ? "" : ": " + reason)};
  }
  // Whoever comes by later gets the same from `broken_`.
  for (auto& [sequence, round] : rounds_) {
    if (!round.error) fail_round(sequence, round, *broken_);
  }
  rounds_.clear();

  auto& awaiting = awaiting_quiet_[rank];
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (static_cast<int>(i) != node && nodes_[i].attached) awaiting.insert(static_cast<int>(i));
  }
  broadcast(Gone{comm_, static_cast<std::uint32_t>(rank), code, reason}, node);
  release_if_quiet(rank);
}

Result<void> Communicator::receive(const Conduit* from, Quiet&& message) {
  const auto node = node_of(from);
  if (!node) return node.error();
  if (message.rank >= gone_.size() || !gone_[message.rank]) {
    return breach("QUIET towards rank " + std::to_string(message.rank) + ", which is not gone");
  }
  const int rank = static_cast<int>(message.rank);
  const auto it = awaiting_quiet_.find(rank);
  if (it != awaiting_quiet_.end() && it->second.erase(node.value()) > 0) release_if_quiet(rank);
  return {};
}

void Communicator::release_if_quiet(int rank) {
  const auto it = awaiting_quiet_.find(rank);
  if (it == awaiting_quiet_.end() || !it->second.empty()) return;
  awaiting_quiet_.erase(it);
  const Node& owner = nodes_[node_of_rank_[rank]];
  if (owner.attached) owner.conduit->send(Released{comm_, static_cast<std::uint32_t>(rank)});
}

Result<void> Communicator::receive(const Conduit* from, Leave&&) {
  const auto node = node_of(from);
  if (!node) return node.error();
  detach(node.value(), ginSuccess, "its gind has left the communicator");
  return {};
}

int Communicator::lost(const Conduit* conduit, const std::string& why) {
  const auto node = node_of(conduit);
  if (!node || !nodes_[node.value()].attached) return 0;
  return detach(node.value(), ginDaemonLost,
                "the gind of " + conduit->describe() + " was lost: " + why);
}

int Communicator::detach(int node, ginResult_t code, const std::string& reason) {
  if (!nodes_[node].attached) return 0;
  nodes_[node].attached = false;
  int ranks = 0;
  for (std::size_t r = 0; r < node_of_rank_.size(); ++r) {
    if (node_of_rank_[r] != node || gone_[r]) continue;
    ++ranks;
    rank_gone(static_cast<int>(r), code, reason);
  }
  std::vector<int> waiting;
  for (auto& [rank, awaiting] : awaiting_quiet_) {
    if (awaiting.erase(node) > 0) waiting.push_back(rank);
  }
  for (const int rank : waiting) release_if_quiet(rank);
  return ranks;
}

bool Communicator::finished() const {
  const bool all_gone = gone_count_ == static_cast<int>(gone_.size()) && awaiting_quiet_.empty();
  return all_gone ||
         std::none_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.attached; });
}

void Communicator::broadcast(const Message& message, int except_node) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (static_cast<int>(i) != except_node && nodes_[i].attached) nodes_[i].conduit->send(message);
  }
}

}  // namespace gind::peers
