// SPDX-License-Identifier: Apache-2.0
// The ring alone: threads post records whose content tells poster and order, and nothing else
// happens.  What the ring costs, and whether it keeps every record whole and in its thread's order.
#pragma once

#include "gin/queues/producer.h"

namespace gin::kernels {

enum class PostMode : std::uint8_t {
  kTogether,  // as the device functions do in shared contexts: neighbours share a reservation
  kAlone,     // shared ring, each thread reserves for itself
  kOwn,       // one-producer rings, one thread each, which reads its state at each post
  kSession,   // the same with the state in registers (ThreadProducer)
  kWarp,      // one-producer rings, one warp each (WarpProducer)
};

inline constexpr std::uint64_t kStreamThreads = 1u << 20;
inline constexpr std::uint64_t kStreamRecords = std::uint64_t{1} << 36;  // of one thread

// Unit `index` of record `number` of `thread`.  Both halves of each unit tell thread and number,
// and differ from those of its neighbours; few instructions, for they are measured too.
GIN_HOST_DEVICE inline queues::Unit stream_unit(std::uint32_t thread, std::uint64_t number,
                                                std::uint32_t units, std::uint32_t index) {
  const std::uint64_t first =
      std::uint64_t{units - 1} << 4 | std::uint64_t{thread} << 6 | number << 26;
  const std::uint64_t mine = 0x1234567812345678u * index;
  return queues::Unit{first ^ (mine & queues::kPayloadMask),
                      first ^ ((mine ^ 0x5a5a5a5a5a5a5a5au) & queues::kPayloadMask)};
}
GIN_HOST_DEVICE inline std::uint32_t stream_thread(const queues::Unit& first) {
  return static_cast<std::uint32_t>(queues::bits::get(first.lo, 6, 20));
}
GIN_HOST_DEVICE inline std::uint64_t stream_number(const queues::Unit& first) {
  return queues::bits::get(first.lo, 26, 37);
}

template <std::uint32_t Units>
GIN_HOST_DEVICE inline queues::Record stream_record(std::uint32_t thread, std::uint64_t number) {
  queues::Record record{};
  record.units = Units;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (std::uint32_t i = 0; i < Units; ++i) {
    record.unit[i] = stream_unit(thread, number, Units, i);
  }
  return record;
}

// The part of one thread.
template <std::uint32_t Units, PostMode Mode>
GIN_HOST_DEVICE inline ginResult_t stream_to_ring(const queues::RingProducer& ring,
                                                  std::uint32_t thread, std::uint64_t records,
                                                  const queues::WaitLimits& limits) {
  std::uint64_t end = 0;
  queues::ThreadProducer session(ring);
  for (std::uint64_t i = 0; i < records; ++i) {
    const queues::Record record = stream_record<Units>(thread, i);
    const ginResult_t r = Mode == PostMode::kTogether ? queues::post(ring, 0, record, limits, &end)
                          : Mode == PostMode::kSession
                              ? session.post(0, record, limits, &end)
                              : queues::post_alone(ring, 0, record, limits, &end);
    if (r != ginSuccess) return r;
  }
  return ginSuccess;
}

#if defined(__CUDACC__)
// The same for all lanes of a warp that owns the ring.
template <std::uint32_t Units>
GIN_DEVICE inline ginResult_t stream_by_warp(const queues::RingProducer& ring, std::uint32_t thread,
                                             std::uint64_t records,
                                             const queues::WaitLimits& limits) {
  queues::WarpProducer warp(ring);
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < records; ++i) {
    const ginResult_t r = warp.post(true, 0, stream_record<Units>(thread, i), limits, &end);
    if (r != ginSuccess) return r;
  }
  return ginSuccess;
}
#endif

// One thread: post, wait until the consumer's answer is back; how long each took.
GIN_HOST_DEVICE inline ginResult_t ring_round_trips(const queues::RingProducer& ring,
                                                    const std::uint64_t* answer,
                                                    std::uint64_t trips, std::uint64_t* took_ns,
                                                    const queues::WaitLimits& limits) {
  std::uint64_t end = 0;
  queues::ThreadProducer session(ring);
  for (std::uint64_t i = 0; i < trips; ++i) {
    const std::uint64_t began = queues::now_ns();
    ginResult_t r = session.post(0, stream_record<1>(0, i), limits, &end);
    queues::Waiter waiter(limits, queues::Pace::kBus);
    while (r == ginSuccess && queues::load_acquire_sys(answer) < i + 1) r = waiter.step();
    if (r != ginSuccess) return r;
    took_ns[i] = queues::now_ns() - began;
  }
  return ginSuccess;
}

}  // namespace gin::kernels
