// SPDX-License-Identifier: Apache-2.0
#include "daemon/peers/deadline.h"

#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <utility>

namespace gind::peers {

struct Deadline::State {
  explicit State(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
  std::function<void()> call;
  std::uint64_t generation = 0;  // tells a queued completion that it is stale
};

Deadline::Deadline(boost::asio::io_context& io) : state_(std::make_shared<State>(io)) {}

Deadline& Deadline::operator=(Deadline&& other) noexcept {
  if (this != &other) {
    cancel();
    state_ = std::move(other.state_);
  }
  return *this;
}

void Deadline::arm(std::chrono::nanoseconds after, std::function<void()> call) {
  state_->call = std::move(call);
  const std::uint64_t generation = ++state_->generation;
  state_->timer.expires_after(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(after));
  std::weak_ptr<State> weak = state_;
  state_->timer.async_wait([weak, generation](const boost::system::error_code&) {
    const auto state = weak.lock();
    if (!state || state->generation != generation) return;
    auto due = std::exchange(state->call, nullptr);
    ++state->generation;
    if (due) due();
  });
}

void Deadline::cancel() {
  if (!state_) return;
  ++state_->generation;
  state_->call = nullptr;
  state_->timer.cancel();
}

}  // namespace gind::peers
