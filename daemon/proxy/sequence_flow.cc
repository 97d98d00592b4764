// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/sequence_flow.h"

namespace gind {

bool FlowReceiver::has(std::uint64_t sequence) const {
  if (sequence - below_ >= kSequenceWindow) return sequence < below_;
  return seen_[sequence % kSequenceWindow];
}

bool FlowReceiver::mark(std::uint64_t sequence) {
  if (sequence - below_ >= kSequenceWindow || seen_[sequence % kSequenceWindow]) return false;
  seen_[sequence % kSequenceWindow] = true;
  return true;
}

bool FlowReceiver::weak_ready(const WireRecord& record) const {
  if (record.pieces == kNothing) return true;
  for (std::uint64_t s = record.sequence - record.pieces; s != record.sequence; ++s) {
    // Below the window everything has arrived; the difference is signed where it may wrap.
    if (static_cast<std::int64_t>(s - below_) >= 0 && !has(s)) return false;
  }
  return true;
}

bool FlowReceiver::arrived(std::uint16_t low_bits, const Act& act) {
  const std::uint64_t sequence =
      below_ + static_cast<std::uint16_t>(low_bits - static_cast<std::uint16_t>(below_));
  if (!mark(sequence)) return false;
  for (std::size_t i = 0; i < weak_waiting_.size();) {
    Held& held = held_[weak_waiting_[i] % kSequenceWindow];
    if (!weak_ready(held.message.record)) {
      ++i;
      continue;
    }
    held.waiting = false;
    act(held.message);
    weak_waiting_[i] = weak_waiting_.back();
    weak_waiting_.pop_back();
  }
  advance(act);
  return true;
}

bool FlowReceiver::arrived(const WireMessage& message, const Act& act) {
  const WireRecord& record = message.record;
  if (!mark(record.sequence)) return false;
  if (record.pieces != 0 && weak_ready(record)) {
    act(message);
  } else {
    if (held_.empty()) held_.resize(kSequenceWindow);
    held_[record.sequence % kSequenceWindow] = Held{message, true};
    if (record.pieces != 0) weak_waiting_.push_back(record.sequence);
  }
  advance(act);
  return true;
}

void FlowReceiver::advance(const Act& act) {
  while (seen_[below_ % kSequenceWindow]) {
    const std::uint64_t at = below_ % kSequenceWindow;
    seen_[at] = false;
    ++below_;
    if (!held_.empty() && held_[at].waiting) {
      held_[at].waiting = false;
      // A weak record that waits is complete here at the latest: all its pieces are below it, and
      // arrived() has taken it when its last piece came.  Only strong ones are left.
      act(held_[at].message);
    }
  }
}

}  // namespace gind
