// SPDX-License-Identifier: Apache-2.0
// All-gather: every rank gets what every rank sends.
#pragma once

#include "kernels/collectives/common.cuh"

namespace gin::kernels {

namespace detail {

// The exchange alone, of the block's share: shard(r) of `receive`, in elements, is rank r's and
// comes from its `from`.  Where that is its place in `receive` already, the rank sends itself the
// signal only.
template <typename T, typename Coop, typename F>
GIN_HOST_DEVICE inline ginResult_t gather(const Exchange<Coop>& x, const Collective& c,
                                          std::uint64_t from, F shard) {
  const Part mine = shard(x.rank());
  const Part share = share_of(mine.count, c);
  const std::uint64_t to = c.receive_at + mine.begin * sizeof(T);
  const ginResult_t r = x.put_to_all([&](std::uint64_t peer) {
    return Transfer{from + share.begin * sizeof(T), to + share.begin * sizeof(T),
                    peer == x.rank() && from == to ? 0 : share.count * sizeof(T)};
  });
  return r != ginSuccess ? r : x.await_all();
}

}  // namespace detail

// `count` elements of `send` go to slot [this rank] of every rank's `receive`, which has nRanks
// slots.  In place: send_at is this rank's own slot of `receive`, so it differs between the ranks.
template <typename T, typename Coop>
GIN_HOST_DEVICE inline ginResult_t all_gather(const ginDevComm_t& comm, Coop coop,
                                              const Collective& c) {
  const Exchange<Coop> x(comm, coop, c);
  if (!x.valid()) return ginInvalidArgument;
  if (c.count == 0) return ginSuccess;
  const std::uint64_t all = times(c.count, x.ranks());
  if (!fits(c.window, c.send_at, c.count, sizeof(T)) ||
      !fits(c.window, c.receive_at, all, sizeof(T))) {
    return ginInvalidArgument;
  }
  const bool in_place = c.send_at == c.receive_at + x.rank() * c.count * sizeof(T);
  if (!in_place && !apart(c.send_at, c.count * sizeof(T), c.receive_at, all * sizeof(T))) {
    return ginInvalidArgument;
  }

  ginResult_t r = x.begin();
  if (r != ginSuccess) return r;
  r = detail::gather<T>(x, c, c.send_at, [&](std::uint64_t rank) {
    return Part{rank * c.count, c.count};
  });
  return r != ginSuccess ? r : x.flush();
}

}  // namespace gin::kernels
