// SPDX-License-Identifier: Apache-2.0
// ncclGin over ginContext.  A call that fails is kept for ncclCommGetAsyncError, and every later
// wait of the device communicator ends at once.
#pragma once

#include "gin/device/context.h"
#include "gin/nccl_compat/actions.h"
#include "gin/nccl_compat/coop.h"
#include "gin/nccl_compat/cuda_names.h"
#include "gin/nccl_compat/fault.h"
#include "gin/nccl_compat/pointer.h"
#include "gin/nccl_compat/team.h"

#include <cstddef>
#include <cstdint>

#define NCCL_GIN_BACKEND_MASK_ALL                                      \
  (1u << NCCL_NET_DEVICE_GIN_PROXY | 1u << NCCL_NET_DEVICE_GIN_GDAKI | \
   1u << NCCL_NET_DEVICE_GIN_GPI)

// The mask chooses among NCCL's backends; gind is the same for all.
template <unsigned backendMask>
struct ncclGin_BackendMask {
  ncclDevComm const& comm;
  std::uint32_t contextId;
  ncclGinResourceSharingMode resourceSharingMode;  // kept, not used: contexts take any thread

  GIN_HOST_DEVICE ncclGin_BackendMask(
      ncclDevComm const& c, int contextIndex,
      ncclGinResourceSharingMode mode = NCCL_GIN_RESOURCE_SHARING_GPU)
      : comm(c),
        contextId(static_cast<std::uint32_t>(contextIndex)),
        resourceSharingMode(mode),
        context_(c.gin, contextIndex) {}

  template <typename RemoteAction = ncclGin_None, typename LocalAction = ncclGin_None,
            typename Coop = ncclCoopThread, typename DescriptorSmem = ncclGin_None,
            typename SegmentType = ncclGin_SegmentDevice>
  GIN_HOST_DEVICE void put(ncclTeam team, int peer, ncclWindow_t dstWnd, std::size_t dstOffset,
                           ncclWindow_t srcWnd, std::size_t srcOffset, std::size_t bytes,
                           RemoteAction remoteAction = ncclGin_None{},
                           LocalAction localAction = ncclGin_None{}, Coop coop = ncclCoopThread{},
                           DescriptorSmem = ncclGin_None{},
                           cuda::thread_scope givenRelease = cuda::thread_scope_thread,
                           cuda::thread_scope requiredRelease = cuda::thread_scope_device,
                           std::uint32_t = ncclGinOptFlagsDefault,
                           SegmentType = ncclGin_SegmentDevice{}) const {
    static_assert(gin::nccl::kIsDescriptor<DescriptorSmem> && gin::nccl::kIsSegment<SegmentType>);
    note(context_.put(team_of(team), peer, dstWnd.gin, dstOffset, srcWnd.gin, srcOffset, bytes,
                      gin::nccl::action_of(comm, remoteAction),
                      gin::nccl::local_action_of(localAction), coop,
                      gin::nccl::fence_of(givenRelease, requiredRelease), options()),
         Call::kPut, peer);
  }

  template <typename T, typename RemoteAction = ncclGin_None, typename LocalAction = ncclGin_None,
            typename Coop = ncclCoopThread, typename DescriptorSmem = ncclGin_None,
            typename SegmentType = ncclGin_SegmentDevice>
  GIN_HOST_DEVICE void put(ncclTeam team, int peer, ncclSymPtr<T> dstElts, ncclSymPtr<T> srcElts,
                           std::size_t nElts, RemoteAction remoteAction = ncclGin_None{},
                           LocalAction localAction = ncclGin_None{}, Coop coop = ncclCoopThread{},
                           DescriptorSmem descriptor = ncclGin_None{},
                           cuda::thread_scope givenRelease = cuda::thread_scope_thread,
                           cuda::thread_scope requiredRelease = cuda::thread_scope_device,
                           std::uint32_t optFlags = ncclGinOptFlagsDefault,
                           SegmentType bufType = ncclGin_SegmentDevice{}) const {
    put(team, peer, dstElts.window, dstElts.offset, srcElts.window, srcElts.offset,
        nElts * sizeof(T), remoteAction, localAction, coop, descriptor, givenRelease,
        requiredRelease, optFlags, bufType);
  }

  // sizeof(T) <= 8
  template <typename T, typename RemoteAction = ncclGin_None, typename Coop = ncclCoopThread,
            typename DescriptorSmem = ncclGin_None>
  GIN_HOST_DEVICE void putValue(ncclTeam team, int peer, ncclWindow_t dstWnd, std::size_t dstOffset,
                                T value, RemoteAction remoteAction = ncclGin_None{},
                                Coop coop = ncclCoopThread{}, DescriptorSmem = ncclGin_None{},
                                cuda::thread_scope givenRelease = cuda::thread_scope_thread,
                                cuda::thread_scope requiredRelease = cuda::thread_scope_device,
                                std::uint32_t = ncclGinOptFlagsDefault) const {
    static_assert(gin::nccl::kIsDescriptor<DescriptorSmem>);
    release(coop, givenRelease, requiredRelease);
    note(context_.putValue(team_of(team), peer, dstWnd.gin, dstOffset, value,
                           gin::nccl::action_of(comm, remoteAction), coop, options()),
         Call::kPutValue, peer);
  }
  template <typename T, typename RemoteAction = ncclGin_None, typename Coop = ncclCoopThread,
            typename DescriptorSmem = ncclGin_None>
  GIN_HOST_DEVICE void putValue(ncclTeam team, int peer, ncclSymPtr<T> dst, T value,
                                RemoteAction remoteAction = ncclGin_None{},
                                Coop coop = ncclCoopThread{},
                                DescriptorSmem descriptor = ncclGin_None{},
                                cuda::thread_scope givenRelease = cuda::thread_scope_thread,
                                cuda::thread_scope requiredRelease = cuda::thread_scope_device,
                                std::uint32_t optFlags = ncclGinOptFlagsDefault) const {
    putValue(team, peer, dst.window, dst.offset, value, remoteAction, coop, descriptor,
             givenRelease, requiredRelease, optFlags);
  }

  template <typename Coop = ncclCoopThread, typename DescriptorSmem = ncclGin_None,
            typename SegmentType = ncclGin_SegmentDevice>
  GIN_HOST_DEVICE void get(ncclTeam team, int peer, ncclWindow_t remoteWnd,
                           std::size_t remoteOffset, ncclWindow_t localWnd, std::size_t localOffset,
                           std::size_t bytes, Coop coop = ncclCoopThread{},
                           DescriptorSmem = ncclGin_None{}, std::uint32_t = ncclGinOptFlagsDefault,
                           SegmentType = ncclGin_SegmentDevice{}) const {
    static_assert(gin::nccl::kIsDescriptor<DescriptorSmem> && gin::nccl::kIsSegment<SegmentType>);
    note(context_.get(team_of(team), peer, remoteWnd.gin, remoteOffset, localWnd.gin, localOffset,
                      bytes, coop, ginFenceDefault, options()),
         Call::kGet, peer);
  }

  template <typename RemoteAction, typename Coop = ncclCoopThread,
            typename DescriptorSmem = ncclGin_None>
  GIN_HOST_DEVICE void signal(ncclTeam team, int peer, RemoteAction remoteAction,
                              Coop coop = ncclCoopThread{}, DescriptorSmem = ncclGin_None{},
                              cuda::thread_scope givenRelease = cuda::thread_scope_thread,
                              cuda::thread_scope requiredRelease = cuda::thread_scope_device,
                              std::uint32_t = ncclGinOptFlagsDefault) const {
    static_assert(gin::nccl::kIsDescriptor<DescriptorSmem>);
    release(coop, givenRelease, requiredRelease);
    note(context_.signal(team_of(team), peer, gin::nccl::action_of(comm, remoteAction), coop,
                         options()),
         Call::kSignal, peer);
  }

  template <typename Coop, typename DescriptorSmem = ncclGin_None>
  GIN_HOST_DEVICE void flush(Coop coop, cuda::memory_order order = cuda::memory_order_acquire,
                             DescriptorSmem = ncclGin_None{}) const {
    note(context_.flush(coop, gin::nccl::order_of(order), options()), Call::kFlush, 0);
  }
  template <typename Coop = ncclCoopThread, typename DescriptorSmem = ncclGin_None>
  GIN_HOST_DEVICE void flushAsync(ncclTeam team, std::uint32_t peer, ncclGinRequest_t* outRequest,
                                  Coop coop = ncclCoopThread{},
                                  std::uint32_t = ncclGinOptFlagsDefault,
                                  DescriptorSmem = ncclGin_None{}) const {
    note(context_.flushAsync(team_of(team), static_cast<int>(peer), &outRequest->gin, coop),
         Call::kFlushAsync, static_cast<int>(peer));
  }
  template <typename Coop = ncclCoopThread, typename DescriptorSmem = ncclGin_None>
  GIN_HOST_DEVICE void wait(ncclGinRequest_t& request, Coop coop = ncclCoopThread{},
                            DescriptorSmem = ncclGin_None{},
                            cuda::memory_order = cuda::memory_order_acquire) const {
    note(context_.wait(request.gin, coop, options()), Call::kWait, request.gin.peer);
  }

  // Of the words here: signals, shadows, counters.  Waits always acquire.
  GIN_HOST_DEVICE std::uint64_t readSignal(ncclGinSignal_t signal, int bits = 64,
                                           cuda::memory_order = cuda::memory_order_acquire) const {
    std::uint64_t value = 0;
    note(context_.readSignal(signal, &value, bits), Call::kReadSignal, signal);
    return value;
  }
  GIN_HOST_DEVICE std::uint64_t readSignal(ncclWindow_t signalWindow, std::size_t signalOffset,
                                           int bits = 64,
                                           cuda::memory_order = cuda::memory_order_acquire) const {
    std::uint64_t value = 0;
    note(context_.readSignal(signalWindow.gin, signalOffset, &value, bits), Call::kVaSignal,
         signalWindow.gin.id, signalOffset);
    return value;
  }
  template <typename Coop>
  GIN_HOST_DEVICE void waitSignal(Coop coop, ncclGinSignal_t signal, std::uint64_t least,
                                  int bits = 64,
                                  cuda::memory_order = cuda::memory_order_acquire) const {
    note(context_.waitSignal(coop, signal, least, bits, options()), Call::kWaitSignal, signal,
         least);
  }
  template <typename Coop>
  GIN_HOST_DEVICE void waitSignal(Coop coop, ncclWindow_t signalWindow, std::size_t signalOffset,
                                  std::uint64_t least, int bits = 64,
                                  cuda::memory_order = cuda::memory_order_acquire) const {
    note(context_.waitSignal(coop, signalWindow.gin, signalOffset, least, bits, options()),
         Call::kVaSignal, signalWindow.gin.id, signalOffset);
  }
  GIN_HOST_DEVICE void resetSignal(ncclGinSignal_t signal) const {
    note(context_.resetSignal(signal), Call::kResetSignal, signal);
  }
  GIN_HOST_DEVICE void resetSignal(ncclWindow_t signalWindow, std::size_t signalOffset) const {
    note(context_.resetSignal(signalWindow.gin, signalOffset, options()), Call::kVaSignal,
         signalWindow.gin.id, signalOffset);
  }

  // Null where there is no such signal.
  GIN_HOST_DEVICE std::uint64_t* getSignalShadowPtr(ncclGinSignal_t signal) const {
    std::uint64_t* const shadow = context_.getSignalShadowPtr(signal);
    if (shadow == nullptr) note(ginInvalidArgument, Call::kShadow, signal);
    return shadow;
  }
  GIN_HOST_DEVICE void increaseSignalShadow(ncclGinSignal_t signal, std::uint64_t delta) const {
    note(context_.increaseSignalShadow(signal, delta), Call::kShadow, signal);
  }
  template <typename Coop>
  GIN_HOST_DEVICE void waitSignalMeetShadow(Coop coop, ncclGinSignal_t signal, int bits = 64,
                                            cuda::memory_order = cuda::memory_order_acquire) const {
    note(context_.waitSignalMeetShadow(coop, signal, bits, options()), Call::kWaitSignal, signal);
  }
  // A wait that fails gives a delta of 0.
  template <typename Coop, typename Uint>
  GIN_HOST_DEVICE void waitSignalFollowShadow(
      Coop coop, ncclGinSignal_t signal, Uint leastDelta, Uint* before, Uint* delta, int bits = 64,
      cuda::memory_order = cuda::memory_order_acquire) const {
    *before = *delta = 0;
    note(context_.waitSignalFollowShadow(coop, signal, leastDelta, before, delta, bits, options()),
         Call::kWaitSignal, signal);
  }

  GIN_HOST_DEVICE std::uint64_t readCounter(ncclGinCounter_t counter, int bits = 56,
                                            cuda::memory_order = cuda::memory_order_acquire) const {
    std::uint64_t value = 0;
    note(context_.readCounter(counter, &value, bits), Call::kReadCounter, counter);
    return value;
  }
  template <typename Coop>
  GIN_HOST_DEVICE void waitCounter(Coop coop, ncclGinCounter_t counter, std::uint64_t least,
                                   int bits = 56,
                                   cuda::memory_order = cuda::memory_order_acquire) const {
    note(context_.waitCounter(coop, counter, least, bits, options()), Call::kWaitCounter, counter,
         least);
  }
  GIN_HOST_DEVICE void resetCounter(ncclGinCounter_t counter) const {
    note(context_.resetCounter(counter), Call::kResetCounter, counter);
  }

 private:
  using Call = gin::nccl::Call;

  GIN_HOST_DEVICE ginTeam_t team_of(const ncclTeam& team) const {
    return gin::nccl::team_of(comm, team);
  }
  GIN_HOST_DEVICE ginWaitOptions options() const {
    return ginWaitOptions{-1, comm.fault != nullptr ? &comm.fault->failed : nullptr, nullptr};
  }
  template <typename Index>
  GIN_HOST_DEVICE void note(ginResult_t result, Call call, Index index,
                            std::uint64_t wanted = 0) const {
    gin::nccl::note(comm.fault, result, call, contextId, static_cast<std::uint64_t>(index), wanted);
  }
  // gind's putValue and signal carry no payload of this device and do not release; a peer that has
  // seen the signal may get what the coop wrote before.
  template <typename Coop>
  GIN_HOST_DEVICE void release(Coop coop, cuda::thread_scope given,
                               cuda::thread_scope required) const {
    if (gin::nccl::fence_of(given, required) == ginAlreadyReleased) return;
    coop.sync();
    if (coop.thread_rank() == 0) gin::queues::fence_release_sys();
  }

  ginContext context_;
};

template <ncclNetDeviceType backend>
using ncclGin_BackendOne = ncclGin_BackendMask<(1u << static_cast<int>(backend))>;
using ncclGin = ncclGin_BackendMask<NCCL_GIN_BACKEND_MASK_ALL>;
