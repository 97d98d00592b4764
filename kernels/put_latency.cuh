// SPDX-License-Identifier: Apache-2.0
// Ping-pong of put + signal between two ranks.
#pragma once

#include "gin/device.cuh"

namespace gin::kernels {

struct PutLatencyPlan {
  int context = 0;
  int peer = 0;
  bool starts = false;  // exactly one of the two ranks does
  ginWindow_t window{};
  char* memory = nullptr;  // the window's local memory
  // Offsets, the same on both ranks; each pair is used in turn.
  std::uint64_t receive_at[2] = {0, 0};
  std::uint64_t send_at[2] = {0, 0};
  std::uint64_t bytes = 0;
  std::uint64_t iterations = 0;
  ginSignal_t signal = 0;
  std::uint64_t signal_before = 0;  // its value before the run; the peer may be ahead already
  ginCounter_t counter = 0;
  bool own = false;     // the context is this thread's alone: post through a session
  bool stamped = true;  // messages carry their number, checked on arrival
  std::uint64_t* round_trip_ns = nullptr;  // [iterations], of the rank that starts
  ginWaitOptions options{};
};

struct PutLatencyOutcome {
  ginResult_t result = ginSuccess;
  std::uint64_t wrong = 0;  // messages whose signal came without their data
};

// The message's number in its first 8 bytes and in the last 8 of what is left: both ends.
struct StampPlaces {
  std::uint64_t first, last;  // bytes
  GIN_HOST_DEVICE explicit StampPlaces(std::uint64_t bytes)
      : first(bytes < 8 ? bytes : 8), last(bytes - first < 8 ? bytes - first : 8) {}
};
// Whole words where they are aligned: to a GPU each access of host memory is a trip over the bus.
GIN_HOST_DEVICE inline bool is_word(const char* at, std::uint64_t bytes) {
  return bytes == 8 && reinterpret_cast<std::uintptr_t>(at) % 8 == 0;
}
GIN_HOST_DEVICE inline void store_number(char* at, std::uint64_t bytes, std::uint64_t number) {
  if (is_word(at, bytes)) {
    *reinterpret_cast<std::uint64_t*>(at) = number;
  } else {
    memcpy(at, &number, bytes);
  }
}
GIN_HOST_DEVICE inline bool holds_number(const char* at, std::uint64_t bytes,
                                         std::uint64_t number) {
  std::uint64_t found = number;
  if (is_word(at, bytes)) {
    found = *reinterpret_cast<const volatile std::uint64_t*>(at);
  } else {
    memcpy(&found, at, bytes);
  }
  return found == number;
}
GIN_HOST_DEVICE inline void stamp(char* at, std::uint64_t bytes, std::uint64_t number) {
  const StampPlaces n(bytes);
  store_number(at, n.first, number);
  store_number(at + bytes - n.last, n.last, number);
}
GIN_HOST_DEVICE inline bool has_stamp(const char* at, std::uint64_t bytes, std::uint64_t number) {
  const StampPlaces n(bytes);
  return holds_number(at, n.first, number) && holds_number(at + bytes - n.last, n.last, number);
}

template <typename Poster>
GIN_HOST_DEVICE inline PutLatencyOutcome put_latency_by(const ginDevComm_t& comm,
                                                        const ginContext& ctx, const Poster& poster,
                                                        const PutLatencyPlan& plan) {
  const ginTeam_t world = ginTeamWorld(comm);
  const std::uint64_t sent = ctx.readCounter(plan.counter);
  PutLatencyOutcome outcome;

  // The source was last used two messages ago; the answer to that one has come since.
  const auto send = [&](std::uint64_t i) {
    const std::uint64_t from = plan.send_at[i % 2];
    if (plan.stamped) stamp(plan.memory + from, plan.bytes, i);
    return poster.put(world, plan.peer, plan.window, plan.receive_at[i % 2], plan.window, from,
                      plan.bytes, ginSignalInc{plan.signal}, ginCounterInc{plan.counter},
                      ginCoopThread{}, plan.stamped ? ginFenceDefault : ginAlreadyReleased,
                      plan.options);
  };
  const auto receive = [&](std::uint64_t i) {
    return ctx.waitSignal(ginCoopThread{}, plan.signal, plan.signal_before + i + 1, 64,
                          plan.options);
  };

  for (std::uint64_t i = 0; i < plan.iterations && outcome.result == ginSuccess; ++i) {
    const std::uint64_t began = gin::queues::now_ns();
    outcome.result = plan.starts ? send(i) : receive(i);
    if (outcome.result != ginSuccess) break;
    outcome.result = plan.starts ? receive(i) : send(i);
    if (plan.round_trip_ns != nullptr) plan.round_trip_ns[i] = gin::queues::now_ns() - began;
    // Behind the answer, so that the look costs no latency.  The place is written again only after
    // the next message of ours.
    if (outcome.result == ginSuccess && plan.stamped &&
        !has_stamp(plan.memory + plan.receive_at[i % 2], plan.bytes, i)) {
      ++outcome.wrong;
    }
  }
  if (outcome.result == ginSuccess) outcome.result = ctx.flush(ginCoopThread{}, plan.options);
  if (outcome.result == ginSuccess) {
    // Complete by the flush, so the counter has all or never will.
    outcome.result =
        ctx.waitCounter(ginCoopThread{}, plan.counter, sent + plan.iterations, 56, plan.options);
  }
  return outcome;
}

// One thread of each of the two ranks runs it.
GIN_HOST_DEVICE inline PutLatencyOutcome put_latency(const ginDevComm_t& comm,
                                                     const PutLatencyPlan& plan) {
  const ginContext ctx{comm, plan.context};
  if (!plan.own) return put_latency_by(comm, ctx, ctx, plan);
  const ginThreadSession session{ctx};
  return put_latency_by(comm, ctx, session, plan);
}

}  // namespace gin::kernels
