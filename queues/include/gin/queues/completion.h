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

// Waits until every operation posted before to `peer` is locally complete.
GIN_HOST_DEVICE inline ginResult_t flush_peer(const RingProducer& r, const std::uint64_t* done,
                                              std::uint32_t peer, const WaitLimits& limits) {
  const std::uint64_t target = load_relaxed_gpu(&r.last_posted[peer]);
  Waiter waiter(limits, Pace::kBus);
  for (;;) {
    ginResult_t error = ginSuccess;
    const int s = target == 0 ? 1 : done_state(&done[peer], target, &error);
    if (s > 0) return ginSuccess;
    if (s < 0) return error;
    if (const ginResult_t stop = waiter.step(); stop != ginSuccess) return stop;
  }
}

// Waits until every operation posted before is locally complete.  One look at done_all, then the
// peers one by one, so that a dead peer blocks nobody else; its error is returned at the end.
GIN_HOST_DEVICE inline ginResult_t flush_all(const RingProducer& r, const std::uint64_t* done,
                                             std::uint32_t ranks, const WaitLimits& limits) {
  if (load_acquire_sys(&r.control->done_all) >= load_relaxed_gpu(&r.state->head)) return ginSuccess;
  ginResult_t result = ginSuccess;
  for (std::uint32_t p = 0; p < ranks; ++p) {
    const ginResult_t one = flush_peer(r, done, p, limits);
    if (one == ginTimeout || one == ginAborted || one == ginDaemonLost) return one;
    if (one != ginSuccess && result == ginSuccess) result = one;
  }
  return result;
}

}  // namespace gin::queues
