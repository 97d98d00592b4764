// SPDX-License-Identifier: Apache-2.0
// The tables of a proxy thread, and what other threads' commands do to them.
#include "daemon/proxy/proxy_thread.h"

#include <algorithm>

namespace gind {

namespace {

template <typename T>
void drop(std::vector<T*>& from, const T* what) {
  from.erase(std::remove(from.begin(), from.end(), what), from.end());
}

}  // namespace

void ProxyThread::remove_view(const RankView* view) {
  views_.erase(std::remove(views_.begin(), views_.end(), view), views_.end());
  std::erase_if(env_.failures, [view](const auto& f) { return f.view == view; });
}

Result<ContextQueue*> ProxyThread::add_context(const ContextSpec& spec) {
  std::size_t index = 0;
  while (index < queues_.size() && queues_[index]) ++index;
  if (index >= PeerChannel::kAckQueue) {
    return Error{ginLimitExceeded, "proxy thread " + std::to_string(env_.options.index) +
                                       " has no place for another context: all of its " +
                                       std::to_string(PeerChannel::kAckQueue) + " are in use"};
  }
  auto queue = std::make_unique<ContextQueue>(spec, static_cast<std::uint32_t>(index));
  ContextQueue* raw = queue.get();
  if (index == queues_.size()) {
    queues_.push_back(std::move(queue));
  } else {
    queues_[index] = std::move(queue);
  }
  by_handle_[{spec.handle, spec.context}] = raw;
  hot_.push_back(raw);
  env_.counters.contexts.add(1);
  return raw;
}

void ProxyThread::remove_context(ContextQueue* queue) {
  by_handle_.erase({queue->spec().handle, queue->spec().context});
  drop(hot_, queue);
  drop(cold_, queue);
  for (const ContextRoute& route : queue->routes()) release_channel(route.channel);
  for (auto& slot : queues_) {
    if (slot.get() == queue) slot.reset();
  }
  env_.counters.contexts.set(env_.counters.contexts.get() - 1);
}

Result<PeerChannel*> ProxyThread::channel(const std::vector<std::uint8_t>& address) {
  auto found = channels_.find(address);
  if (found == channels_.end()) {
    const bool local = address.empty();
    Endpoint* endpoint = local ? loopback_.get() : fabric_.get();
    if (endpoint == nullptr) {
      return Error{ginNotSupported,
                   "a peer is on another node, but this gind has no fabric (transport.kind is "
                   "\"loopback\")"};
    }
    const auto peer = endpoint->add_peer(local ? endpoint->address() : address);
    if (!peer) return peer.error();
    std::size_t number = 0;
    while (number < channel_by_number_.size() && channel_by_number_[number] != nullptr) ++number;
    if (number > 0xffff) return Error{ginLimitExceeded, "65,536 peer endpoints are in use"};
    const SignalMode mode = local ? SignalMode::kRecord : fabric_transport_->caps().signal_mode;
    auto made = std::make_unique<PeerChannel>(*endpoint, peer.value(), mode, local,
                                              static_cast<std::uint16_t>(number));
    if (number == channel_by_number_.size()) channel_by_number_.push_back(nullptr);
    channel_by_number_[number] = made.get();
    found = channels_.emplace(address, std::move(made)).first;
  }
  ++found->second->references;
  return found->second.get();
}

void ProxyThread::release_channel(PeerChannel* channel) {
  if (channel == nullptr || --channel->references != 0) return;
  // Acknowledgements may still be on their way out; the channel goes when it is empty.
  when(
      [channel] {
        return channel->references != 0 || (channel->idle() && channel->in_flight() == 0);
      },
      [this, channel] {
        if (channel->references != 0) return;
        std::erase(env_.to_flush, channel);
        channel->endpoint().remove_peer(channel->peer());
        channel_by_number_[channel->number()] = nullptr;
        std::erase_if(channels_, [channel](const auto& c) { return c.second.get() == channel; });
      });
}

void ProxyThread::peer_gone(RankView& view, std::uint32_t peer, ginResult_t code, bool reachable) {
  PeerState& state = view.peers[peer];
  if (!state.gone) state.code = code;
  state.gone = true;
  state.unreachable |= !reachable;
  for (ContextQueue* queue : contexts_of(view)) {
    queue->peer_gone(env_, peer, state.code, !state.unreachable);
  }
}

void ProxyThread::handle_failures() {
  // Handling one may add others.
  while (!env_.failures.empty()) {
    const ProxyEnv::PeerFailure failure = std::move(env_.failures.back());
    env_.failures.pop_back();
    if (failure.view->peers[failure.peer].unreachable) continue;
    const bool known = failure.view->peers[failure.peer].gone;
    const ginResult_t code = failure.code == ginSuccess ? ginRemoteError : failure.code;
    peer_gone(*failure.view, failure.peer, code, false);
    if (!known) env_.events->peer_fault(failure.view->id, failure.peer, code, failure.text);
  }
}

void ProxyThread::when(std::function<bool()> ready, std::function<void()> done) {
  waiting_.push_back({std::move(ready), std::move(done)});
}

std::vector<ContextQueue*> ProxyThread::contexts_of(const RankView& view) const {
  std::vector<ContextQueue*> found;
  for (const auto& queue : queues_) {
    if (queue && &queue->view() == &view) found.push_back(queue.get());
  }
  return found;
}

void ProxyThread::map_flows(std::uint32_t first, std::uint32_t count, ContextQueue* queue) {
  if (flows_.size() < first + count) flows_.resize(first + count);
  for (std::uint32_t i = 0; i < count; ++i) flows_[first + i] = Flow{queue, i};
}

void ProxyThread::unmap_flows(std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t i = first; i < first + count && i < flows_.size(); ++i) flows_[i] = Flow{};
}

}  // namespace gind
