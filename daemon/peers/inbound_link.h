// SPDX-License-Identifier: Apache-2.0
// A connection from a member gind, as the coordinator holds it.
#pragma once

#include "daemon/peers/conduit.h"
#include "daemon/peers/framed_link.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace gind::peers {

class InboundLink : public Conduit, public std::enable_shared_from_this<InboundLink> {
 public:
  struct Hooks {
    std::function<void(const std::shared_ptr<InboundLink>&)> greeted;
    std::function<Result<void>(const std::shared_ptr<InboundLink>&, Message&&)> message;
    // Once, not after close().
    std::function<void(const std::shared_ptr<InboundLink>&, const Error&)> ended;
  };
  InboundLink(boost::asio::io_context& io, const PeerOptions& options, const NodeInfo& self,
              PeerSocket socket, Hooks hooks);

  void start();
  void send(const Message& message) override { link_->send(message); }
  const std::string& describe() const override { return text_; }
  void close();

  bool greeted() const { return greeted_; }
  std::uint64_t instance() const { return instance_; }

 private:
  Result<void> on_message(Message&& message);
  void end(const Error& why);

  const PeerOptions& options_;
  const NodeInfo& self_;
  Hooks hooks_;
  std::shared_ptr<FramedLink> link_;
  Deadline handshake_;
  std::string text_;
  std::uint64_t instance_ = 0;
  bool greeted_ = false;
};

}  // namespace gind::peers
