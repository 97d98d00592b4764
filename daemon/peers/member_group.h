// SPDX-License-Identifier: Apache-2.0
// Membership as a member gind holds it.
#pragma once

#include "daemon/peers/deadline.h"
#include "daemon/peers/messages.h"
#include "daemon/peers/peer_network.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gind::peers {

class Uplink;

class MemberGroup : public Membership, public std::enable_shared_from_this<MemberGroup> {
 public:
  MemberGroup(std::shared_ptr<Uplink> uplink, Ready ready, std::uint64_t coordinator_instance);
  ~MemberGroup() override;

  int nranks() const override { return static_cast<int>(node_of_rank_.size()); }
  const std::vector<NodeInfo>& nodes() const override { return nodes_; }
  const std::vector<std::uint16_t>& node_of_rank() const override { return node_of_rank_; }
  std::uint16_t this_node() const override { return this_node_; }
  const std::string& label() const override { return label_; }
  void allgather(int rank, CollectiveKind kind, std::string payload,
                 std::function<void(Result<Gathered>)> done) override;
  void announce_gone(int rank, ginResult_t code, const std::string& reason) override;
  void announce_quiet(int gone_rank) override;
  void observe(Observer observer) override { observer_ = std::move(observer); }

  // From the coordinator.  An error is a breach of protocol.
  Result<void> receive(peers::Gathered&& message);
  Result<void> receive(GatherFailed&& message);
  Result<void> receive(Gone&& message);
  Result<void> receive(Released&& message);
  void coordinator_lost(const Error& why);
  void abandon(const Error& why);

 private:
  using Done = std::function<void(Result<Gathered>)>;
  struct Pending {
    Done done;
    Deadline deadline;
  };
  using Key = std::pair<std::uint64_t, int>;  // sequence, local rank

  bool local(int rank) const;
  void refuse(Done done, Error error);
  void finish(std::uint64_t sequence, const Result<Gathered>& result);
  void fail_all(const Error& why);
  void release(int rank);  // once a rank

  const std::shared_ptr<Uplink> uplink_;
  const std::uint64_t comm_;
  const std::uint64_t coordinator_instance_;
  const std::uint16_t this_node_;
  const std::vector<NodeInfo> nodes_;
  const std::vector<std::uint16_t> node_of_rank_;
  const std::string label_;
  std::vector<std::uint64_t> sequence_;  // last collective, by rank (local ones)
  std::vector<bool> gone_;
  std::vector<bool> released_;  // local ranks
  bool alone_ = false;          // every other gind is lost
  std::map<Key, Pending> pending_;
  std::optional<Error> lost_;
  Observer observer_;
};

}  // namespace gind::peers
