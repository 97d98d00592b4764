// SPDX-License-Identifier: Apache-2.0
#include "loopback/mailbox.h"

#include <sys/eventfd.h>

#include <algorithm>

namespace gind {

void MessageRing::push(const LoopbackMessage& message) {
  if (count_ == slots_.size()) {
    std::vector<LoopbackMessage> larger(
        std::min<std::size_t>(limit_, std::max<std::size_t>(16, slots_.size() * 2)));
    for (std::size_t i = 0; i < count_; ++i) larger[i] = slots_[(head_ + i) % slots_.size()];
    slots_.swap(larger);
    head_ = 0;
  }
  slots_[(head_ + count_) % slots_.size()] = message;
  ++count_;
}

void MessageRing::pop() {
  head_ = (head_ + 1) % slots_.size();
  --count_;
}

Mailbox::Mailbox(std::uint32_t limit)
    : ring_(limit), event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Mailbox::Delivery Mailbox::deliver(const LoopbackMessage& message) {
  {
    const std::lock_guard lock(mutex_);
    if (gone_.load(std::memory_order_relaxed)) return Delivery::kGone;
    if (ring_.full()) return Delivery::kFull;
    ring_.push(message);
    // seq_cst, with sleeping_ below and both in prepare_wait(): one of the two sides sees the
    // other.
    waiting_.fetch_add(1, std::memory_order_seq_cst);
  }
  if (sleeping_.load(std::memory_order_seq_cst) &&
      sleeping_.exchange(false, std::memory_order_relaxed)) {
    [[maybe_unused]] const int rc = ::eventfd_write(event_.get(), 1);
  }
  return Delivery::kTaken;
}

void Mailbox::close() {
  const std::lock_guard lock(mutex_);
  gone_.store(true, std::memory_order_release);  // pairs with gone()
}

std::size_t Mailbox::take(LoopbackMessage* out, std::size_t limit) {
  // The mutex orders the ring; this is only a hint whether to take it.
  if (waiting_.load(std::memory_order_relaxed) == 0) return 0;
  const std::lock_guard lock(mutex_);
  std::size_t n = 0;
  while (n < limit && !ring_.empty()) {
    out[n++] = ring_.front();
    ring_.pop();
  }
  waiting_.fetch_sub(static_cast<std::uint32_t>(n), std::memory_order_relaxed);
  return n;
}

bool Mailbox::prepare_wait() {
  eventfd_t drained = 0;
  [[maybe_unused]] const int rc = ::eventfd_read(event_.get(), &drained);
  sleeping_.store(true, std::memory_order_seq_cst);  // pairs with deliver()
  if (waiting_.load(std::memory_order_seq_cst) == 0) return true;
  sleeping_.store(false, std::memory_order_relaxed);
  return false;
}

}  // namespace gind
