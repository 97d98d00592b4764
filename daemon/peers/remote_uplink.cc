// SPDX-License-Identifier: Apache-2.0
#include "daemon/peers/remote_uplink.h"

#include "daemon/metrics/counters.h"
#include "daemon/peers/text.h"

#include <utility>

namespace gind::peers {

RemoteUplink::RemoteUplink(boost::asio::io_context& io, const PeerOptions& options,
                           const NodeInfo& self, ControlCounters& counters, const std::string& host,
                           std::uint16_t port, std::function<void(const std::string&)> ended)
    : Uplink(io, options, self, host_port(host, port)),
      node_(self),
      counters_(counters),
      ended_(std::move(ended)),
      dialer_(std::make_shared<Dialer>(io, options, host, port)),
      deadline_(io) {}

RemoteUplink::~RemoteUplink() { close(); }

void RemoteUplink::set_state(State state) {
  const auto gauge = [&](State of) -> std::atomic<std::uint64_t>* {
    if (of == State::kDown) return nullptr;
    return of == State::kUp ? &counters_.peers_connected : &counters_.peers_connecting;
  };
  if (auto* old = gauge(state_)) old->fetch_sub(1, std::memory_order_relaxed);
  if (auto* now = gauge(state)) now->fetch_add(1, std::memory_order_relaxed);
  state_ = state;
}

void RemoteUplink::dial() {
  set_state(State::kDialling);
  std::weak_ptr<RemoteUplink> weak = self();
  dialer_->dial([weak](Result<PeerSocket> socket) {
    const auto me = weak.lock();
    if (!me) return;
    if (!socket) return me->down(socket.error());
    me->connected(std::move(socket).value());
  });
}

void RemoteUplink::connected(PeerSocket socket) {
  set_state(State::kGreeting);
  link_ = std::make_shared<FramedLink>(io(), std::move(socket), Side::kAcceptor,
                                       options().max_queued_bytes);
  std::weak_ptr<RemoteUplink> weak = self();
  link_->start({[weak](Message message) -> Result<void> {
                  const auto me = weak.lock();
                  return me ? me->on_message(std::move(message)) : Result<void>();
                },
                [weak](const Error& error) {
                  const auto me = weak.lock();
                  if (!me) return;
                  const std::string who =
                      me->state_ == State::kUp
                          ? "the gind at " + me->where() +
                                " that coordinates the communicator was lost"
                          : "the gind at " + me->where() + " that made the unique id";
                  me->down(Error{error.code == ginInvalidArgument ? ginRemoteError : error.code,
                                 who + ": " + error.message});
                }});
  deadline_.arm(options().handshake, [weak] {
    const auto me = weak.lock();
    if (!me) return;
    me->down(Error{ginTimeout, "the gind at " + me->where() +
                                   " that made the unique id accepted the connection but did not "
                                   "answer within " +
                                   duration_text(me->options().handshake)});
  });
  link_->send(Hello{node_.instance, node_.name});
}

Result<void> RemoteUplink::on_message(Message&& message) {
  if (const auto* refused = std::get_if<Refused>(&message)) {
    down(Error{refused->code, "the gind at " + where() + " refused this one: " + refused->text});
    return {};
  }
  if (state_ == State::kUp) return deliver(std::move(message));
  const auto* welcome = std::get_if<Welcome>(&message);
  if (welcome == nullptr) return Error{ginInvalidArgument, "it did not begin with WELCOME"};
  deadline_.cancel();
  set_state(State::kUp);
  established(welcome->instance);
  usage_changed();
  return {};
}

void RemoteUplink::transmit(Message message) {
  if (state_ == State::kUp) link_->send(message);
}

void RemoteUplink::usage_changed() {
  if (state_ != State::kUp) return;
  if (used()) {
    if (std::exchange(idling_, false)) deadline_.cancel();
    return;
  }
  if (std::exchange(idling_, true)) return;
  std::weak_ptr<RemoteUplink> weak = self();
  deadline_.arm(options().idle, [weak] {
    const auto me = weak.lock();
    if (!me) return;
    const auto ended = std::exchange(me->ended_, nullptr);
    me->close();
    if (ended) ended("");
  });
}

void RemoteUplink::down(const Error& why) {
  if (state_ == State::kDown) return;
  const auto me = self();
  const auto ended = std::exchange(ended_, nullptr);
  close();
  counters_.peer_link_failures.fetch_add(1, std::memory_order_relaxed);
  if (ended) ended(why.message);  // first: a new join from a callback shall dial anew
  fail(why);
}

void RemoteUplink::close() {
  set_state(State::kDown);
  deadline_.cancel();
  dialer_->cancel();
  if (link_) link_->close();
}

}  // namespace gind::peers
