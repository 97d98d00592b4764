// SPDX-License-Identifier: Apache-2.0
// The coordinator's view of one complete communicator: its all-gather rounds, and who has left.
#pragma once

#include "daemon/peers/conduit.h"
#include "daemon/peers/deadline.h"
#include "daemon/peers/messages.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gind::peers {

class Communicator {
 public:
  struct Node {
    std::shared_ptr<Conduit> conduit;
    bool attached = true;  // until it has left the communicator or is lost
  };
  Communicator(boost::asio::io_context& io, std::chrono::nanoseconds deadline, std::uint64_t comm,
               std::vector<Node> nodes, std::vector<std::uint16_t> node_of_rank);

  // Messages of the gind behind `from`.  An error is a breach of protocol: drop that link.
  Result<void> receive(const Conduit* from, Gather&& message);
  Result<void> receive(const Conduit* from, Gone&& message);
  Result<void> receive(const Conduit* from, Quiet&& message);
  Result<void> receive(const Conduit* from, Leave&& message);

  // The gind behind `conduit` is lost; returns how many of its ranks went with it.
  int lost(const Conduit* conduit, const std::string& why);

  // Nothing more to coordinate.
  bool finished() const;
  std::size_t rounds() const { return rounds_.size(); }

 private:
  struct Round {
    explicit Round(boost::asio::io_context& io) : deadline(io) {}
    CollectiveKind kind{};
    int first_rank = 0;
    std::vector<std::optional<std::string>> payloads;  // by rank
    std::vector<bool> arrived;
    int arrivals = 0;
    Deadline deadline;
    std::optional<Error> error;  // failed: kept until every rank has come by
  };

  Result<int> node_of(const Conduit* conduit) const;
  Result<int> own_rank(const Conduit* from, std::uint32_t rank, const char* message) const;
  Round& open_round(std::uint64_t sequence, CollectiveKind kind, int rank);
  void timed_out(std::uint64_t sequence);
  void fail_round(std::uint64_t sequence, Round& round, Error error);
  void rank_gone(int rank, ginResult_t code, const std::string& reason);
  int detach(int node, ginResult_t code, const std::string& reason);
  void release_if_quiet(int rank);
  void broadcast(const Message& message, int except_node = -1);

  boost::asio::io_context& io_;
  const std::chrono::nanoseconds deadline_;
  const std::uint64_t comm_;
  std::vector<Node> nodes_;
  const std::vector<std::uint16_t> node_of_rank_;
  std::vector<std::uint64_t> sequence_;  // last collective of each rank
  std::map<std::uint64_t, Round> rounds_;
  std::vector<bool> gone_;
  int gone_count_ = 0;
  std::optional<Error> broken_;                  // why no collective can succeed any more
  std::map<int, std::set<int>> awaiting_quiet_;  // gone rank -> nodes that have not answered
};

}  // namespace gind::peers
