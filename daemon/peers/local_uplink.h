// SPDX-License-Identifier: Apache-2.0
// A gind that coordinates a communicator of its own: the same member and coordinator code, joined
// by the event loop instead of a connection, so that neither ever calls into the other.
#pragma once

#include "daemon/peers/conduit.h"
#include "daemon/peers/coordinator.h"
#include "daemon/peers/uplink.h"

#include <boost/asio/post.hpp>

#include <memory>
#include <string>
#include <utility>

namespace gind::peers {

class LocalConduit : public Conduit {
 public:
  LocalConduit(boost::asio::io_context& io, std::string text) : io_(io), text_(std::move(text)) {}
  void bind(std::weak_ptr<Uplink> uplink) { uplink_ = std::move(uplink); }
  void send(const Message& message) override {
    boost::asio::post(io_, [uplink = uplink_, copy = message]() mutable {
      // Both ends are this process: there is no breach to answer.
      if (const auto to = uplink.lock()) (void)to->deliver(std::move(copy));
    });
  }
  const std::string& describe() const override { return text_; }

 private:
  boost::asio::io_context& io_;
  const std::string text_;
  std::weak_ptr<Uplink> uplink_;
};

class LocalUplink : public Uplink {
 public:
  LocalUplink(boost::asio::io_context& io, const PeerOptions& options, const NodeInfo& self,
              std::weak_ptr<Coordinator> coordinator, std::shared_ptr<LocalConduit> conduit)
      : Uplink(io, options, self, "this node"),
        coordinator_(std::move(coordinator)),
        conduit_(std::move(conduit)) {}
  void transmit(Message message) override {
    boost::asio::post(io(),
                      [to = coordinator_, from = conduit_, message = std::move(message)]() mutable {
                        if (const auto coordinator = to.lock())
                          (void)coordinator->receive(from, std::move(message));
                      });
  }

 private:
  const std::weak_ptr<Coordinator> coordinator_;
  const std::shared_ptr<LocalConduit> conduit_;
};

}  // namespace gind::peers
