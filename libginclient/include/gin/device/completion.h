// SPDX-License-Identifier: Apache-2.0
// flush, flushAsync and wait, quiet.
#pragma once

#include "gin/device/actions.h"
#include "gin/device/coop.h"
#include "gin/device/operations.h"
#include "gin/device/status.h"
#include "gin/device/team.h"
#include "gin/queues/completion.h"

#include <cstdint>

// A flush of one peer in progress.  Plain memory of the caller; any thread that may use the context
// may wait for it.
struct ginRequest_t {
  std::int32_t peer;     // world rank; -1: none, its wait returns at once
  std::uint32_t kind;    // private
  std::uint64_t target;  // private
};

namespace gin::device {

template <typename Self>
class Completion {
 public:
  // Waits until every operation that this context has posted is locally complete: the sources of
  // puts may be reused, the data of gets and the results of atomics are visible to the coop.  Says
  // nothing of the remote side.  A failed peer does not hold up the others; its error is returned
  // at the end.
  template <typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t flush(Coop coop = {}, ginOrder_t order = ginOrderAcquire,
                                    ginWaitOptions options = {}) const {
    if (!self().exists()) return ginInvalidArgument;
    return self().elect(coop, [&]() -> ginResult_t {
      if (order == ginOrderRelease || order == ginOrderAcqRel) queues::fence_release_sys();
      if (const ginResult_t lost = local_error(); lost != ginSuccess) return lost;
      queues::FlushReport where;
      const ginResult_t flushed =
          queues::flush_all(self().ring_, self().done_, ranks(), self().limits(options), &where);
      return tell(options, flushed, ginWaitKindFlush, where);
    });
  }
  template <typename Coop>
  GIN_HOST_DEVICE ginResult_t flush(Coop coop, ginWaitOptions options) const {
    return flush(coop, ginOrderAcquire, options);
  }

  // Begins a flush of what this context has posted to one peer; wait() ends it.
  template <typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t flushAsync(ginTeam_t team, int peer, ginRequest_t* request,
                                         Coop coop = {}) const {
    *request = ginRequest_t{-1, 0, 0};
    if (!self().exists()) return ginInvalidArgument;
    const std::int32_t world = ginTeamRankToWorld(self().comm_, team, peer);
    if (world < 0) {
      return self().refuse(coop, queues::Field::kPeer,
                           static_cast<std::uint64_t>(std::int64_t{peer}));
    }
    coop.sync();  // what the other threads posted counts
    *request = ginRequest_t{world, ginWaitKindFlush,
                            queues::load_relaxed_gpu(&self().ring_.last_posted[world])};
    return ginSuccess;
  }

  // Waits for a request of this context.  What flush promises then holds for its peer.
  template <typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t wait(const ginRequest_t& request, Coop coop = {},
                                   ginWaitOptions options = {}) const {
    if (!self().exists()) return ginInvalidArgument;
    if (request.peer < 0) return ginSuccess;
    if (static_cast<std::uint32_t>(request.peer) >= ranks()) {
      return self().refuse(coop, queues::Field::kPeer,
                           static_cast<std::uint64_t>(std::int64_t{request.peer}));
    }
    return self().elect(coop, [&]() -> ginResult_t {
      if (const ginResult_t lost = local_error(); lost != ginSuccess) return lost;
      queues::FlushReport where;
      const ginResult_t flushed =
          queues::flush_to(self().done_, static_cast<std::uint32_t>(request.peer), request.target,
                           self().limits(options), &where);
      return tell(options, flushed, ginWaitKindFlush, where);
    });
  }

  // Waits until every operation that this context has posted is complete at the peers: the data of
  // puts is visible in their memory, signals are applied.  Everything is locally complete, too.
  // Costs a message to each peer that was written to since the last quiet.
  // @source OpenSHMEM, shmem_quiet
  template <typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t quiet(Coop coop = {}, ginWaitOptions options = {}) const {
    if (!self().exists()) return ginInvalidArgument;
    return self().elect(coop, [&]() -> ginResult_t { return quiet_alone(options); });
  }

 private:
  GIN_HOST_DEVICE const Self& self() const { return static_cast<const Self&>(*this); }
  GIN_HOST_DEVICE std::uint32_t ranks() const {
    return static_cast<std::uint32_t>(self().comm_.nRanks);
  }
  GIN_HOST_DEVICE ginResult_t local_error() const {
    return queues::error_code(queues::load_relaxed_gpu(&self().ring_.state->local_error));
  }
  GIN_HOST_DEVICE ginResult_t tell(const ginWaitOptions& options, ginResult_t result,
                                   ginWaitKind_t kind, const queues::FlushReport& where) const {
    return self().tell(options, result, kind, static_cast<std::int32_t>(where.peer), 0, 0,
                       where.wanted, where.seen);
  }

  GIN_HOST_DEVICE ginResult_t quiet_alone(const ginWaitOptions& options) const {
    if (const ginResult_t lost = local_error(); lost != ginSuccess) return lost;
    const std::uint64_t* const posted = self().ring_.last_posted;
    for (std::uint32_t p = 0; p < ranks(); ++p) {
      // Nothing was posted to it, or nothing behind its last quiet.
      const std::uint64_t last = queues::load_relaxed_gpu(&posted[p]);
      if (last == 0 || last == queues::load_relaxed_gpu(&self().last_quiet_[p])) continue;
      queues::Descriptor d{};
      d.op = queues::Op::kQuiet;
      d.peer = p;
      std::uint64_t end = 0;
      const ginResult_t sent = self().post(Prepared{queues::encode(d), p, false}, options, &end);
      if (sent != ginSuccess) return sent;
      queues::raise_to_gpu(&self().last_quiet_[p], end);
    }
    ginResult_t result = ginSuccess;
    for (std::uint32_t p = 0; p < ranks(); ++p) {
      queues::FlushReport where;
      const ginResult_t one =
          queues::flush_peer(self().ring_, self().done_, p, self().limits(options), &where);
      if (one == ginSuccess) continue;
      if (result == ginSuccess || queues::ends_all(one)) {
        result = tell(options, one, ginWaitKindQuiet, where);
      }
      if (queues::ends_all(one)) return one;
    }
    return result;
  }
};

}  // namespace gin::device
