// SPDX-License-Identifier: Apache-2.0
// How the poster learns of completion: flush by position, counters, signals.
#pragma once

#include "gin/queues/producer.h"
#include "gin/queues/segment.h"
#include "gin/queues/wait.h"

namespace gin::queues {

// Rolling comparison: true when `value` has reached `least`, in the low `bits` bits, wherever the
// word wraps; the two must be less than half the range apart.
// @source NCCL device API, ncclGin::waitSignal
GIN_HOST_DEVICE constexpr bool reached(std::uint64_t value, std::uint64_t least, unsigned bits) {
  const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  return ((value - least) & mask) <= mask / 2;
}

inline constexpr unsigned kCounterBits = 56;

// State of one peer against a target position: 1 complete, 0 not yet, -1 in error.
GIN_HOST_DEVICE inline int done_state(const std::uint64_t* done, std::uint64_t target,
                                      ginResult_t* error) {
  const std::uint64_t d = load_acquire_sys(done);
  if (d & kDoneError) {
    *error = error_code(d & 0xffff);
    return -1;
  }
  return d >= target ? 1 : 0;
}

// Where a flush stood when it failed.
struct FlushReport {
  std::uint32_t peer = 0;
  std::uint64_t wanted = 0;
  std::uint64_t seen = 0;
};

// Waits until every operation to `peer` whose record ends at `target` or before is locally
// complete; target 0: none was posted.
GIN_HOST_DEVICE inline ginResult_t flush_to(const std::uint64_t* done, std::uint32_t peer,
                                            std::uint64_t target, const WaitLimits& limits,
                                            FlushReport* report = nullptr) {
  if (target == 0) return ginSuccess;
  Waiter waiter(limits, Pace::kBus);
  for (;;) {
    ginResult_t stop = ginSuccess;
    const int s = done_state(&done[peer], target, &stop);
    if (s > 0) return ginSuccess;
    if (s == 0) stop = waiter.step();
    if (stop == ginSuccess) continue;
    if (report != nullptr) *report = FlushReport{peer, target, load_relaxed_sys(&done[peer])};
    return stop;
  }
}

// Waits until every operation posted before to `peer` is locally complete.
GIN_HOST_DEVICE inline ginResult_t flush_peer(const RingProducer& r, const std::uint64_t* done,
                                              std::uint32_t peer, const WaitLimits& limits,
                                              FlushReport* report = nullptr) {
  return flush_to(done, peer, load_relaxed_gpu(&r.last_posted[peer]), limits, report);
}

// True when a wait ended for a reason that has nothing to do with one peer.
GIN_HOST_DEVICE constexpr bool ends_all(ginResult_t result) {
  return result == ginTimeout || result == ginAborted || result == ginDaemonLost;
}

// Waits until every operation posted before is locally complete.  One look at done_all, then the
// peers one by one, so that a dead peer blocks nobody else; its error is returned at the end.
GIN_HOST_DEVICE inline ginResult_t flush_all(const RingProducer& r, const std::uint64_t* done,
                                             std::uint32_t ranks, const WaitLimits& limits,
                                             FlushReport* report = nullptr) {
  if (load_acquire_sys(&r.control->done_all) >= load_relaxed_gpu(&r.state->head)) return ginSuccess;
  ginResult_t result = ginSuccess;
  for (std::uint32_t p = 0; p < ranks; ++p) {
    FlushReport where;
    const ginResult_t one = flush_peer(r, done, p, limits, &where);
    if (one == ginSuccess) continue;
    if (report != nullptr && (result == ginSuccess || ends_all(one))) *report = where;
    if (ends_all(one)) return one;
    if (result == ginSuccess) result = one;
  }
  return result;
}

}  // namespace gin::queues
