// SPDX-License-Identifier: Apache-2.0
// put, putValue, get, signal and the atomics, for all that can post: contexts and sessions.
#pragma once

#include "gin/dev_comm.h"
#include "gin/device/actions.h"
#include "gin/device/coop.h"
#include "gin/device/status.h"
#include "gin/device/team.h"
#include "gin/queues/descriptor.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace gin::device {

// An operation ready to be stored, or the report that it has none: bad use goes to gind too, which
// puts the context in error by name.
struct Prepared {
  queues::Record record;
  std::uint32_t peer;
  bool bad;
};

GIN_HOST_DEVICE inline Prepared bad_use(const ginDevComm_t& comm, queues::Field field,
                                        std::uint64_t value) {
  return Prepared{queues::encode_bad_use(field, value), static_cast<std::uint32_t>(comm.rank),
                  true};
}

GIN_HOST_DEVICE inline Prepared prepare(const ginDevComm_t& comm, const ginTeam_t& team, int peer,
                                        queues::Descriptor& d) {
  const std::int32_t world = ginTeamRankToWorld(comm, team, peer);
  if (world < 0) {
    const bool outside = peer < 0 || peer >= team.nRanks;
    return bad_use(comm, outside ? queues::Field::kPeer : queues::Field::kTeam,
                   static_cast<std::uint64_t>(std::int64_t{peer}));
  }
  d.peer = static_cast<std::uint32_t>(world);
  // gind would take the barriers' signals for the application's.
  const bool indexed =
      d.action == queues::RemoteAction::kAddStrong || d.action == queues::RemoteAction::kAddWeak;
  if (indexed && d.signal >= comm.signals) return bad_use(comm, queues::Field::kSignal, d.signal);
  if (const queues::Field bad = queues::first_unencodable(d); bad != queues::Field::kNone) {
    return bad_use(comm, bad, queues::value_of(d, bad));
  }
  return Prepared{queues::encode(d), d.peer, false};
}

// Self has submit(coop, team, peer, descriptor, fence, options).
template <typename Self>
class Operations {
 public:
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
    return self().submit(coop, team, peer, d, fence, options);
  }

  // One-sided write of a value of at most 8 bytes, which travels in the descriptor.
  // ginFenceDefault: whoever sees its signal may also get, or load, what the coop wrote here
  // before.
  template <typename T, typename RemoteAction = ginNoRemoteAction, typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t putValue(ginTeam_t team, int peer, ginWindow_t dstWin,
                                       std::uint64_t dstOffset, T value,
                                       RemoteAction remoteAction = {}, Coop coop = {},
                                       ginWaitOptions options = {},
                                       ginFence_t fence = ginAlreadyReleased) const {
    static_assert(sizeof(T) <= 8, "putValue carries at most 8 bytes; use put");
    static_assert(std::is_trivially_copyable_v<T>, "putValue copies the bytes of the value");
    gin::queues::Descriptor d{};
    d.op = gin::queues::Op::kPutValue;
    d.dst_window = index_of(dstWin);
    d.dst_offset = dstOffset;
    d.bytes = sizeof(T);
    memcpy(&d.value, &value, sizeof(T));
    remoteAction.apply(d);
    return self().submit(coop, team, peer, d, fence, options);
  }

  // One-sided read of bytes (0 .. 2^47-1) from the peer's remoteWin into this rank's localWin.  The
  // data is there after flush.  Promises nothing to signals.
  template <typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t get(ginTeam_t team, int peer, ginWindow_t remoteWin,
                                  std::uint64_t remoteOffset, ginWindow_t localWin,
                                  std::uint64_t localOffset, std::uint64_t bytes, Coop coop = {},
                                  ginFence_t fence = ginFenceDefault,
                                  ginWaitOptions options = {}) const {
    gin::queues::Descriptor d{};
    d.op = gin::queues::Op::kGet;
    d.dst_window = index_of(remoteWin);
    d.dst_offset = remoteOffset;
    d.src_window = index_of(localWin);
    d.src_offset = localOffset;
    d.bytes = bytes;
    return self().submit(coop, team, peer, d, fence, options);
  }

  // Adds `value` to the 8-byte word at remoteOffset of the peer's remoteWin and brings what it was
  // before into resultOffset of this rank's resultWin, where it is after flush.  Both offsets are
  // multiples of 8.  Atomic with regard to all operations of gind on that word; in its place behind
  // what this context has sent to the peer before, as a strong signal is.
  template <typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t fetchAdd(ginTeam_t team, int peer, ginWindow_t remoteWin,
                                       std::uint64_t remoteOffset, std::uint64_t value,
                                       ginWindow_t resultWin, std::uint64_t resultOffset,
                                       Coop coop = {}, ginFence_t fence = ginFenceDefault,
                                       ginWaitOptions options = {}) const {
    gin::queues::Descriptor d{};
    d.op = gin::queues::Op::kFetchAdd;
    d.dst_window = index_of(remoteWin);
    d.dst_offset = remoteOffset;
    d.src_window = index_of(resultWin);
    d.src_offset = resultOffset;
    d.value = value;
    return self().submit(coop, team, peer, d, fence, options);
  }

  // As fetchAdd, but stores `desired` where the word is `expected`.  The old value tells whether it
  // was.
  template <typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t compareSwap(ginTeam_t team, int peer, ginWindow_t remoteWin,
                                          std::uint64_t remoteOffset, std::uint64_t expected,
                                          std::uint64_t desired, ginWindow_t resultWin,
                                          std::uint64_t resultOffset, Coop coop = {},
                                          ginFence_t fence = ginFenceDefault,
                                          ginWaitOptions options = {}) const {
    gin::queues::Descriptor d{};
    d.op = gin::queues::Op::kCompareSwap;
    d.dst_window = index_of(remoteWin);
    d.dst_offset = remoteOffset;
    d.src_window = index_of(resultWin);
    d.src_offset = resultOffset;
    d.value = desired;
    d.compare = expected;
    return self().submit(coop, team, peer, d, fence, options);
  }

  // A signal without data.  Fence: as with putValue.
  template <typename RemoteAction, typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t signal(ginTeam_t team, int peer, RemoteAction remoteAction,
                                     Coop coop = {}, ginWaitOptions options = {},
                                     ginFence_t fence = ginAlreadyReleased) const {
    static_assert(!std::is_same_v<RemoteAction, ginNoRemoteAction>, "signal needs an action");
    gin::queues::Descriptor d{};
    d.op = gin::queues::Op::kSignal;
    remoteAction.apply(d);
    return self().submit(coop, team, peer, d, fence, options);
  }

 private:
  GIN_HOST_DEVICE const Self& self() const { return static_cast<const Self&>(*this); }

  // The zero handle becomes an index without encoding, so gind reports it as bad use.
  GIN_HOST_DEVICE static std::uint32_t index_of(ginWindow_t window) { return window.id - 1; }
};

}  // namespace gin::device
