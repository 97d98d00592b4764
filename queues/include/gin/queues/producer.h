// SPDX-License-Identifier: Apache-2.0
// The posting side of a ring: reserve units, wait for credit, store.  Correctness: docs/ring.md.
#pragma once

#include "gin/queues/atomics.h"
#include "gin/queues/descriptor.h"
#include "gin/queues/segment.h"
#include "gin/queues/unit.h"
#include "gin/queues/wait.h"

namespace gin::queues {

// Per context, in GPU memory (in the client's private memory when a CPU thread plays the GPU).
// gind never sees it.  The arrays behind it are allocated with it.
struct alignas(kCacheLine) ProducerState {
  std::uint64_t head = 0;  // next free ring position
  std::uint8_t pad0[kCacheLine - 8];
  std::uint64_t cached_consumed = 0;  // copy of ContextControl::consumed
  std::uint32_t refresh_lock = 0;     // the elected refresher holds it
  std::uint32_t pad1 = 0;
  std::uint64_t local_error = 0;  // error word latched by the poster (a credit wait that ended)
  std::uint8_t pad2[kCacheLine - 24];
};
static_assert(sizeof(ProducerState) == 2 * kCacheLine);

enum class Sharing : std::uint8_t { kShared = 0, kBlock = 1, kExclusive = 2 };

struct RingProducer {
  Unit* units = nullptr;
  ContextControl* control = nullptr;  // read only here
  ProducerState* state = nullptr;
  std::uint64_t* last_posted = nullptr;  // [ranks], GPU memory
  std::uint32_t log2_depth = 0;
  Sharing sharing = Sharing::kShared;

  GIN_HOST_DEVICE std::uint64_t depth() const { return std::uint64_t{1} << log2_depth; }
};

// True when positions below `end` may be written: the consumer has copied out what their slots
// held.  The acquire pairs with the consumer's release of `consumed` (through the refresher's
// release of the cached copy), so the stores that follow cannot overtake the consumer's load.
GIN_HOST_DEVICE inline bool has_credit(const RingProducer& r, std::uint64_t end) {
  if (end - load_acquire_gpu(&r.state->cached_consumed) <= r.depth()) return true;
  // Out of credit by the cached copy: one elected thread reads host memory over PCIe.
  if (!try_lock_gpu(&r.state->refresh_lock)) return false;
  const std::uint64_t consumed = load_acquire_sys(&r.control->consumed);
  store_release_gpu(&r.state->cached_consumed, consumed);
  unlock_gpu(&r.state->refresh_lock);
  return end - consumed <= r.depth();
}

// Reserves n units (n <= depth).  In shared rings a wait that ends early leaves units reserved that
// nobody will write, so the context is latched in error; in one-producer rings nothing is reserved
// before there is credit, and the context stays usable.
GIN_HOST_DEVICE inline ginResult_t reserve(const RingProducer& r, std::uint32_t n,
                                           const WaitLimits& limits, std::uint64_t* position) {
  if (const std::uint64_t e = load_relaxed_gpu(&r.state->local_error)) return error_code(e);
  const bool shared = r.sharing == Sharing::kShared;
  const std::uint64_t at =
      shared ? fetch_add_gpu<std::uint64_t>(&r.state->head, n) : load_relaxed_gpu(&r.state->head);
  if (!has_credit(r, at + n)) {
    Waiter waiter(limits);
    do {
      if (const ginResult_t stop = waiter.step(); stop != ginSuccess) {
        if (shared) store_release_gpu(&r.state->local_error, make_error_word(stop));
        return stop;
      }
    } while (!has_credit(r, at + n));
  }
  if (!shared) store_relaxed_gpu(&r.state->head, at + n);
  *position = at;
  return ginSuccess;
}

// Stores a record at a reserved position.  A record may run over the ring's end: each unit takes
// the parity of its own lap.
GIN_HOST_DEVICE inline void store_record(const RingProducer& r, std::uint64_t position,
                                         const Record& record) {
  const std::uint64_t index_mask = r.depth() - 1;
  for (std::uint32_t i = 0; i < record.units; ++i) {
    const std::uint64_t at = position + i;
    store_unit(&r.units[at & index_mask], record.unit[i], lap_parity(at, r.log2_depth));
  }
}

// Posts one record towards `peer`.  Payload must have been released before (fence_release_sys).
GIN_HOST_DEVICE inline ginResult_t post(const RingProducer& r, std::uint32_t peer,
                                        const Record& record, const WaitLimits& limits,
                                        std::uint64_t* end) {
  std::uint64_t position = 0;
  if (const ginResult_t res = reserve(r, record.units, limits, &position); res != ginSuccess) {
    return res;
  }
  *end = position + record.units;
  raise_to_gpu(&r.last_posted[peer], *end);
  store_record(r, position, record);
  return ginSuccess;
}

}  // namespace gin::queues
