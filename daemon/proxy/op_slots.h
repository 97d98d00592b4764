// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gin/queues/descriptor.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <type_traits>

namespace gind {

// One operation that was copied out and is not retired yet.
struct OpSlot {
  gin::queues::Descriptor d;
  std::uint64_t end;      // ring position behind its record
  std::uint64_t seen_ns;  // when it was copied out
  std::uint64_t moved;    // bytes staged so far
  std::uint64_t order;    // its number in the context; tells an answer from a stale one
  std::uint32_t pending;  // requests not completed, and the answer
  std::uint32_t pieces;   // writes staged
  std::uint32_t next_of_peer;
  bool staged;    // nothing is left to stage
  bool awaiting;  // the peer's gind has to answer, and has not (fences, atomics)
  bool failed;
  bool finished;  // complete; waits for earlier ones to retire
  bool internal;  // gind's own fence, no record of the client
};
static_assert(std::is_trivially_destructible_v<OpSlot>);

// The operations of one context, oldest first, in a ring of fixed capacity.  Its memory is zeroed
// pages that cost nothing until they are used: most contexts are idle.
class OpSlots {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // capacity: a power of two.
  explicit OpSlots(std::uint32_t capacity)
      : slots_(static_cast<OpSlot*>(std::calloc(capacity, sizeof(OpSlot)))),
        mask_(slots_ ? capacity - 1 : 0),
        capacity_(slots_ ? capacity : 0) {}

  bool full() const { return tail_ - retired_ >= capacity_; }
  bool empty() const { return tail_ == retired_; }
  std::uint64_t outstanding() const { return tail_ - retired_; }
  std::uint64_t retired() const { return retired_; }
  std::uint64_t tail() const { return tail_; }

  // Requires !full().
  std::uint32_t push() {
    const auto index = static_cast<std::uint32_t>(tail_ & mask_);
    slots_[index] = OpSlot{};
    slots_[index].order = tail_++;
    slots_[index].next_of_peer = kNone;
    return index;
  }
  OpSlot& operator[](std::uint32_t index) { return slots_[index & mask_]; }
  OpSlot& oldest() { return slots_[retired_ & mask_]; }
  OpSlot& at_order(std::uint64_t order) { return slots_[order & mask_]; }
  std::uint32_t index_of(std::uint64_t order) const {
    return static_cast<std::uint32_t>(order & mask_);
  }
  void retire() { ++retired_; }

 private:
  struct Free {
    void operator()(OpSlot* p) const { std::free(p); }
  };
  std::unique_ptr<OpSlot[], Free> slots_;
  std::uint64_t mask_;
  std::uint64_t capacity_;
  std::uint64_t retired_ = 0;
  std::uint64_t tail_ = 0;
};

}  // namespace gind
