// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/local_communicator.h"

#include "daemon/control/local_rank.h"

#include <functional>

namespace gind {

std::shared_ptr<LocalCommunicator> LocalCommunicator::of(Node& node,
                                                         std::shared_ptr<Membership> membership) {
  auto& place = node.communicators[membership.get()];
  if (auto known = place.lock()) return known;
  std::shared_ptr<LocalCommunicator> made(new LocalCommunicator(node, std::move(membership)));
  place = made;
  std::weak_ptr<LocalCommunicator> weak = made;
  made->membership_->observe({
      .rank_gone =
          [weak](int rank, ginResult_t code, const std::string& reason) {
            if (auto self = weak.lock()) self->rank_gone(rank, code, reason);
          },
      .released =
          [weak](int rank) {
            if (auto self = weak.lock()) self->step_to_quiet(rank);
          },
  });
  return made;
}

LocalCommunicator::LocalCommunicator(Node& node, std::shared_ptr<Membership> membership)
    : node_(node), membership_(std::move(membership)) {
  proxy_base_ = static_cast<std::uint32_t>(std::hash<std::string>{}(membership_->label()) %
                                           node_.proxies.size());
  node_.counters.communicators.fetch_add(1, std::memory_order_relaxed);
}

LocalCommunicator::~LocalCommunicator() {
  node_.communicators.erase(membership_.get());
  node_.counters.communicators.fetch_sub(1, std::memory_order_relaxed);
}

void LocalCommunicator::add(LocalRank* rank) { ranks_[static_cast<int>(rank->rank())] = rank; }

void LocalCommunicator::remove(LocalRank* rank) {
  ranks_.erase(static_cast<int>(rank->rank()));
  leaving_.erase(static_cast<int>(rank->rank()));
}

void LocalCommunicator::announce_gone(LocalRank* rank, ginResult_t code, const std::string& reason,
                                      std::function<void()> quiet) {
  const int number = static_cast<int>(rank->rank());
  Leaving& leaving = leaving_[number];
  leaving.quiet = std::move(quiet);
  leaving.left = 1;  // the other ginds: membership's released()
  for (const auto& [other_number, other] : ranks_) {
    if (other == rank) continue;
    ++leaving.left;
    std::weak_ptr<LocalCommunicator> weak = weak_from_this();
    other->peer_gone(static_cast<std::uint32_t>(number), code, reason, true, [weak, number] {
      if (auto self = weak.lock()) self->step_to_quiet(number);
    });
  }
  membership_->announce_gone(number, code, reason);
}

void LocalCommunicator::step_to_quiet(int rank) {
  const auto found = leaving_.find(rank);
  if (found == leaving_.end() || --found->second.left != 0) return;
  auto quiet = std::move(found->second.quiet);
  leaving_.erase(found);
  quiet();
}

void LocalCommunicator::rank_gone(int rank, ginResult_t code, const std::string& reason) {
  const bool reachable = code != ginDaemonLost;
  auto left = std::make_shared<std::size_t>(ranks_.size());
  std::weak_ptr<LocalCommunicator> weak = weak_from_this();
  for (const auto& [number, local] : ranks_) {
    local->peer_gone(static_cast<std::uint32_t>(rank), code, reason, reachable, [weak, left, rank] {
      if (--*left != 0) return;
      if (auto self = weak.lock()) self->membership_->announce_quiet(rank);
    });
  }
  if (ranks_.empty()) membership_->announce_quiet(rank);
}

}  // namespace gind
