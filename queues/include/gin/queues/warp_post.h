// SPDX-License-Identifier: Apache-2.0
// Posts of several lanes of a warp at once: one reservation for all, and stores by which
// neighbouring lanes fill whole lines of the ring.  Device only; include producer.h.
#pragma once

#include "gin/queues/producer.h"

#if defined(__CUDACC__)
namespace gin::queues {

inline constexpr unsigned kFullWarp = 0xffffffffu;

GIN_DEVICE inline unsigned lanes_below() {
  unsigned mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}

// How all lanes of the warp share a reservation.
struct WarpShare {
  std::uint32_t before;  // units of the lower lanes
  std::uint32_t total;
  bool uniform;  // all records have the same number of units
};

// units: 0 .. 4, so three ballots count them.
GIN_DEVICE inline WarpShare share_units(std::uint32_t units) {
  const unsigned below = lanes_below();
  WarpShare s{0, 0, true};
#pragma unroll
  for (unsigned bit = 0; bit < 3; ++bit) {
    const unsigned have = __ballot_sync(kFullWarp, (units >> bit & 1) != 0);
    s.before += static_cast<std::uint32_t>(__popc(have & below)) << bit;
    s.total += static_cast<std::uint32_t>(__popc(have)) << bit;
    s.uniform = s.uniform && (have == 0 || have == kFullWarp);
  }
  return s;
}

// Stores the records of all 32 lanes, each of N units, at base + N * lane.  In each of N rounds the
// warp fills 512 consecutive bytes, so that whole lines go out at once.
template <std::uint32_t N>
GIN_DEVICE inline void store_whole_lines(const RingProducer& r, std::uint64_t base,
                                         std::uint32_t lane, const Record& record) {
  const std::uint64_t index_mask = r.depth() - 1;
#pragma unroll
  for (std::uint32_t round = 0; round < N; ++round) {
    const std::uint32_t index = round * 32 + lane;
    const std::uint32_t from = index / N;
    const std::uint32_t which = index % N;
    Unit mine{};
#pragma unroll
    for (std::uint32_t i = 0; i < N; ++i) {
      const std::uint64_t lo = __shfl_sync(kFullWarp, record.unit[i].lo, static_cast<int>(from));
      const std::uint64_t hi = __shfl_sync(kFullWarp, record.unit[i].hi, static_cast<int>(from));
      if (which == i) mine = Unit{lo, hi};
    }
    const std::uint64_t at = base + index;
    store_unit(&r.units[at & index_mask], mine, lap_parity(at, r.log2_depth));
  }
}

GIN_DEVICE inline void store_whole_lines(const RingProducer& r, std::uint64_t base,
                                         const Record& record) {
  const auto lane = static_cast<std::uint32_t>(__popc(lanes_below()));
  switch (record.units) {
    case 2:
      return store_whole_lines<2>(r, base, lane, record);
    case 3:
      return store_whole_lines<3>(r, base, lane, record);
    case 4:
      return store_whole_lines<4>(r, base, lane, record);
    default:
      return store_record(r, base + lane, record);
  }
}

// All 32 lanes: waits for credit below `end`.  The lane whose own limits are reached first ends the
// wait for all, as their units are one reservation.
GIN_DEVICE inline ginResult_t await_credit_of_warp(const RingProducer& r, std::uint64_t end,
                                                   const WaitLimits& limits) {
  Waiter waiter(limits);
  for (;;) {
    const Credit credit = load_credit(r);
    // Votes, not each lane's own load: all must take the same way out.
    if (__any_sync(kFullWarp, covers(r, credit, end))) return ginSuccess;
    const ginResult_t stop = credit.error != 0 ? error_code(credit.error) : waiter.step();
    const unsigned stopped = __ballot_sync(kFullWarp, stop != ginSuccess);
    if (stopped != 0) {
      const int first = __ffs(static_cast<int>(stopped)) - 1;
      return static_cast<ginResult_t>(__shfl_sync(kFullWarp, static_cast<int>(stop), first));
    }
    if (lanes_below() == 0) refresh_credit(r);
    __syncwarp(kFullWarp);
  }
}

// Posts of lanes that happen to be together here.
//
// Who is together is only a snapshot: lanes of another snapshot may join the same instructions at
// any time, and a vote would then count theirs, too.  So after the lanes have been matched into
// groups nothing is voted on: a group's reservation comes by shuffle from its first lane, and then
// each lane is on its own.  Only a group of all 32 lanes, which nobody else can join, stores
// together.
GIN_DEVICE inline ginResult_t post_with_neighbours(const RingProducer& r, std::uint32_t peer,
                                                   const Record& record, const WaitLimits& limits,
                                                   std::uint64_t* end) {
  const unsigned active = __activemask();
  if ((active & (active - 1)) == 0) return post_alone(r, peer, record, limits, end);
  // Those with a record of as many units for the same ring (states are 128-byte aligned).
  const unsigned group =
      __match_any_sync(active, reinterpret_cast<std::uint64_t>(r.state) | record.units);
  const std::uint32_t total = static_cast<std::uint32_t>(__popc(group)) * record.units;
  if (total > r.depth()) return post_alone(r, peer, record, limits, end);
  const int first = __ffs(static_cast<int>(group)) - 1;
  const int last = 31 - __clz(static_cast<int>(group));
  const Credit credit = load_credit(r);  // first: its latency hides behind that of the atomic
  std::uint64_t base = 0;
  if ((group & lanes_below()) == 0) base = fetch_add_gpu(&r.state->head, total);
  base = __shfl_sync(group, base, first);
  const std::uint32_t last_peer = __shfl_sync(group, peer, last);
  const std::uint64_t at =
      base + static_cast<std::uint32_t>(__popc(group & lanes_below())) * record.units;
  *end = at + record.units;
  // The last lane's end is the highest: it speaks for all to the same peer.
  if (peer != last_peer || (group & ~lanes_below()) == 1u << last) note_posted(r, peer, *end);
  if (group != kFullWarp) {
    if (credit.error != 0) return error_code(credit.error);  // the ring is lost, so is this hole
    return store_when_covered(r, at, record, credit, limits);
  }
  if (const unsigned lost = __ballot_sync(kFullWarp, credit.error != 0); lost != 0) {
    const int one = __ffs(static_cast<int>(lost)) - 1;
    return error_code(__shfl_sync(kFullWarp, credit.error, one));
  }
  if (!__any_sync(kFullWarp, covers(r, credit, base + total))) {
    const ginResult_t stop = await_credit_of_warp(r, base + total, limits);
    if (stop != ginSuccess) {
      if (lanes_below() == 0) latch(r, stop);
      return stop;
    }
  }
  store_whole_lines(r, base, record);
  return ginSuccess;
}

// A warp that owns a one-producer ring: its lanes post together, and the head is in a register.
// While it lives nobody else may post to the ring.
class WarpProducer {
 public:
  // All 32 lanes.  `there`: false where r is no ring; the object must not be used then.
  GIN_DEVICE explicit WarpProducer(const RingProducer& r, bool there = true) : r_(r) {
    if (!there) return;
    head_ = r.state->head;
    limit_ = load_credit(r).consumed + r.depth();
  }

  // All 32 lanes; those with active == false bring nothing.  The result is the same for all.
  GIN_DEVICE ginResult_t post(bool active, std::uint32_t peer, const Record& record,
                              const WaitLimits& limits, std::uint64_t* end) {
    const WarpShare share = share_units(active ? record.units : 0);
    const std::uint64_t past = head_ + share.total;
    if (past > limit_) {
      if (share.total > r_.depth()) return ginLimitExceeded;
      const ginResult_t res = await_credit_of_warp(r_, past, limits);
      if (res != ginSuccess) return res;
      limit_ = __shfl_sync(kFullWarp, load_credit(r_).consumed, 0) + r_.depth();
      // What one lane saw may be newer than what lane 0 loads now, by no more than was needed.
      if (limit_ < past) limit_ = past;
    }
    *end = head_ + share.before + record.units;
    // Uniform is what three ballots found of all lanes, idle ones included.
    if (share.uniform && share.total != 0) {
      store_whole_lines(r_, head_, record);
    } else if (active) {
      store_record(r_, head_ + share.before, record);
    }
    note_highest(active, peer, *end);
    head_ = past;
    if (lanes_below() == 0) r_.state->head = past;
    return ginSuccess;
  }

 private:
  // Of several lanes' records to one peer the highest end must stay.
  GIN_DEVICE void note_highest(bool active, std::uint32_t peer, std::uint64_t end) {
    const unsigned to_same = __match_any_sync(kFullWarp, active ? peer : ~0u);
    const unsigned above = to_same & ~lanes_below() & ~(1u << __popc(lanes_below()));
    if (active && above == 0) store_relaxed_gpu(&r_.last_posted[peer], end);
  }

  const RingProducer& r_;
  std::uint64_t head_ = 0;
  std::uint64_t limit_ = 0;  // positions below it may be written
};

}  // namespace gin::queues
#endif
