// SPDX-License-Identifier: Apache-2.0
// A stream of puts in one direction with a bounded number in flight: bandwidth and message rate.
#pragma once

#include "gin/device.cuh"

namespace gin::kernels {

struct PutStreamPlan {
  int context = 0;
  int peer = 0;
  ginWindow_t window{};
  std::uint64_t receive_at = 0;  // slot s lies at receive_at + s * stride, the same on both ranks
  std::uint64_t send_at = 0;
  std::uint64_t stride = 0;
  std::uint64_t slots = 1;
  std::uint64_t bytes = 0;
  std::uint64_t iterations = 0;   // at most
  std::uint64_t duration_ns = 0;  // 0: no limit of time
  std::uint64_t depth = 1;        // puts in flight
  bool own = false;               // the context is this thread's alone: post through a session
  ginCounter_t counter = 0;
  ginSignal_t finish = 0;           // gets the number of puts, behind all of them
  std::uint64_t finish_before = 0;  // the receiver's: its value before the stream began
  ginSignal_t acknowledge = 0;      // the peer's answer, adds 1
  ginWaitOptions options{};
};

struct PutStreamOutcome {
  ginResult_t result = ginSuccess;
  std::uint64_t puts = 0;
  std::uint64_t began_ns = 0;
  std::uint64_t ended_ns = 0;           // when the peer's acknowledgement came
  std::uint64_t fastest_window_ns = 0;  // least time for `depth` completions; 0: fewer than that
};

template <typename Poster>
GIN_HOST_DEVICE inline PutStreamOutcome put_stream_by(const ginDevComm_t& comm,
                                                      const ginContext& ctx, const Poster& poster,
                                                      const PutStreamPlan& plan) {
  const ginTeam_t world = ginTeamWorld(comm);
  const std::uint64_t completed = ctx.readCounter(plan.counter);
  const std::uint64_t answers = ctx.readSignal(plan.acknowledge);
  PutStreamOutcome out;
  std::uint64_t slot = 0;
  std::uint64_t window_began = 0;
  std::uint64_t done = 0;  // puts known to be complete
  out.began_ns = gin::queues::now_ns();

  for (std::uint64_t i = 0; i < plan.iterations; ++i) {
    if (i >= done + plan.depth) {
      out.result = ctx.waitCounter(ginCoopThread{}, plan.counter, completed + i - plan.depth + 1,
                                   56, plan.options);
      if (out.result != ginSuccess) return out;
      done = (ctx.readCounter(plan.counter) - completed) & ((std::uint64_t{1} << 56) - 1);
    }
    if (i % plan.depth == 0) {
      const std::uint64_t now = gin::queues::now_ns();
      const std::uint64_t took = now - window_began;
      if (i >= 2 * plan.depth && (out.fastest_window_ns == 0 || took < out.fastest_window_ns)) {
        out.fastest_window_ns = took;
      }
      window_began = now;
      if (plan.duration_ns != 0 && now - out.began_ns >= plan.duration_ns) break;
    }
    const std::uint64_t at = slot * plan.stride;
    out.result =
        poster.put(world, plan.peer, plan.window, plan.receive_at + at, plan.window,
                   plan.send_at + at, plan.bytes, ginNoRemoteAction{}, ginCounterInc{plan.counter},
                   ginCoopThread{}, ginAlreadyReleased, plan.options);
    if (out.result != ginSuccess) return out;
    ++out.puts;
    slot = slot + 1 == plan.slots ? 0 : slot + 1;
  }
  out.result = poster.signal(world, plan.peer, ginSignalAdd{plan.finish, out.puts}, ginCoopThread{},
                             plan.options);
  if (out.result != ginSuccess) return out;
  out.result = ctx.waitSignal(ginCoopThread{}, plan.acknowledge, answers + 1, 64, plan.options);
  out.ended_ns = gin::queues::now_ns();
  if (out.result == ginSuccess) out.result = ctx.flush(ginCoopThread{}, plan.options);
  return out;
}

// One thread of the sending rank runs it; the receiving rank runs put_stream_receive.
GIN_HOST_DEVICE inline PutStreamOutcome put_stream(const ginDevComm_t& comm,
                                                   const PutStreamPlan& plan) {
  const ginContext ctx{comm, plan.context};
  if (!plan.own) return put_stream_by(comm, ctx, ctx, plan);
  const ginThreadSession session{ctx};
  return put_stream_by(comm, ctx, session, plan);
}

// Waits for the end of one stream, acknowledges it, and tells how many puts it had.
GIN_HOST_DEVICE inline PutStreamOutcome put_stream_receive(const ginDevComm_t& comm,
                                                           const PutStreamPlan& plan) {
  const ginContext ctx{comm, plan.context};
  PutStreamOutcome out;
  out.result =
      ctx.waitSignal(ginCoopThread{}, plan.finish, plan.finish_before + 1, 64, plan.options);
  if (out.result != ginSuccess) return out;
  out.puts = ctx.readSignal(plan.finish) - plan.finish_before;
  out.result = ctx.signal(ginTeamWorld(comm), plan.peer, ginSignalInc{plan.acknowledge},
                          ginCoopThread{}, plan.options);
  if (out.result == ginSuccess) out.result = ctx.flush(ginCoopThread{}, plan.options);
  return out;
}

}  // namespace gin::kernels
