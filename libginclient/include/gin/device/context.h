// SPDX-License-Identifier: Apache-2.0
// ginContext: the device functions.  What they are is in operations.h (put, get ...), completion.h
// (flush, quiet) and signals.h (signals, counters).
#pragma once

#include "gin/dev_comm.h"
#include "gin/device/actions.h"
#include "gin/device/completion.h"
#include "gin/device/coop.h"
#include "gin/device/operations.h"
#include "gin/device/signals.h"
#include "gin/device/status.h"
#include "gin/device/team.h"
#include "gin/device/words.h"
#include "gin/queues/completion.h"
#include "gin/queues/producer.h"

#include <cstdint>

template <typename Coop>
class ginBarrierSession;

// One context of a device communicator, which must outlive it.  Cheap to make; make one where it is
// needed.  Who may use one context at a time is the device communicator's sharing mode.
//
// Every function returns ginSuccess or:
//   ginInvalidArgument  bad use: nothing was touched; where the context exists it is now in error,
//                       and ginCommGetAsyncError names the field and the value
//   ginTimeout          the deadline passed (a post that times out for want of room in the ring
//                       puts a shared context in error; the others stay usable)
//   ginAborted          the caller's abort flag, or ginCommAbort
//   ginDaemonLost       gind has gone
//   ginRemoteError      a peer or the path to it has failed
//   else                the code of the error that the context is in
// ginWaitOptions::status tells what was waited for.
class ginContext : public gin::device::Operations<ginContext>,
                   public gin::device::Completion<ginContext>,
                   public gin::device::Signals<ginContext> {
 public:
  GIN_HOST_DEVICE ginContext(const ginDevComm_t& comm, int contextIndex) : comm_(comm) {
#if defined(__CUDA_ARCH__)
    const bool elsewhere = comm.device < 0;
#else
    const bool elsewhere = comm.device >= 0;
#endif
    if (comm.segment == nullptr || comm.state == nullptr || elsewhere || contextIndex < 0 ||
        static_cast<std::uint32_t>(contextIndex) >= comm.contexts) {
      return;  // no ring: every call returns ginInvalidArgument
    }
    const auto i = static_cast<std::uint64_t>(contextIndex);
    index_ = static_cast<std::uint32_t>(contextIndex);
    char* state = comm.state + i * comm.stateStride;
    ring_.units = at<gin::queues::Unit>(comm.segment, comm.ringOffset + i * comm.ringStride);
    ring_.control = at<gin::queues::ContextControl>(comm.segment, comm.controlOffset) + i;
    ring_.state = at<gin::queues::ProducerState>(state, 0);
    ring_.last_posted = at<std::uint64_t>(state, comm.lastPostedOffset);
    ring_.log2_depth = comm.log2Depth;
    ring_.sharing = static_cast<gin::queues::Sharing>(comm.sharing);
    last_quiet_ = at<std::uint64_t>(state, comm.lastQuietOffset);
    done_ = at<std::uint64_t>(comm.segment, comm.doneOffset + i * comm.doneStride);
    signals_ = {at<std::uint64_t>(comm.segment, comm.signalOffset + i * comm.signalStride),
                at<std::uint64_t>(state, comm.signalBaseOffset),
                at<std::uint64_t>(state, comm.signalShadowOffset), comm.signals};
    counters_ = {at<std::uint64_t>(comm.segment, comm.counterOffset + i * comm.counterStride),
                 at<std::uint64_t>(state, comm.counterBaseOffset), nullptr, comm.counters};
  }
  ginContext(const ginDevComm_t&&, int) = delete;  // would dangle

  // The error that this context or its communicator is in, ginSuccess when there is none.
  GIN_HOST_DEVICE ginResult_t error() const {
    if (!exists()) return ginInvalidArgument;
    std::uint64_t e = gin::queues::load_relaxed_gpu(&ring_.state->local_error);
    if (e == 0) e = gin::queues::load_relaxed_sys(&ring_.control->error);
    if (e == 0) e = gin::queues::load_relaxed_sys(comm_.commError);
    return gin::queues::error_code(e);
  }

 private:
  template <typename Self>
  friend class gin::device::Operations;
  template <typename Self>
  friend class gin::device::Completion;
  template <typename Self>
  friend class gin::device::Signals;
  template <typename Coop>
  friend class ginBarrierSession;
  friend class ginThreadSession;
  friend class ginWarpSession;

  template <typename T>
  GIN_HOST_DEVICE static T* at(char* base, std::uint64_t offset) {
    return reinterpret_cast<T*>(base + offset);
  }

  GIN_HOST_DEVICE bool exists() const { return ring_.units != nullptr; }
  // For sessions: one poster at a time.
  GIN_HOST_DEVICE bool may_own() const { return exists() && !ring_.shared(); }

  GIN_HOST_DEVICE gin::queues::WaitLimits limits(const ginWaitOptions& options) const {
    return gin::queues::WaitLimits{
        options.timeoutNs < 0 ? comm_.timeoutNs : static_cast<std::uint64_t>(options.timeoutNs),
        options.abortFlag, &ring_.control->error, comm_.commError, comm_.waiting};
  }

  // Runs f on one thread of the coop.  The barriers on both sides order the memory of the coop:
  // what its threads wrote before is before f, what f acquired is visible to all after.
  template <typename Coop, typename F>
  GIN_HOST_DEVICE static ginResult_t elect(Coop coop, F f) {
    coop.sync();
    ginResult_t result = ginSuccess;
    if (coop.thread_rank() == 0) result = f();
    return static_cast<ginResult_t>(coop.broadcast(static_cast<std::uint64_t>(result)));
  }

  // Fills in the caller's status, where there is one; returns the result.
  GIN_HOST_DEVICE ginResult_t tell(const ginWaitOptions& options, ginResult_t result,
                                   ginWaitKind_t kind, std::int32_t peer, std::uint32_t index,
                                   std::uint64_t offset, std::uint64_t wanted,
                                   std::uint64_t seen) const {
    if (options.status != nullptr && result != ginSuccess) {
      *options.status = ginWaitStatus{result, kind, index_, peer, index, offset, wanted, seen};
    }
    return result;
  }

  template <typename Coop>
  GIN_HOST_DEVICE ginResult_t submit(Coop coop, const ginTeam_t& team, int peer,
                                     gin::queues::Descriptor& d, ginFence_t fence,
                                     const ginWaitOptions& options) const {
    if (!exists()) return ginInvalidArgument;
    return elect(coop, [&]() -> ginResult_t {
      const gin::device::Prepared ready = gin::device::prepare(comm_, team, peer, d);
      if (fence == ginFenceDefault && !ready.bad) gin::queues::fence_release_sys();
      return post(ready, options);
    });
  }

  GIN_HOST_DEVICE ginResult_t post(const gin::device::Prepared& ready,
                                   const ginWaitOptions& options,
                                   std::uint64_t* end = nullptr) const {
    std::uint64_t mine = 0;
    std::uint64_t* const to = end != nullptr ? end : &mine;
    const ginResult_t posted =
        gin::queues::post(ring_, ready.peer, ready.record, limits(options), to);
    return outcome(posted, ready, options, *to);
  }

  // Of a post that ended at ring position `end`, or would have.
  GIN_HOST_DEVICE ginResult_t outcome(ginResult_t posted, const gin::device::Prepared& ready,
                                      const ginWaitOptions& options, std::uint64_t end) const {
    if (posted == ginSuccess) return ready.bad ? ginInvalidArgument : ginSuccess;
    if (options.status == nullptr) return posted;
    return tell(options, posted, ginWaitKindCredit, static_cast<std::int32_t>(ready.peer), 0, 0,
                end, gin::queues::load_relaxed_gpu(&ring_.state->cached_consumed));
  }

  // Reports bad use, by one thread of the coop.
  template <typename Coop>
  GIN_HOST_DEVICE ginResult_t refuse(Coop coop, gin::queues::Field field,
                                     std::uint64_t value) const {
    return elect(
        coop, [&]() -> ginResult_t { return post(gin::device::bad_use(comm_, field, value), {}); });
  }

  const ginDevComm_t& comm_;
  gin::queues::RingProducer ring_;
  std::uint32_t index_ = 0;
  std::uint64_t* last_quiet_ = nullptr;  // by peer: end of the last quiet's record
  const std::uint64_t* done_ = nullptr;
  gin::device::Words signals_;
  gin::device::Words counters_;
};
