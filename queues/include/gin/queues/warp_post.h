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

// How the lanes of `group` share a reservation.
struct WarpShare {
  std::uint32_t before;  // units of the group's lower lanes
  std::uint32_t total;
  bool uniform;  // all records have the same number of units
};

// units: 1 .. 4, so three ballots count them.
GIN_DEVICE inline WarpShare share_units(unsigned group, std::uint32_t units) {
  const unsigned below = lanes_below();
  WarpShare s{0, 0, true};
#pragma unroll
  for (unsigned bit = 0; bit < 3; ++bit) {
    const unsigned have = __ballot_sync(group, (units >> bit & 1) != 0);
    s.before += static_cast<std::uint32_t>(__popc(have & below)) << bit;
    s.total += static_cast<std::uint32_t>(__popc(have)) << bit;
    s.uniform = s.uniform && (have == 0 || have == group);
  }
  return s;
}

// Waits, all lanes of the group together, for credit below `end`.  The lane whose own limits are
// reached first ends the wait for all: their units are one reservation.
GIN_DEVICE inline ginResult_t await_credit_together(const RingProducer& r, unsigned group,
                                                    bool leader, std::uint64_t end,
                                                    const WaitLimits& limits) {
  Waiter waiter(limits);
  for (;;) {
    if (leader) has_credit(r, end);  // reads host memory where nobody else does
    __syncwarp(group);
    const Credit credit = load_credit(r);
    const bool have = credit.error == 0 && covers(r, credit, end);
    // One vote, not each lane's own load: all must take the same way out.
    if (__any_sync(group, have)) return ginSuccess;
    const ginResult_t stop = credit.error != 0 ? error_code(credit.error) : waiter.step();
    const unsigned stopped = __ballot_sync(group, stop != ginSuccess);
    if (stopped == 0) continue;
    const int first = __ffs(static_cast<int>(stopped)) - 1;
    const auto code = static_cast<ginResult_t>(__shfl_sync(group, static_cast<int>(stop), first));
    if (leader && r.shared() && credit.error == 0) latch(r, code);
    return code;
  }
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

// Stores each lane's record at base + share.before.
GIN_DEVICE inline void store_together(const RingProducer& r, unsigned group, std::uint64_t base,
                                      const WarpShare& share, const Record& record) {
  if (group == kFullWarp && share.uniform) {
    const auto lane = static_cast<std::uint32_t>(__popc(lanes_below()));
    if (share.total == 64) return store_whole_lines<2>(r, base, lane, record);
    if (share.total == 96) return store_whole_lines<3>(r, base, lane, record);
    if (share.total == 128) return store_whole_lines<4>(r, base, lane, record);
  }
  store_record(r, base + share.before, record);
}

// The lanes that are together here, each with a record for the same or another ring.
GIN_DEVICE inline ginResult_t post_with_neighbours(const RingProducer& r, std::uint32_t peer,
                                                   const Record& record, const WaitLimits& limits,
                                                   std::uint64_t* end) {
  const unsigned active = __activemask();
  if ((active & (active - 1)) == 0) return post_alone(r, peer, record, limits, end);
  const auto ring = reinterpret_cast<std::uint64_t>(r.state);
  int same = 0;
  unsigned group = __match_all_sync(active, ring, &same);
  if (same == 0) group = __match_any_sync(active, ring);
  const WarpShare share = share_units(group, record.units);
  const bool leader = (group & lanes_below()) == 0;
  if (share.total > r.depth()) {
    // More than the ring ever has room for: one lane after the other.
    ginResult_t result = ginSuccess;
    for (unsigned left = group; left != 0; left &= left - 1) {
      if ((left & lanes_below()) == 0 && (left >> __popc(lanes_below()) & 1) != 0) {
        result = post_alone(r, peer, record, limits, end);
      }
      __syncwarp(group);
    }
    return result;
  }
  const Credit credit = load_credit(r);  // first: its latency hides behind that of the atomic
  std::uint64_t base = 0;
  if (leader) base = fetch_add_gpu(&r.state->head, share.total);
  const int first = __ffs(static_cast<int>(group)) - 1;
  base = __shfl_sync(group, base, first);
  // The lanes' loads may differ; they go on together, with or without credit.
  const bool enough = credit.error == 0 && covers(r, credit, base + share.total);
  if (!__any_sync(group, enough)) {
    const ginResult_t res = await_credit_together(r, group, leader, base + share.total, limits);
    if (res != ginSuccess) return res;
  }
  *end = base + share.before + record.units;
  int one_peer = 0;
  __match_all_sync(group, peer, &one_peer);
  const bool last = (group & ~lanes_below() & ~(1u << __popc(lanes_below()))) == 0;
  if (one_peer == 0 || last) note_posted(r, peer, *end);
  store_together(r, group, base, share, record);
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
    const WarpShare share = share_units(kFullWarp, active ? record.units : 0);
    const std::uint64_t past = head_ + share.total;
    if (past > limit_) {
      if (share.total > r_.depth()) return ginLimitExceeded;
      const bool leader = lanes_below() == 0;
      const ginResult_t res = await_credit_together(r_, kFullWarp, leader, past, limits);
      if (res != ginSuccess) return res;
      limit_ = __shfl_sync(kFullWarp, load_credit(r_).consumed, 0) + r_.depth();
      // What one lane saw may be newer than what lane 0 loads now, by no more than was needed.
      if (limit_ < past) limit_ = past;
    }
    *end = head_ + share.before + record.units;
    // Uniform is what three ballots found of all lanes, idle ones included.
    if (share.uniform && share.total != 0) {
      store_together(r_, kFullWarp, head_, share, record);
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
