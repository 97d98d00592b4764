// SPDX-License-Identifier: Apache-2.0
// The one connection of this gind to a coordinator elsewhere, dialled on first use, closed when
// nothing has used it for a while.
#pragma once

#include "daemon/peers/dialer.h"
#include "daemon/peers/framed_link.h"
#include "daemon/peers/uplink.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace gind {
struct ControlCounters;
}

namespace gind::peers {

class RemoteUplink : public Uplink {
 public:
  // `ended` is called once, when the uplink is of no use any more; empty text: it idled out.
  RemoteUplink(boost::asio::io_context& io, const PeerOptions& options, const NodeInfo& self,
               ControlCounters& counters, const std::string& host, std::uint16_t port,
               std::function<void(const std::string& why)> ended);
  ~RemoteUplink() override;

  void dial();
  void transmit(Message message) override;
  void close();  // silently

 protected:
  void usage_changed() override;

 private:
  enum class State { kDialling, kGreeting, kUp, kDown };
  void connected(PeerSocket socket);
  Result<void> on_message(Message&& message);
  void down(const Error& why);
  void set_state(State state);
  std::shared_ptr<RemoteUplink> self() {
    return std::static_pointer_cast<RemoteUplink>(shared_from_this());
  }

  const NodeInfo& node_;
  ControlCounters& counters_;
  std::function<void(const std::string&)> ended_;
  State state_ = State::kDown;
  std::shared_ptr<Dialer> dialer_;
  std::shared_ptr<FramedLink> link_;
  Deadline deadline_;  // the handshake's, then the idle one
  bool idling_ = false;
};

}  // namespace gind::peers
