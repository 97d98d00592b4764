// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/control/node.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace gind {

// The ranks of one communicator that live on this gind, and their common link to the others.
class LocalCommunicator : public std::enable_shared_from_this<LocalCommunicator> {
 public:
  // The one object for a membership.
  static std::shared_ptr<LocalCommunicator> of(Node& node, std::shared_ptr<Membership> membership);
  ~LocalCommunicator();

  Membership& membership() const { return *membership_; }
  Node& node() const { return node_; }
  // Spreads communicators over proxy threads; all local ranks of one use the same, so that traffic
  // inside this gind never changes threads.
  std::uint32_t proxy_base() const { return proxy_base_; }
  bool same_gind(std::uint32_t rank) const {
    return membership_->node_of_rank()[rank] == membership_->this_node();
  }

  // A rank that lives here; null when it does not, or has left.
  LocalRank* find(std::int32_t rank) const {
    const auto found = ranks_.find(rank);
    return found == ranks_.end() ? nullptr : found->second;
  }
  void add(LocalRank* rank);
  void remove(LocalRank* rank);

  // A local rank leaves or died: all others, here and elsewhere, stop sending to it; `quiet` runs
  // once none of them has anything under way to it.  It may never run: the caller has a deadline.
  void announce_gone(LocalRank* rank, ginResult_t code, const std::string& reason,
                     std::function<void()> quiet);

 private:
  LocalCommunicator(Node& node, std::shared_ptr<Membership> membership);
  void rank_gone(int rank, ginResult_t code, const std::string& reason);
  void step_to_quiet(int rank);

  struct Leaving {
    std::size_t left = 0;  // local ranks that are not quiet yet, and 1 for the other ginds
    std::function<void()> quiet;
  };
  Node& node_;
  std::shared_ptr<Membership> membership_;
  std::uint32_t proxy_base_ = 0;
  std::map<int, LocalRank*> ranks_;
  std::map<int, Leaving> leaving_;
};

}  // namespace gind
