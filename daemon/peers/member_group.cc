// SPDX-License-Identifier: Apache-2.0
#include "daemon/peers/member_group.h"

#include "daemon/peers/text.h"
#include "daemon/peers/uplink.h"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace gind::peers {

MemberGroup::MemberGroup(std::shared_ptr<Uplink> uplink, Ready ready,
                         std::uint64_t coordinator_instance)
    : uplink_(std::move(uplink)),
      comm_(ready.comm),
      coordinator_instance_(coordinator_instance),
      this_node_(ready.this_node),
      nodes_(std::move(ready.nodes)),
      node_of_rank_(std::move(ready.node_of_rank)),
      label_(label_of(comm_)),
      sequence_(node_of_rank_.size()),
      gone_(node_of_rank_.size()),
      released_(node_of_rank_.size()) {}

MemberGroup::~MemberGroup() { uplink_->detach(comm_); }

bool MemberGroup::local(int rank) const {
  return rank >= 0 && rank < nranks() && node_of_rank_[rank] == this_node_;
}

void MemberGroup::refuse(Done done, Error error) {
  boost::asio::post(uplink_->io(),
                    [done = std::move(done), error = std::move(error)] { done(error); });
}

void MemberGroup::allgather(int rank, CollectiveKind kind, std::string payload, Done done) {
  const std::string call = std::string(collective_name(kind)) + " of rank " + std::to_string(rank);
  if (!local(rank)) {
    return refuse(std::move(done), {ginInternalError, call + ": the rank is not on this node"});
  }
  if (gone_[rank]) {
    return refuse(std::move(done), {ginInvalidUsage, call + ": the rank has left"});
  }
  if (payload.size() > kMaxGatherPayload) {
    return refuse(std::move(done),
                  {ginLimitExceeded, call + ": " + std::to_string(payload.size()) +
                                         " bytes of payload, at most " +
                                         std::to_string(kMaxGatherPayload) + " are allowed"});
  }
  if (lost_) return refuse(std::move(done), *lost_);

  const std::uint64_t sequence = ++sequence_[rank];
  Pending& pending =
      pending_.emplace(Key{sequence, rank}, Pending{std::move(done), Deadline(uplink_->io())})
          .first->second;
  const auto limit = uplink_->options().rendezvous + uplink_->options().grace;
  pending.deadline.arm(limit, [weak = weak_from_this(), key = Key{sequence, rank}, call, limit] {
    const auto self = weak.lock();
    if (!self) return;
    auto node = self->pending_.extract(key);
    if (node.empty()) return;
    node.mapped().done(Error{ginTimeout, call + ": the coordinating gind at " +
                                             self->uplink_->where() + " did not answer within " +
                                             duration_text(limit)});
  });
  uplink_->transmit(
      Gather{comm_, static_cast<std::uint32_t>(rank), sequence, kind, std::move(payload)});
}

void MemberGroup::finish(std::uint64_t sequence, const Result<Gathered>& result) {
  const auto self = shared_from_this();  // a callback may drop the last other reference
  std::vector<Pending> due;
  for (auto it = pending_.lower_bound(Key{sequence, 0});
       it != pending_.end() && it->first.first == sequence;) {
    due.push_back(std::move(it->second));
    it = pending_.erase(it);
  }
  for (Pending& pending : due) {
    pending.deadline.cancel();
    pending.done(result);
  }
}

Result<void> MemberGroup::receive(peers::Gathered&& message) {
  if (message.payloads.size() != node_of_rank_.size()) {
    return Error{ginInvalidArgument, "GATHERED holds " + std::to_string(message.payloads.size()) +
                                         " payloads, expected " +
                                         std::to_string(node_of_rank_.size())};
  }
  finish(message.sequence, std::move(message.payloads));
  return {};
}

Result<void> MemberGroup::receive(GatherFailed&& message) {
  finish(message.sequence, Error{message.code, std::move(message.text)});
  return {};
}

Result<void> MemberGroup::receive(Gone&& message) {
  const int rank = static_cast<int>(message.rank);
  if (message.rank >= node_of_rank_.size() || local(rank)) {
    return Error{ginInvalidArgument,
                 "GONE for rank " + std::to_string(message.rank) + ", which is no rank of a peer"};
  }
  if (gone_[rank]) return {};
  gone_[rank] = true;
  const auto self = shared_from_this();
  const auto tell = observer_.rank_gone;
  if (tell) tell(rank, message.code, message.reason);
  return {};
}

Result<void> MemberGroup::receive(Released&& message) {
  const int rank = static_cast<int>(message.rank);
  if (message.rank >= node_of_rank_.size() || !local(rank) || !gone_[rank]) {
    return Error{ginInvalidArgument, "RELEASED for rank " + std::to_string(message.rank) +
                                         ", which is no rank that left here"};
  }
  release(rank);
  return {};
}

void MemberGroup::release(int rank) {
  if (released_[rank]) return;
  released_[rank] = true;
  const auto self = shared_from_this();
  const auto tell = observer_.released;
  if (tell) tell(rank);
}

void MemberGroup::announce_gone(int rank, ginResult_t code, const std::string& reason) {
  if (!local(rank) || gone_[rank]) return;
  gone_[rank] = true;
  uplink_->transmit(Gone{comm_, static_cast<std::uint32_t>(rank), code, reason});
  if (!alone_) return;
  boost::asio::post(uplink_->io(), [weak = weak_from_this(), rank] {
    if (const auto self = weak.lock()) self->release(rank);
  });
}

void MemberGroup::announce_quiet(int gone_rank) {
  if (gone_rank < 0 || gone_rank >= nranks() || !gone_[gone_rank]) return;
  uplink_->transmit(Quiet{comm_, static_cast<std::uint32_t>(gone_rank)});
}

void MemberGroup::fail_all(const Error& why) {
  lost_ = why;
  const auto self = shared_from_this();
  auto due = std::exchange(pending_, {});
  for (auto& [key, pending] : due) {
    pending.deadline.cancel();
    pending.done(why);
  }
}

void MemberGroup::coordinator_lost(const Error& why) {
  if (lost_) return;
  const auto self = shared_from_this();
  fail_all(why);
  // Its ranks are gone with it.  All others stay usable for data, but nobody tells of them now.
  for (int rank = 0; rank < nranks(); ++rank) {
    if (nodes_[node_of_rank_[rank]].instance != coordinator_instance_ || local(rank)) continue;
    if (gone_[rank]) continue;
    gone_[rank] = true;
    const auto tell = observer_.rank_gone;
    if (tell) tell(rank, ginDaemonLost, why.message);
  }
  // A lost gind counts as quiet.  When it was the only other one nobody sends to us any more, so
  // our ranks need no RELEASED; a third gind may still send, and nobody can tell when it stops.
  alone_ = std::all_of(nodes_.begin(), nodes_.end(), [this](const NodeInfo& node) {
    return node.instance == coordinator_instance_ || node.instance == nodes_[this_node_].instance;
  });
  for (int rank = 0; alone_ && rank < nranks(); ++rank) {
    if (local(rank) && gone_[rank]) release(rank);
  }
}

void MemberGroup::abandon(const Error& why) {
  lost_ = why;
  auto due = std::exchange(pending_, {});
  for (auto& [key, pending] : due) refuse(std::move(pending.done), why);
}

}  // namespace gind::peers
