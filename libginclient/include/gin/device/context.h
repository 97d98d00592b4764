// SPDX-License-Identifier: Apache-2.0
// ginContext: the device functions.
#pragma once

#include "gin/dev_comm.h"
#include "gin/device/actions.h"
#include "gin/device/coop.h"
#include "gin/device/operations.h"
#include "gin/device/team.h"
#include "gin/device/words.h"
#include "gin/queues/completion.h"
#include "gin/queues/producer.h"

#include <cstdint>

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
class ginContext : public gin::device::Operations<ginContext> {
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
    char* state = comm.state + i * comm.stateStride;
    ring_.units = at<gin::queues::Unit>(comm.segment, comm.ringOffset + i * comm.ringStride);
    ring_.control = at<gin::queues::ContextControl>(comm.segment, comm.controlOffset) + i;
    ring_.state = at<gin::queues::ProducerState>(state, 0);
    ring_.last_posted = at<std::uint64_t>(state, comm.lastPostedOffset);
    ring_.log2_depth = comm.log2Depth;
    ring_.sharing = static_cast<gin::queues::Sharing>(comm.sharing);
    done_ = at<std::uint64_t>(comm.segment, comm.doneOffset + i * comm.doneStride);
    signals_ = {at<std::uint64_t>(comm.segment, comm.signalOffset + i * comm.signalStride),
                at<std::uint64_t>(state, comm.signalBaseOffset), comm.signals};
    counters_ = {at<std::uint64_t>(comm.segment, comm.counterOffset + i * comm.counterStride),
                 at<std::uint64_t>(state, comm.counterBaseOffset), comm.counters};
  }
  ginContext(const ginDevComm_t&&, int) = delete;  // would dangle

  // Waits until every operation that this context has posted is locally complete: the sources of
  // puts may be reused.  Says nothing of the remote side.  A failed peer does not hold up the
  // others; its error is returned at the end.
  template <typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t flush(Coop coop = {}, ginWaitOptions options = {}) const {
    if (!exists()) return ginInvalidArgument;
    return elect(coop, [&]() -> ginResult_t {
      if (const std::uint64_t e = gin::queues::load_relaxed_gpu(&ring_.state->local_error)) {
        return gin::queues::error_code(e);
      }
      return gin::queues::flush_all(ring_, done_, static_cast<std::uint32_t>(comm_.nRanks),
                                    limits(options));
    });
  }

  // The low `bits` bits (1..64) of what has been added to a signal since its last reset.
  GIN_HOST_DEVICE ginResult_t readSignal(ginSignal_t signal, std::uint64_t* value,
                                         int bits = 64) const {
    const ginResult_t checked = check(ginCoopThread{}, kSignal, signal, bits);
    if (checked == ginSuccess) *value = signals_.since_reset(signal, bits);
    return checked;
  }
  // The same; 0 on bad use.
  GIN_HOST_DEVICE std::uint64_t readSignal(ginSignal_t signal, int bits = 64) const {
    std::uint64_t value = 0;
    readSignal(signal, &value, bits);
    return value;
  }

  // Waits until the signal has reached `least`, compared in its low `bits` bits by rolling
  // comparison: the two must be less than 2^(bits-1) apart.  What the signal vouches for is then
  // visible to all threads of the coop.
  template <typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t waitSignal(Coop coop, ginSignal_t signal, std::uint64_t least,
                                         int bits = 64, ginWaitOptions options = {}) const {
    const ginResult_t checked = check(coop, kSignal, signal, bits);
    if (checked != ginSuccess) return checked;
    return elect(
        coop, [&]() -> ginResult_t { return signals_.wait(signal, least, bits, limits(options)); });
  }

  // The signal counts from 0 again.  Nobody may be waiting for it; what arrives at the same time
  // may count before or after.
  GIN_HOST_DEVICE ginResult_t resetSignal(ginSignal_t signal) const {
    const ginResult_t checked = check(ginCoopThread{}, kSignal, signal, 64);
    if (checked == ginSuccess) signals_.reset(signal);
    return checked;
  }

  // Counters: as signals, of at most 56 bits.
  GIN_HOST_DEVICE ginResult_t readCounter(ginCounter_t counter, std::uint64_t* value,
                                          int bits = kCounterBits) const {
    const ginResult_t checked = check(ginCoopThread{}, kCounter, counter, bits);
    if (checked == ginSuccess) *value = counters_.since_reset(counter, bits);
    return checked;
  }
  GIN_HOST_DEVICE std::uint64_t readCounter(ginCounter_t counter, int bits = kCounterBits) const {
    std::uint64_t value = 0;
    readCounter(counter, &value, bits);
    return value;
  }
  template <typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t waitCounter(Coop coop, ginCounter_t counter, std::uint64_t least,
                                          int bits = kCounterBits,
                                          ginWaitOptions options = {}) const {
    const ginResult_t checked = check(coop, kCounter, counter, bits);
    if (checked != ginSuccess) return checked;
    return elect(coop, [&]() -> ginResult_t {
      return counters_.wait(counter, least, bits, limits(options));
    });
  }
  GIN_HOST_DEVICE ginResult_t resetCounter(ginCounter_t counter) const {
    const ginResult_t checked = check(ginCoopThread{}, kCounter, counter, kCounterBits);
    if (checked == ginSuccess) counters_.reset(counter);
    return checked;
  }

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
  friend class ginThreadSession;
  friend class ginWarpSession;

  static constexpr int kCounterBits = static_cast<int>(gin::queues::kCounterBits);
  static constexpr gin::queues::Field kSignal = gin::queues::Field::kSignal;
  static constexpr gin::queues::Field kCounter = gin::queues::Field::kCounter;

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
        options.abortFlag, &ring_.control->error, comm_.commError};
  }

  // Runs f on one thread of the coop.  The barriers on both sides order the memory of the coop:
  // what its threads wrote before is before f, what f acquired is visible to all after.
  template <typename Coop, typename F>
  GIN_HOST_DEVICE static ginResult_t elect(Coop coop, F f) {
    coop.sync();
    ginResult_t result = ginSuccess;
    if (coop.thread_rank() == 0) result = f();
    return coop.broadcast(result);
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
                                   const ginWaitOptions& options) const {
    std::uint64_t end = 0;
    const ginResult_t posted =
        gin::queues::post(ring_, ready.peer, ready.record, limits(options), &end);
    return posted == ginSuccess && ready.bad ? ginInvalidArgument : posted;
  }

  template <typename Coop>
  GIN_HOST_DEVICE ginResult_t check(Coop coop, gin::queues::Field which, std::uint32_t index,
                                    int bits) const {
    const bool is_signal = which == kSignal;
    if (!exists() || bits < 1 || bits > (is_signal ? 64 : kCounterBits)) return ginInvalidArgument;
    if (index < (is_signal ? signals_ : counters_).count) return ginSuccess;
    return elect(
        coop, [&]() -> ginResult_t { return post(gin::device::bad_use(comm_, which, index), {}); });
  }

  const ginDevComm_t& comm_;
  gin::queues::RingProducer ring_;
  const std::uint64_t* done_ = nullptr;
  gin::device::Words signals_;
  gin::device::Words counters_;
};
