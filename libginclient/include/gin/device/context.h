// SPDX-License-Identifier: Apache-2.0
// ginContext: the device functions.
#pragma once

#include "gin/dev_comm.h"
#include "gin/device/actions.h"
#include "gin/device/coop.h"
#include "gin/device/team.h"
#include "gin/device/words.h"
#include "gin/queues/completion.h"
#include "gin/queues/producer.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

// One context of a device communicator, which must outlive it.  Cheap to make; make one where it is
// needed.  Who may use one context at a time is the device communicator's sharing mode.
//
// Every function returns ginSuccess or:
//   ginInvalidArgument  bad use: nothing was touched; where the context exists it is now in error
//   and
//                       ginCommGetAsyncError names the field and the value
//   ginTimeout          the deadline passed (a post that times out for want of room in the ring
//   puts
//                       a shared context in error; the others stay usable)
//   ginAborted          the caller's abort flag, or ginCommAbort
//   ginDaemonLost       gind has gone
//   ginRemoteError      a peer or the path to it has failed
//   else                the code of the error that the context is in
class ginContext {
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

  // One-sided write of bytes (0 .. 2^47-1) from this rank's srcWin to the peer's dstWin.  Returns
  // when it is posted; the source may be reused after flush or when its counter has moved.
  template <typename RemoteAction = ginNoRemoteAction, typename LocalAction = ginNoLocalAction,
            typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t put(ginTeam_t team, int peer, ginWindow_t dstWin,
                                  std::uint64_t dstOffset, ginWindow_t srcWin,
                                  std::uint64_t srcOffset, std::uint64_t bytes,
                                  RemoteAction remoteAction = {}, LocalAction localAction = {},
                                  Coop coop = {}, ginFence_t fence = ginFenceDefault,
                                  ginWaitOptions options = {}) const {
    gin::queues::Descriptor d{};
    d.op = gin::queues::Op::kPut;
    d.dst_window = index_of(dstWin);
    d.dst_offset = dstOffset;
    d.src_window = index_of(srcWin);
    d.src_offset = srcOffset;
    d.bytes = bytes;
    remoteAction.apply(d);
    localAction.apply(d);
    return submit(coop, team, peer, d, fence, options);
  }

  // One-sided write of a value of at most 8 bytes, which travels in the descriptor.
  template <typename T, typename RemoteAction = ginNoRemoteAction, typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t putValue(ginTeam_t team, int peer, ginWindow_t dstWin,
                                       std::uint64_t dstOffset, T value,
                                       RemoteAction remoteAction = {}, Coop coop = {},
                                       ginWaitOptions options = {}) const {
    static_assert(sizeof(T) <= 8, "putValue carries at most 8 bytes; use put");
    static_assert(std::is_trivially_copyable_v<T>, "putValue copies the bytes of the value");
    gin::queues::Descriptor d{};
    d.op = gin::queues::Op::kPutValue;
    d.dst_window = index_of(dstWin);
    d.dst_offset = dstOffset;
    d.bytes = sizeof(T);
    memcpy(&d.value, &value, sizeof(T));
    remoteAction.apply(d);
    return submit(coop, team, peer, d, ginAlreadyReleased, options);
  }

  // A signal without data.
  template <typename RemoteAction, typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t signal(ginTeam_t team, int peer, RemoteAction remoteAction,
                                     Coop coop = {}, ginWaitOptions options = {}) const {
    static_assert(!std::is_same_v<RemoteAction, ginNoRemoteAction>, "signal needs an action");
    gin::queues::Descriptor d{};
    d.op = gin::queues::Op::kSignal;
    remoteAction.apply(d);
    return submit(coop, team, peer, d, ginAlreadyReleased, options);
  }

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
  static constexpr int kCounterBits = static_cast<int>(gin::queues::kCounterBits);
  static constexpr gin::queues::Field kSignal = gin::queues::Field::kSignal;
  static constexpr gin::queues::Field kCounter = gin::queues::Field::kCounter;

  template <typename T>
  GIN_HOST_DEVICE static T* at(char* base, std::uint64_t offset) {
    return reinterpret_cast<T*>(base + offset);
  }

  // The zero handle becomes an index without encoding, so gind reports it as bad use.
  GIN_HOST_DEVICE static std::uint32_t index_of(ginWindow_t window) { return window.id - 1; }

  GIN_HOST_DEVICE bool exists() const { return ring_.units != nullptr; }

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

  GIN_HOST_DEVICE ginResult_t post_bad_use(gin::queues::Field field, std::uint64_t value,
                                           const ginWaitOptions& options) const {
    std::uint64_t end = 0;
    const ginResult_t posted =
        gin::queues::post(ring_, static_cast<std::uint32_t>(comm_.rank),
                          gin::queues::encode_bad_use(field, value), limits(options), &end);
    return posted == ginSuccess ? ginInvalidArgument : posted;
  }

  template <typename Coop>
  GIN_HOST_DEVICE ginResult_t submit(Coop coop, const ginTeam_t& team, int peer,
                                     gin::queues::Descriptor& d, ginFence_t fence,
                                     const ginWaitOptions& options) const {
    if (!exists()) return ginInvalidArgument;
    return elect(coop, [&]() -> ginResult_t {
      const std::int32_t world = ginTeamRankToWorld(comm_, team, peer);
      if (world < 0) {
        const bool outside = peer < 0 || peer >= team.nRanks;
        return post_bad_use(outside ? gin::queues::Field::kPeer : gin::queues::Field::kTeam,
                            static_cast<std::uint64_t>(std::int64_t{peer}), options);
      }
      d.peer = static_cast<std::uint32_t>(world);
      if (const gin::queues::Field bad = gin::queues::first_unencodable(d);
          bad != gin::queues::Field::kNone) {
        return post_bad_use(bad, gin::queues::value_of(d, bad), options);
      }
      if (fence == ginFenceDefault) gin::queues::fence_release_sys();
      std::uint64_t end = 0;
      return gin::queues::post(ring_, d.peer, gin::queues::encode(d), limits(options), &end);
    });
  }

  template <typename Coop>
  GIN_HOST_DEVICE ginResult_t check(Coop coop, gin::queues::Field which, std::uint32_t index,
                                    int bits) const {
    const bool is_signal = which == kSignal;
    if (!exists() || bits < 1 || bits > (is_signal ? 64 : kCounterBits)) return ginInvalidArgument;
    if (index < (is_signal ? signals_ : counters_).count) return ginSuccess;
    return elect(coop, [&]() -> ginResult_t { return post_bad_use(which, index, {}); });
  }

  const ginDevComm_t& comm_;
  gin::queues::RingProducer ring_;
  const std::uint64_t* done_ = nullptr;
  gin::device::Words signals_;
  gin::device::Words counters_;
};
