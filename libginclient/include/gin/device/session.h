// SPDX-License-Identifier: Apache-2.0
// Sessions: the fastest way to post, for a thread or a warp that has a context to itself.
#pragma once

#include "gin/device/context.h"
#include "gin/device/operations.h"
#include "gin/queues/producer.h"

// One thread that posts to a context of its own (sharing block or exclusive): where the ring stands
// is in registers.  While it lives nobody else may post to the context; waits and flushes go
// through the context.  Move-only.  On a shared context, or one that does not exist, every call
// returns ginInvalidUsage or ginInvalidArgument.
class ginThreadSession : public gin::device::Operations<ginThreadSession> {
 public:
  // The context must outlive it.
  GIN_HOST_DEVICE explicit ginThreadSession(const ginContext& context)
      : context_(context), producer_(context.ring_, context.may_own()) {}
  ginThreadSession(ginThreadSession&&) = default;
  ginThreadSession& operator=(ginThreadSession&&) = delete;

  GIN_HOST_DEVICE const ginContext& context() const { return context_; }

 private:
  template <typename Self>
  friend class gin::device::Operations;

  template <typename Coop>
  GIN_HOST_DEVICE ginResult_t submit(Coop, const ginTeam_t& team, int peer,
                                     gin::queues::Descriptor& d, ginFence_t fence,
                                     const ginWaitOptions& options) const {
    static_assert(std::is_same_v<Coop, ginCoopThread>, "a thread session belongs to one thread");
    if (!context_.exists()) return ginInvalidArgument;
    if (!context_.may_own()) return ginInvalidUsage;
    const gin::device::Prepared ready = gin::device::prepare(context_.comm_, team, peer, d);
    if (fence == ginFenceDefault && !ready.bad) gin::queues::fence_release_sys();
    std::uint64_t end = 0;
    const ginResult_t posted =
        producer_.post(ready.peer, ready.record, context_.limits(options), &end);
    return context_.outcome(posted, ready, options, end);
  }

  const ginContext& context_;
  mutable gin::queues::ThreadProducer producer_;
};

// The same for a warp whose 32 lanes make each call together, each with an operation of its own:
// one reservation for all, and whole lines stored at once.  On the host, one thread.
class ginWarpSession : public gin::device::Operations<ginWarpSession> {
 public:
  GIN_HOST_DEVICE explicit ginWarpSession(const ginContext& context)
      : context_(context), producer_(context.ring_, context.may_own()) {}
  ginWarpSession(ginWarpSession&&) = default;
  ginWarpSession& operator=(ginWarpSession&&) = delete;

  GIN_HOST_DEVICE const ginContext& context() const { return context_; }

  // Whether this lane's next operation counts; without it the lane only takes part in the call:
  //   session.when(lane < n).put(...)
  GIN_HOST_DEVICE const ginWarpSession& when(bool counts) const {
    idle_ = !counts;
    return *this;
  }

 private:
  template <typename Self>
  friend class gin::device::Operations;

  template <typename Coop>
  GIN_HOST_DEVICE ginResult_t submit(Coop, const ginTeam_t& team, int peer,
                                     gin::queues::Descriptor& d, ginFence_t fence,
                                     const ginWaitOptions& options) const {
    static_assert(std::is_same_v<Coop, ginCoopThread>, "each lane brings its own operation");
    if (!context_.exists()) return ginInvalidArgument;
    if (!context_.may_own()) return ginInvalidUsage;
    const bool counts = !idle_;
    idle_ = false;
    const gin::device::Prepared ready = gin::device::prepare(context_.comm_, team, peer, d);
    if (fence == ginFenceDefault && counts && !ready.bad) gin::queues::fence_release_sys();
    std::uint64_t end = 0;
#if defined(__CUDA_ARCH__)
    const ginResult_t posted =
        producer_.post(counts, ready.peer, ready.record, context_.limits(options), &end);
#else
    const ginResult_t posted =
        counts ? producer_.post(ready.peer, ready.record, context_.limits(options), &end)
               : ginSuccess;
#endif
    return counts ? context_.outcome(posted, ready, options, end) : posted;
  }

#if defined(__CUDA_ARCH__)
  using Producer = gin::queues::WarpProducer;
#else
  using Producer = gin::queues::ThreadProducer;
#endif

  const ginContext& context_;
  mutable Producer producer_;
  mutable bool idle_ = false;
};
