// SPDX-License-Identifier: Apache-2.0
// A member's side of one coordinator: joins in progress, and the communicators that came of them.
#pragma once

#include "daemon/peers/deadline.h"
#include "daemon/peers/messages.h"
#include "daemon/peers/unique_id.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace gind::peers {

class MemberGroup;

class Uplink : public std::enable_shared_from_this<Uplink> {
 public:
  // `where` names the coordinator in messages: "10.0.0.1:9407", "this node".
  Uplink(boost::asio::io_context& io, const PeerOptions& options, const NodeInfo& self,
         std::string where);
  virtual ~Uplink() = default;

  void join(const UniqueId& id, int nranks, int rank, const std::string& identity,
            PeerNetwork::JoinDone done);
  // To the coordinator; dropped once the uplink has failed.
  virtual void transmit(Message message) = 0;
  // From the coordinator.  An error is a breach of protocol: drop the link.
  Result<void> deliver(Message&& message);

  // The coordinator answered: joins go out, those meant for another instance fail.
  void established(std::uint64_t instance);
  // No use any more: joins end with `why`, communicators lose their coordinator.
  void fail(const Error& why);
  // This gind is going down: pending calls end with ginAborted, posted; observers hear nothing.
  void abandon();

  void detach(std::uint64_t comm);  // its MemberGroup is gone
  bool used() const { return !joins_.empty() || !groups_.empty(); }
  std::size_t joins() const { return joins_.size(); }
  std::size_t groups() const { return groups_.size(); }
  const std::string& where() const { return where_; }
  const PeerOptions& options() const { return options_; }
  boost::asio::io_context& io() { return io_; }

 protected:
  virtual void usage_changed() {}  // used() may have changed
  std::uint64_t instance() const { return instance_; }

 private:
  struct PendingJoin {
    explicit PendingJoin(boost::asio::io_context& io) : deadline(io) {}
    Join message;
    std::uint64_t instance = 0;  // the one that made the id
    PeerNetwork::JoinDone done;
    Deadline deadline;
  };

  void send_join(std::uint64_t ticket);
  void finish_join(std::uint64_t ticket, Result<std::shared_ptr<Membership>> result);
  Result<void> ready(Ready&& message);

  boost::asio::io_context& io_;
  const PeerOptions& options_;
  const NodeInfo& self_;
  const std::string where_;
  bool established_ = false;
  std::optional<Error> failed_;
  std::uint64_t instance_ = 0;  // the coordinator's, once established
  std::uint64_t next_ticket_ = 1;
  std::map<std::uint64_t, PendingJoin> joins_;
  std::map<std::uint64_t, std::weak_ptr<MemberGroup>> groups_;
};

}  // namespace gind::peers
