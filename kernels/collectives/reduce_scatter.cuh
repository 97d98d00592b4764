// SPDX-License-Identifier: Apache-2.0
// Reduce-scatter: every rank gets one shard of the reduction of what all send.
#pragma once

#include "kernels/collectives/common.cuh"

namespace gin::kernels {

namespace detail {

// `count` elements of nRanks operands, in the order of the ranks: the same result whatever came
// first.  operand(r) is rank r's; result may be one of them.
template <std::uint32_t Together, typename T, typename Op, typename Coop, typename F>
GIN_HOST_DEVICE inline void reduce_some(Coop coop, F operand, std::uint64_t ranks, T* result,
                                        std::uint64_t first, Op op) {
  T sum[Together];
  const T* from = operand(0);
  for (std::uint32_t k = 0; k < Together; ++k) sum[k] = from[first + k * coop.size()];
  for (std::uint64_t r = 1; r < ranks; ++r) {
    from = operand(r);
    for (std::uint32_t k = 0; k < Together; ++k) {
      sum[k] = op(sum[k], from[first + k * coop.size()]);
    }
  }
  for (std::uint32_t k = 0; k < Together; ++k) result[first + k * coop.size()] = sum[k];
}

template <typename T, typename Op, typename Coop, typename F>
GIN_HOST_DEVICE inline void reduce_ranks(Coop coop, F operand, std::uint64_t ranks, T* result,
                                         std::uint64_t count, Op op) {
  // Several loads at a time: to a GPU each is a trip over the bus.
  constexpr std::uint32_t kTogether = 8;
  const std::uint64_t round = std::uint64_t{coop.size()} * kTogether;
  const std::uint64_t whole = count / round * round;
  for (std::uint64_t i = coop.thread_rank(); i < whole; i += round) {
    reduce_some<kTogether>(coop, operand, ranks, result, i, op);
  }
  for (std::uint64_t i = whole + coop.thread_rank(); i < count; i += coop.size()) {
    reduce_some<1>(coop, operand, ranks, result, i, op);
  }
}

// The exchange and the reduction, of the block's share: shard(r) of `send`, in elements, is reduced
// by rank r into its `result`.  Scratch has one slot of `stride` elements for each source; the own
// shard stays where it is.
template <typename T, typename Op, typename Coop, typename F>
GIN_HOST_DEVICE inline ginResult_t reduce_shards(const Exchange<Coop>& x, Coop coop,
                                                 const Collective& c, F shard, std::uint64_t stride,
                                                 std::uint64_t result, Op op) {
  ginResult_t r = x.put_to_all([&](std::uint64_t peer) {
    const Part theirs = shard(peer);
    const Part share = share_of(theirs.count, c);
    return Transfer{c.send_at + (theirs.begin + share.begin) * sizeof(T),
                    c.scratch_at + (x.rank() * stride + share.begin) * sizeof(T),
                    peer == x.rank() ? 0 : share.count * sizeof(T)};
  });
  if (r != ginSuccess) return r;
  r = x.await_all();
  if (r != ginSuccess) return r;
  const Part mine = shard(x.rank());
  const Part share = share_of(mine.count, c);
  const T* const own = reinterpret_cast<const T*>(c.window.base + c.send_at) + mine.begin;
  const T* const slots = reinterpret_cast<const T*>(c.window.base + c.scratch_at);
  const auto operand = [&](std::uint64_t source) {
    return (source == x.rank() ? own : slots + source * stride) + share.begin;
  };
  reduce_ranks(coop, operand, x.ranks(), reinterpret_cast<T*>(c.window.base + result) + share.begin,
               share.count, op);
  coop.sync();
  return ginSuccess;
}

}  // namespace detail

// Elements of scratch that reduce_scatter of `count` needs.
GIN_HOST_DEVICE inline std::uint64_t reduce_scatter_scratch(std::uint64_t count,
                                                            std::uint64_t ranks) {
  return times(count, ranks);
}

// `send` has nRanks shards of `count` elements; shard [this rank], reduced over all ranks in their
// order, is the `count` elements of `receive`.  In place: receive_at is this rank's own shard of
// `send`, so it differs between the ranks.
template <typename T, typename Op, typename Coop>
GIN_HOST_DEVICE inline ginResult_t reduce_scatter(const ginDevComm_t& comm, Coop coop,
                                                  const Collective& c, Op op = {}) {
  const Exchange<Coop> x(comm, coop, c);
  if (!x.valid()) return ginInvalidArgument;
  if (c.count == 0) return ginSuccess;
  const std::uint64_t all = times(c.count, x.ranks());
  const std::uint64_t bytes = all * sizeof(T);
  if (!fits(c.window, c.send_at, all, sizeof(T)) || !fits(c.window, c.scratch_at, all, sizeof(T)) ||
      !fits(c.window, c.receive_at, c.count, sizeof(T)) ||
      !apart(c.scratch_at, bytes, c.send_at, bytes) ||
      !apart(c.scratch_at, bytes, c.receive_at, c.count * sizeof(T))) {
    return ginInvalidArgument;
  }
  const bool in_place = c.receive_at == c.send_at + x.rank() * c.count * sizeof(T);
  if (!in_place && !apart(c.send_at, bytes, c.receive_at, c.count * sizeof(T))) {
    return ginInvalidArgument;
  }

  ginResult_t r = x.begin();
  if (r != ginSuccess) return r;
  const auto shard = [&](std::uint64_t rank) { return Part{rank * c.count, c.count}; };
  r = detail::reduce_shards<T>(x, coop, c, shard, c.count, c.receive_at, op);
  return r != ginSuccess ? r : x.flush();
}

}  // namespace gin::kernels
