// SPDX-License-Identifier: Apache-2.0
#include "daemon/peers/uplink.h"

#include "daemon/peers/member_group.h"
#include "daemon/peers/text.h"

#include <boost/asio/post.hpp>

#include <utility>
#include <vector>

namespace gind::peers {

Uplink::Uplink(boost::asio::io_context& io, const PeerOptions& options, const NodeInfo& self,
               std::string where)
    : io_(io), options_(options), self_(self), where_(std::move(where)) {}

void Uplink::join(const UniqueId& id, int nranks, int rank, const std::string& identity,
                  PeerNetwork::JoinDone done) {
  const std::uint64_t ticket = next_ticket_++;
  PendingJoin& pending = joins_.emplace(ticket, PendingJoin(io_)).first->second;
  pending.message = {ticket,
                     id.comm,
                     id.secret,
                     static_cast<std::uint32_t>(nranks),
                     static_cast<std::uint32_t>(rank),
                     identity,
                     self_};
  pending.instance = id.instance;
  pending.done = std::move(done);
  const auto limit = options_.rendezvous + options_.grace;
  pending.deadline.arm(limit, [weak = weak_from_this(), ticket, limit] {
    const auto self = weak.lock();
    if (!self) return;
    self->finish_join(
        ticket, Error{ginTimeout, "the gind at " + self->where_ +
                                      " did not answer the join within " + duration_text(limit)});
  });
  usage_changed();
  if (!established_) return;
  // Its failure, too, is told from the event loop and not from inside the caller's call.
  boost::asio::post(io_, [weak = weak_from_this(), ticket] {
    if (const auto self = weak.lock()) self->send_join(ticket);
  });
}

void Uplink::send_join(std::uint64_t ticket) {
  const auto it = joins_.find(ticket);
  if (it == joins_.end()) return;
  if (it->second.instance != instance_) {
    return finish_join(ticket,
                       Error{ginRemoteError,
                             "the gind at " + where_ +
                                 " is not the one that made the unique id: it was restarted since, "
                                 "or that node's peer.advertise leads to another gind"});
  }
  transmit(it->second.message);
}

void Uplink::established(std::uint64_t instance) {
  instance_ = instance;
  established_ = true;
  std::vector<std::uint64_t> tickets;
  for (const auto& [ticket, pending] : joins_) tickets.push_back(ticket);
  for (const std::uint64_t ticket : tickets) send_join(ticket);
}

void Uplink::finish_join(std::uint64_t ticket, Result<std::shared_ptr<Membership>> result) {
  auto node = joins_.extract(ticket);
  if (node.empty()) return;
  const auto self = shared_from_this();
  node.mapped().deadline.cancel();
  node.mapped().done(std::move(result));
  usage_changed();
}

Result<void> Uplink::deliver(Message&& message) {
  const auto group_of = [&](std::uint64_t comm) -> std::shared_ptr<MemberGroup> {
    const auto it = groups_.find(comm);
    // A group that was just dropped may still be spoken to: the caller ignores that.
    return it == groups_.end() ? nullptr : it->second.lock();
  };
  return std::visit(
      [&](auto&& m) -> Result<void> {
        using M = std::decay_t<decltype(m)>;
        if constexpr (std::is_same_v<M, Ready>) {
          return ready(std::move(m));
        } else if constexpr (std::is_same_v<M, JoinFailed>) {
          finish_join(m.ticket, Error{m.code, m.text});
          return {};
        } else if constexpr (std::is_same_v<M, Gathered> || std::is_same_v<M, GatherFailed> ||
                             std::is_same_v<M, Gone> || std::is_same_v<M, Released>) {
          const auto group = group_of(m.comm);
          return group ? group->receive(std::move(m)) : Result<void>();
        } else {
          return Error{ginInvalidArgument, "a message that no coordinator sends at this point"};
        }
      },
      std::move(message));
}

Result<void> Uplink::ready(Ready&& message) {
  const std::uint64_t comm = message.comm;
  if (groups_.count(comm) != 0) return Error{ginInvalidArgument, "READY for a known communicator"};
  for (const auto& [ticket, rank] : message.joined) {
    const auto it = joins_.find(ticket);
    if (it == joins_.end()) continue;
    const Join& asked = it->second.message;
    if (asked.comm != comm || asked.rank != rank || asked.nranks != message.node_of_rank.size()) {
      return Error{ginInvalidArgument, "READY is not what JOIN asked for"};
    }
  }
  const std::vector<Ready::Joined> joined = std::move(message.joined);
  auto group = std::make_shared<MemberGroup>(shared_from_this(), std::move(message), instance_);
  groups_[comm] = group;
  for (const auto& [ticket, rank] : joined) {
    if (joins_.count(ticket) == 0) {
      // Its deadline passed here before the coordinator's answer came.
      group->announce_gone(static_cast<int>(rank), ginTimeout, "its join had timed out");
      continue;
    }
    finish_join(ticket, std::shared_ptr<Membership>(group));
  }
  return {};
}

void Uplink::detach(std::uint64_t comm) {
  groups_.erase(comm);
  transmit(Leave{comm});
  usage_changed();
}

void Uplink::fail(const Error& why) {
  if (failed_) return;
  failed_ = why;
  const auto self = shared_from_this();
  while (!joins_.empty()) finish_join(joins_.begin()->first, why);
  const auto groups = groups_;  // callbacks may drop theirs
  for (const auto& [comm, weak] : groups) {
    if (const auto group = weak.lock()) group->coordinator_lost(why);
  }
}

void Uplink::abandon() {
  failed_ = Error{ginAborted, "gind is shutting down"};
  for (auto& [ticket, pending] : joins_) {
    boost::asio::post(io_, [done = std::move(pending.done), why = *failed_] { done(why); });
  }
  joins_.clear();
  const auto groups = groups_;
  for (const auto& [comm, weak] : groups) {
    if (const auto group = weak.lock()) group->abandon(*failed_);
  }
}

}  // namespace gind::peers
