// SPDX-License-Identifier: Apache-2.0
// A ring with its control words and poster state in plain memory, started at any position.
#pragma once

#include "gin/queues/completion.h"
#include "gin/queues/consumer.h"
#include "gin/queues/producer.h"

#include <memory>
#include <vector>

namespace gin::queues::testing {

class TestRing {
 public:
  TestRing(std::uint32_t log2_depth, std::uint64_t start, Sharing sharing, std::uint32_t ranks = 4)
      : units_(std::size_t{1} << log2_depth), done_(ranks), last_posted_(ranks) {
    control_->consumed = start;
    state_->head = start;
    state_->cached_consumed = start;
    producer_ = {units_.data(),       control_.get(), state_.get(),
                 last_posted_.data(), log2_depth,     sharing};
    consumer_ = RingConsumer(units_.data(), log2_depth, start);
  }

  const RingProducer& producer() const { return producer_; }
  RingConsumer& consumer() { return consumer_; }
  ContextControl& control() { return *control_; }
  ProducerState& state() { return *state_; }
  std::vector<std::uint64_t>& done() { return done_; }
  std::vector<std::uint64_t>& last_posted() { return last_posted_; }
  Unit& slot(std::uint64_t position) { return units_[position & (producer_.depth() - 1)]; }

  // Returns the credit of everything copied out.
  void return_credit() { store_release_sys(&control_->consumed, consumer_.position()); }

  ginResult_t post_signal(std::uint32_t peer, std::uint64_t addend, const WaitLimits& limits = {}) {
    Descriptor d{};
    d.op = Op::kSignal;
    d.action = RemoteAction::kAddStrong;
    d.peer = peer;
    d.addend = addend;
    std::uint64_t end = 0;
    return post(producer_, peer, encode(d), limits, &end);
  }

 private:
  std::vector<Unit> units_;
  std::unique_ptr<ContextControl> control_ = std::make_unique<ContextControl>();
  std::unique_ptr<ProducerState> state_ = std::make_unique<ProducerState>();
  std::vector<std::uint64_t> done_;
  std::vector<std::uint64_t> last_posted_;
  RingProducer producer_;
  RingConsumer consumer_;
};

inline bool equal(const Descriptor& a, const Descriptor& b) {
  return a.op == b.op && a.action == b.action && a.has_counter == b.has_counter &&
         a.peer == b.peer && a.dst_window == b.dst_window && a.src_window == b.src_window &&
         a.dst_offset == b.dst_offset && a.src_offset == b.src_offset && a.bytes == b.bytes &&
         a.signal == b.signal && a.counter == b.counter && a.addend == b.addend &&
         a.va_window == b.va_window && a.va_offset == b.va_offset && a.value == b.value &&
         a.compare == b.compare && a.bad_field == b.bad_field;
}

// splitmix64's finaliser: spreads (a, b) over 64 bits.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xd1342543de82ef95u + 1;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// The record number `sequence` of poster `who`: every bit of each of its 1 to 4 units follows from
// the two, so one stale or torn half shows.  who < 1,024 (it travels as the peer), sequence < 2^47.
inline Descriptor numbered_descriptor(std::uint32_t who, std::uint64_t sequence) {
  const std::uint64_t h = mix(who, sequence);
  Descriptor d{};
  d.peer = who;
  d.dst_offset = sequence;
  d.signal = static_cast<std::uint32_t>(h & 0xffff);
  d.dst_window = static_cast<std::uint32_t>((h >> 16) & 0xfff);
  d.src_window = static_cast<std::uint32_t>((h >> 28) & 0xfff);
  d.action = RemoteAction::kAddStrong;
  d.addend = (h >> 40) & 0xffff;
  const std::uint64_t g = mix(h, 1);
  switch (h % 4) {
    case 0:
      d.op = Op::kSignal;
      return d;
    case 1:
      d.op = Op::kPut;
      break;
    case 2:
      d.op = Op::kPut;
      d.action = RemoteAction::kVaAddWeak;
      d.addend = g;
      d.va_window = static_cast<std::uint32_t>(g & 0xfff);
      d.va_offset = g >> 17;
      break;
    default:
      d.op = Op::kCompareSwap;
      d.value = mix(g, 2);
      d.compare = mix(g, 3);
      break;
  }
  d.has_counter = (g & 1) != 0;
  d.counter = static_cast<std::uint32_t>(g & 0xffff);
  d.src_offset = g & kMaxOffset;
  d.bytes = mix(g, 4) & kMaxBytes;
  return d;
}

}  // namespace gin::queues::testing
