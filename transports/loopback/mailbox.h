// SPDX-License-Identifier: Apache-2.0
// What other threads' endpoints leave for one loopback endpoint.
#pragma once

#include "gind/common/fd.h"
#include "gind/transports/transport.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace gind {

// A send or an immediate on its way to an endpoint.
struct LoopbackMessage {
  bool immediate_only = false;
  std::uint32_t bytes = 0;
  std::uint32_t immediate = 0;
  std::array<std::byte, kMaxSendBytes> data;
};

// A bounded ring that doubles up to its limit, so an idle one costs nothing.
class MessageRing {
 public:
  explicit MessageRing(std::uint32_t limit) : limit_(limit) {}
  bool full() const { return count_ == limit_; }
  bool empty() const { return count_ == 0; }
  void push(const LoopbackMessage& message);  // only when !full()
  const LoopbackMessage& front() const { return slots_[head_]; }
  void pop();

 private:
  std::vector<LoopbackMessage> slots_;
  std::size_t head_ = 0;
  std::size_t count_ = 0;
  const std::size_t limit_;
};

// Outlives its endpoint while peers hold it; closed when the endpoint is gone.
class Mailbox {
 public:
  enum class Delivery { kTaken, kFull, kGone };

  explicit Mailbox(std::uint32_t limit);

  // Senders, any thread.
  Delivery deliver(const LoopbackMessage& message);
  // Pairs with close().
  bool gone() const { return gone_.load(std::memory_order_acquire); }

  // The owning endpoint.
  void close();
  // Moves up to `limit` messages to `out`; returns how many.  No lock when there is none.
  std::size_t take(LoopbackMessage* out, std::size_t limit);
  int wait_fd() const { return event_.get(); }
  // False when there is something to take.
  bool prepare_wait();

 private:
  std::atomic<std::uint32_t> waiting_{0};  // messages in ring_
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> gone_{false};
  std::mutex mutex_;
  MessageRing ring_;
  Fd event_;
};

}  // namespace gind
