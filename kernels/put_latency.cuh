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
  char* memory = nullptr;             // the window's local memory
  std::uint64_t receive_at = 0;       // offset of the peer's messages, the same on both ranks
  std::uint64_t send_at[2] = {0, 0};  // sources, used in turn
  std::uint64_t bytes = 0;
  std::uint64_t iterations = 0;
  ginSignal_t signal = 0;
  std::uint64_t signal_before = 0;  // its value before the run; the peer may be ahead already
  ginCounter_t counter = 0;
  bool stamped = true;                     // messages carry their number, checked on arrival
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
GIN_HOST_DEVICE inline void stamp(char* at, std::uint64_t bytes, std::uint64_t number) {
  const StampPlaces n(bytes);
  memcpy(at, &number, n.first);
  memcpy(at + bytes - n.last, &number, n.last);
}
GIN_HOST_DEVICE inline bool has_stamp(const char* at, std::uint64_t bytes, std::uint64_t number) {
  const StampPlaces n(bytes);
  std::uint64_t first = number;
  std::uint64_t last = number;
  memcpy(&first, at, n.first);
  memcpy(&last, at + bytes - n.last, n.last);
  return first == number && last == number;
}

// One thread of each of the two ranks runs it.
GIN_HOST_DEVICE inline PutLatencyOutcome put_latency(const ginDevComm_t& comm,
                                                     const PutLatencyPlan& plan) {
  const ginContext ctx{comm, plan.context};
  const ginTeam_t world = ginTeamWorld(comm);
  const std::uint64_t sent = ctx.readCounter(plan.counter);
  PutLatencyOutcome outcome;

  const auto send = [&](std::uint64_t i) {
    const std::uint64_t from = plan.send_at[i % 2];
    if (i >= 2) {  // the source's last put has been read: true since its answer came, but stated
      const ginResult_t r =
          ctx.waitCounter(ginCoopThread{}, plan.counter, sent + i - 1, 56, plan.options);
      if (r != ginSuccess) return r;
    }
    if (plan.stamped) stamp(plan.memory + from, plan.bytes, i);
    return ctx.put(world, plan.peer, plan.window, plan.receive_at, plan.window, from, plan.bytes,
                   ginSignalInc{plan.signal}, ginCounterInc{plan.counter}, ginCoopThread{},
                   ginFenceDefault, plan.options);
  };
  const auto receive = [&](std::uint64_t i) {
    const ginResult_t r =
        ctx.waitSignal(ginCoopThread{}, plan.signal, plan.signal_before + i + 1, 64, plan.options);
    if (r == ginSuccess && plan.stamped &&
        !has_stamp(plan.memory + plan.receive_at, plan.bytes, i)) {
      ++outcome.wrong;
    }
    return r;
  };

  for (std::uint64_t i = 0; i < plan.iterations && outcome.result == ginSuccess; ++i) {
    const std::uint64_t began = gin::queues::now_ns();
    outcome.result = plan.starts ? send(i) : receive(i);
    if (outcome.result != ginSuccess) break;
    outcome.result = plan.starts ? receive(i) : send(i);
    if (plan.round_trip_ns != nullptr) plan.round_trip_ns[i] = gin::queues::now_ns() - began;
  }
  if (outcome.result == ginSuccess) outcome.result = ctx.flush(ginCoopThread{}, plan.options);
  return outcome;
}

}  // namespace gin::kernels
