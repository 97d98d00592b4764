// SPDX-License-Identifier: Apache-2.0
// The posting side of a ring: reserve units, wait for credit, store.  Correctness: docs/ring.md.
#pragma once

#include "gin/queues/atomics.h"
#include "gin/queues/descriptor.h"
#include "gin/queues/segment.h"
#include "gin/queues/unit.h"
#include "gin/queues/wait.h"

namespace gin::queues {

// A GPU's line: what is written at every post must not share one with what is only read.
inline constexpr std::size_t kGpuLine = 128;

// Per context, in GPU memory (in the client's private memory when a CPU thread plays the GPU).
// gind never sees it.  The arrays behind it are allocated with it.
struct alignas(kGpuLine) ProducerState {
  std::uint64_t head = 0;  // next free ring position
  std::uint8_t pad0[kGpuLine - 8];
  // These two are read by one 16-byte load at every post.
  std::uint64_t cached_consumed = 0;  // copy of ContextControl::consumed; never falls
  std::uint64_t local_error = 0;      // error word latched by the poster (a credit wait that ended)
  std::uint32_t refreshing = 0;       // the elected refresher has set it
  std::uint8_t pad1[kGpuLine - 20];
};
static_assert(sizeof(ProducerState) == 2 * kGpuLine);
static_assert(offsetof(ProducerState, cached_consumed) % 16 == 0);
static_assert(offsetof(ProducerState, local_error) == offsetof(ProducerState, cached_consumed) + 8);

enum class Sharing : std::uint8_t { kShared = 0, kBlock = 1, kExclusive = 2 };

struct RingProducer {
  Unit* units = nullptr;
  ContextControl* control = nullptr;  // read only here
  ProducerState* state = nullptr;
  std::uint64_t* last_posted = nullptr;  // [ranks], GPU memory
  std::uint32_t log2_depth = 0;
  Sharing sharing = Sharing::kShared;

  GIN_HOST_DEVICE std::uint64_t depth() const { return std::uint64_t{1} << log2_depth; }
  GIN_HOST_DEVICE bool shared() const { return sharing == Sharing::kShared; }
};

// What a post looks at before it stores.
struct Credit {
  std::uint64_t consumed;  // at least so much is copied out
  std::uint64_t error;     // local_error
};

// On the GPU the loads are not acquire, which would empty the L1 cache at every post: the stores
// that follow depend on the branch on their value, and a GPU performs no store before it is issued.
// One-producer rings use plain loads, which hit that cache: what they read was written by this
// block, or by one that has synchronised with it.
GIN_HOST_DEVICE inline Credit load_credit(const RingProducer& r) {
#if defined(__CUDA_ARCH__)
  Credit c;
  if (r.shared()) {
    asm volatile("ld.relaxed.gpu.global.v2.b64 {%0, %1}, [%2];"
                 : "=l"(c.consumed), "=l"(c.error)
                 : "l"(&r.state->cached_consumed)
                 : "memory");
  } else {
    asm volatile("ld.global.v2.b64 {%0, %1}, [%2];"
                 : "=l"(c.consumed), "=l"(c.error)
                 : "l"(&r.state->cached_consumed)
                 : "memory");
  }
  return c;
#else
  return Credit{
      std::atomic_ref<std::uint64_t>(r.state->cached_consumed).load(std::memory_order_acquire),
      load_relaxed_gpu(&r.state->local_error)};
#endif
}

GIN_HOST_DEVICE inline bool covers(const RingProducer& r, const Credit& credit, std::uint64_t end) {
  return end - credit.consumed <= r.depth();
}

// Reads the consumer's index over PCIe, where nobody else does so already.  In shared rings one
// elected thread; the others watch the cached copy.
GIN_HOST_DEVICE inline void refresh_credit(const RingProducer& r) {
  if (!r.shared()) {
    r.state->cached_consumed = load_acquire_sys(&r.control->consumed);
    return;
  }
#if defined(__CUDA_ARCH__)
  // Of lanes that are together one tries (only to spare atomics; it does not matter who is there).
  unsigned below;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  if ((__activemask() & below) != 0) return;
#endif
  if (!try_elect_gpu(&r.state->refreshing)) return;
  const std::uint64_t consumed = load_acquire_sys(&r.control->consumed);
  raise_to_gpu(&r.state->cached_consumed, consumed);
  end_election_gpu(&r.state->refreshing);  // issued behind the reduction, which needs the load
}

// True when positions below `end` may be written: the consumer has copied out what their slots
// held.  The refresher's acquire pairs with the consumer's release of `consumed`, so the stores
// that follow cannot overtake the consumer's load.
GIN_HOST_DEVICE inline bool has_credit(const RingProducer& r, std::uint64_t end) {
  if (covers(r, load_credit(r), end)) return true;
  refresh_credit(r);
  return covers(r, load_credit(r), end);
}

// The rest of a shared ring is lost behind units that nobody will store.
GIN_HOST_DEVICE inline void latch(const RingProducer& r, ginResult_t code) {
  store_relaxed_gpu(&r.state->local_error, make_error_word(code));
}

// Stores a record at a reserved position that has credit.  A record may run over the ring's end:
// each unit takes the parity of its own lap.
GIN_HOST_DEVICE inline void store_record(const RingProducer& r, std::uint64_t position,
                                         const Record& record) {
  // 32 bits are enough inside a ring, and half the instructions.
  const std::uint32_t depth = 1u << r.log2_depth;
  const std::uint32_t first = static_cast<std::uint32_t>(position) & (depth - 1);
  const auto parity = static_cast<std::uint32_t>(lap_parity(position, r.log2_depth));
#if defined(__CUDA_ARCH__)
#pragma unroll  // a record indexed by a variable would not stay in registers
#endif
  for (std::uint32_t i = 0; i < kMaxUnits; ++i) {
    if (i >= record.units) break;
    const std::uint32_t beyond = (first + i) >> r.log2_depth;  // 1 in the next lap
    store_unit(&r.units[(first + i) & (depth - 1)], record.unit[i], parity ^ beyond);
  }
}

// Stores a record of a shared ring at its reserved position as soon as there is credit.  A wait
// that ends early leaves units that nobody will write, so the context is latched in error.
//
// The store is inside the loop, and must be: threads of a warp that are at different places of this
// function are brought together again only behind it.  A thread that had credit, but was held
// before its store until a neighbour with a later position has credit too, would wait for ever.
GIN_HOST_DEVICE inline ginResult_t store_when_covered(const RingProducer& r, std::uint64_t position,
                                                      const Record& record, const Credit& known,
                                                      const WaitLimits& limits) {
  const std::uint64_t end = position + record.units;
  Waiter waiter(limits);
  Credit credit = known;
  for (;;) {
    if (covers(r, credit, end)) {
      store_record(r, position, record);
      return ginSuccess;
    }
    if (credit.error != 0) return error_code(credit.error);  // the ring is lost, so is this hole
    refresh_credit(r);
    credit = load_credit(r);
    if (covers(r, credit, end)) continue;
    if (const ginResult_t stop = waiter.step(); stop != ginSuccess) {
      latch(r, stop);
      return stop;
    }
  }
}

// `end` is the end of the latest record to `peer`; later ones may have come before.
GIN_HOST_DEVICE inline void note_posted(const RingProducer& r, std::uint32_t peer,
                                        std::uint64_t end) {
  if (r.shared()) {
    raise_to_gpu(&r.last_posted[peer], end);
  } else {
    store_relaxed_gpu(&r.last_posted[peer], end);
  }
}

// A one-producer ring: nothing is reserved before there is credit, so a wait that ends early leaves
// the context usable.
GIN_HOST_DEVICE inline ginResult_t post_as_owner(const RingProducer& r, std::uint32_t peer,
                                                 const Record& record, const WaitLimits& limits,
                                                 std::uint64_t* end) {
  const Credit credit = load_credit(r);
  if (credit.error != 0) return error_code(credit.error);
  const std::uint64_t at = r.state->head;
  *end = at + record.units;
  if (!covers(r, credit, *end)) {
    Waiter waiter(limits);
    while (!has_credit(r, *end)) {
      if (const ginResult_t stop = waiter.step(); stop != ginSuccess) return stop;
    }
  }
  r.state->head = *end;
  note_posted(r, peer, *end);
  store_record(r, at, record);
  return ginSuccess;
}

// Posts one record towards `peer`, by this thread alone.  Payload must have been released before
// (fence_release_sys).
GIN_HOST_DEVICE inline ginResult_t post_alone(const RingProducer& r, std::uint32_t peer,
                                              const Record& record, const WaitLimits& limits,
                                              std::uint64_t* end) {
  if (!r.shared()) return post_as_owner(r, peer, record, limits, end);
  const Credit credit = load_credit(r);  // first: its latency hides behind that of the atomic
  const std::uint64_t at = fetch_add_gpu(&r.state->head, record.units);
  if (credit.error != 0) return error_code(credit.error);  // the ring is lost, so is this hole
  *end = at + record.units;
  note_posted(r, peer, *end);
  return store_when_covered(r, at, record, credit, limits);
}

// A thread that owns a one-producer ring: head and credit are in registers, so that a post reads no
// memory.  While it lives nobody else may post to the ring; the head is stored at every post, so
// the next one finds it.
class ThreadProducer {
 public:
  // `there`: false where r is no ring; the object must not be used then.
  GIN_HOST_DEVICE explicit ThreadProducer(const RingProducer& r, bool there = true) : r_(r) {
    if (!there) return;
    head_ = r.state->head;
    limit_ = load_credit(r).consumed + r.depth();
  }

  // As post_alone.
  GIN_HOST_DEVICE ginResult_t post(std::uint32_t peer, const Record& record,
                                   const WaitLimits& limits, std::uint64_t* end) {
    const std::uint64_t past = head_ + record.units;
    if (past > limit_) {
      Waiter waiter(limits);
      while (!has_credit(r_, past)) {
        if (const ginResult_t stop = waiter.step(); stop != ginSuccess) return stop;
      }
      limit_ = load_credit(r_).consumed + r_.depth();
    }
    *end = past;
    note_posted(r_, peer, past);
    store_record(r_, head_, record);
    head_ = past;
    r_.state->head = past;
    return ginSuccess;
  }

 private:
  const RingProducer& r_;
  std::uint64_t head_ = 0;
  std::uint64_t limit_ = 0;  // positions below it may be written
};

}  // namespace gin::queues

#include "gin/queues/warp_post.h"

namespace gin::queues {

// Posts one record towards `peer`.  On the GPU, lanes of a warp that post to one shared ring at the
// same moment share one reservation.
GIN_HOST_DEVICE inline ginResult_t post(const RingProducer& r, std::uint32_t peer,
                                        const Record& record, const WaitLimits& limits,
                                        std::uint64_t* end) {
#if defined(__CUDA_ARCH__)
  if (r.shared()) return post_with_neighbours(r, peer, record, limits, end);
#endif
  return post_alone(r, peer, record, limits, end);
}

}  // namespace gin::queues
