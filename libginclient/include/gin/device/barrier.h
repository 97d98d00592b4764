// SPDX-License-Identifier: Apache-2.0
// Barriers over the network.
#pragma once

#include "gin/device/context.h"

#include <cstdint>

// What a barrier completes besides the meeting itself; may be or-ed.
enum ginBarrierFence_t : unsigned {
  ginBarrierFenceNone = 0,
  ginBarrierFencePut = 1,  // what members have put to the caller before is visible to it after
  ginBarrierFenceGet = 2,  // what the caller has got before is there after
  ginBarrierFenceAll = 3,
};

// In a context's place: the fence covers every context of the device communicator.
struct ginAllContexts {
  const ginDevComm_t& comm;
};

// The meeting of all members of a team, at one of the barriers of a context (or of all contexts:
// then at the barrier of that index of each).  Members use the same context, team, index and fence,
// and meet there in the same order; different coops use different indices at a time.  A barrier
// that has failed (by a timeout, an abort or a lost member) cannot be used again.
//
// Barrier b of a context is nRanks of its signals, one for each rank that arrives: a single one
// could take a fast member's next arrival for a slow one's.
template <typename Coop = ginCoopThread>
class ginBarrierSession {
 public:
  GIN_HOST_DEVICE ginBarrierSession(Coop, const ginContext& context, const ginTeam_t& team,
                                    std::uint32_t index)
      : comm_(context.comm_), team_(team), index_(index), first_(context.index_) {}
  GIN_HOST_DEVICE ginBarrierSession(Coop, ginAllContexts all, const ginTeam_t& team,
                                    std::uint32_t index)
      : comm_(all.comm), team_(team), index_(index), all_(true) {}
  ginBarrierSession(const ginBarrierSession&) = delete;
  ginBarrierSession& operator=(const ginBarrierSession&) = delete;

  // Returns when all members have called it.  With release what the coop wrote before is visible to
  // who acquires, through gind and, on this node, by loads.  Errors: as ginContext;
  // ginInvalidUsage: this barrier has failed before.
  GIN_HOST_DEVICE ginResult_t sync(Coop coop, ginOrder_t order = ginOrderAcqRel,
                                   unsigned fence = ginBarrierFenceAll,
                                   ginWaitOptions options = {}) const {
    const ginContext first{comm_, static_cast<int>(first_)};
    if (!first.exists()) return ginInvalidArgument;
    if (index_ >= comm_.barriers) {
      return first.refuse(coop, gin::queues::Field::kBarrier, index_);
    }
    if (team_.rank < 0 || team_.nRanks < 1 ||
        ginTeamRankToWorld(comm_, team_, team_.rank) != comm_.rank) {
      return first.refuse(coop, gin::queues::Field::kTeam,
                          static_cast<std::uint64_t>(std::int64_t{team_.rank}));
    }
    std::uint64_t* const failed = error_word();
    if (gin::queues::load_relaxed_gpu(failed) != 0) return ginInvalidUsage;
    coop.sync();
    const bool puts = (fence & ginBarrierFencePut) != 0;
    const std::uint32_t contexts = all_ && puts ? comm_.contexts : 1;
    std::uint32_t result = arrive(coop, order, puts, contexts, options);
    if (result == ginSuccess) result = await(coop, puts, contexts, options);
    if (result != ginSuccess) {
      if (coop.thread_rank() == 0) gin::queues::store_relaxed_gpu<std::uint64_t>(failed, result);
      coop.sync();
      return static_cast<ginResult_t>(result);
    }
    if ((fence & ginBarrierFenceGet) == 0) return ginSuccess;
    for (std::uint32_t c = 0; c < (all_ ? comm_.contexts : 1); ++c) {
      const ginResult_t flushed = context_at(c).flush(coop, ginOrderAcquire, options);
      if (flushed != ginSuccess) return flushed;
    }
    return ginSuccess;
  }

 private:
  GIN_HOST_DEVICE ginContext context_at(std::uint32_t i) const {
    return ginContext{comm_, static_cast<int>(first_ + i)};
  }
  GIN_HOST_DEVICE std::uint64_t* error_word() const {
    return reinterpret_cast<std::uint64_t*>(comm_.state + first_ * comm_.stateStride +
                                            comm_.barrierErrorOffset) +
           index_;
  }
  GIN_HOST_DEVICE std::uint32_t word_of(std::int32_t arriving) const {
    return comm_.signals + index_ * static_cast<std::uint32_t>(comm_.nRanks) +
           static_cast<std::uint32_t>(arriving);
  }

  // Item i of contexts x members, beginning behind the caller, so that not all begin with the same
  // one.  With puts the caller is a peer like any other: it may have put to itself.
  struct Item {
    std::uint32_t context;
    std::int32_t peer;  // world rank; -1: none
  };
  GIN_HOST_DEVICE Item item(std::uint32_t i, bool puts) const {
    const auto members = static_cast<std::uint32_t>(team_.nRanks);
    const std::uint32_t away = i % members + 1;
    if (away == members && !puts) return Item{0, -1};
    const auto peer = (static_cast<std::uint32_t>(team_.rank) + away) % members;
    return Item{i / members, ginTeamRankToWorld(comm_, team_, static_cast<int>(peer))};
  }

  GIN_HOST_DEVICE std::uint32_t arrive(Coop coop, ginOrder_t order, bool puts,
                                       std::uint32_t contexts,
                                       const ginWaitOptions& options) const {
    const bool shared = comm_.sharing == ginSharingShared;  // else one thread posts
    const std::uint32_t step = shared ? coop.size() : 1;
    const std::uint32_t items = contexts * static_cast<std::uint32_t>(team_.nRanks);
    std::uint32_t result = ginSuccess;
    if (shared || coop.thread_rank() == 0) {
      if (order == ginOrderRelease || order == ginOrderAcqRel) gin::queues::fence_release_sys();
      for (std::uint32_t i = coop.thread_rank(); i < items && result == ginSuccess; i += step) {
        const Item at = item(i, puts);
        if (at.peer < 0) continue;
        gin::queues::Descriptor d{};
        d.op = gin::queues::Op::kSignal;
        d.peer = static_cast<std::uint32_t>(at.peer);
        gin::device::add_indexed(
            d, puts ? gin::queues::RemoteAction::kAddStrong : gin::queues::RemoteAction::kAddWeak,
            word_of(comm_.rank), 1);
        result = context_at(at.context)
                     .post(gin::device::Prepared{gin::queues::encode(d), d.peer, false}, options);
      }
    }
    return coop.largest(result);
  }

  GIN_HOST_DEVICE std::uint32_t await(Coop coop, bool puts, std::uint32_t contexts,
                                      const ginWaitOptions& options) const {
    const std::uint32_t items = contexts * static_cast<std::uint32_t>(team_.nRanks);
    std::uint32_t result = ginSuccess;
    for (std::uint32_t i = coop.thread_rank(); i < items && result == ginSuccess;
         i += coop.size()) {
      const Item at = item(i, puts);
      if (at.peer < 0) continue;
      const ginContext context = context_at(at.context);
      const std::uint32_t word = word_of(at.peer);
      std::uint64_t* const met = &context.signals_.shadows[word];  // meetings so far
      const std::uint64_t least = gin::queues::load_relaxed_gpu(met) + 1;
      std::uint64_t seen = 0;
      result = context.signals_.wait(word, least, 64, context.limits(options), &seen);
      if (result == ginSuccess) {
        gin::queues::store_relaxed_gpu(met, least);
      } else {
        context.tell(options, static_cast<ginResult_t>(result), ginWaitKindBarrier, at.peer, index_,
                     0, least, seen);
      }
    }
    return coop.largest(result);
  }

  const ginDevComm_t& comm_;
  ginTeam_t team_;
  std::uint32_t index_;
  std::uint32_t first_ = 0;
  bool all_ = false;
};

template <typename Coop>
ginBarrierSession(Coop, const ginContext&, const ginTeam_t&, std::uint32_t)
    -> ginBarrierSession<Coop>;
template <typename Coop>
ginBarrierSession(Coop, ginAllContexts, const ginTeam_t&, std::uint32_t) -> ginBarrierSession<Coop>;
