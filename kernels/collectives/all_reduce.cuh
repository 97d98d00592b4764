// SPDX-License-Identifier: Apache-2.0
// All-reduce in two shots: every rank reduces a shard, then all gather the shards.
#pragma once

#include "kernels/collectives/all_gather.cuh"
#include "kernels/collectives/reduce_scatter.cuh"

namespace gin::kernels {

// Elements of scratch that all_reduce of `count` needs.
GIN_HOST_DEVICE inline std::uint64_t all_reduce_scratch(std::uint64_t count, std::uint64_t ranks) {
  return times(count / ranks + (count % ranks != 0), ranks);
}

// The `count` elements of `send`, reduced over all ranks in their order, are the `count` elements
// of every rank's `receive`, bit for bit the same.  In place: receive_at == send_at.
template <typename T, typename Op, typename Coop>
GIN_HOST_DEVICE inline ginResult_t all_reduce(const ginDevComm_t& comm, Coop coop,
                                              const Collective& c, Op op = {}) {
  const Exchange<Coop> x(comm, coop, c);
  if (!x.valid()) return ginInvalidArgument;
  if (c.count == 0) return ginSuccess;
  const std::uint64_t scratch = all_reduce_scratch(c.count, x.ranks());
  if (!fits(c.window, c.send_at, c.count, sizeof(T)) ||
      !fits(c.window, c.receive_at, c.count, sizeof(T)) ||
      !fits(c.window, c.scratch_at, scratch, sizeof(T))) {
    return ginInvalidArgument;
  }
  const std::uint64_t bytes = c.count * sizeof(T);
  if (!apart(c.scratch_at, scratch * sizeof(T), c.send_at, bytes) ||
      !apart(c.scratch_at, scratch * sizeof(T), c.receive_at, bytes) ||
      (c.send_at != c.receive_at && !apart(c.send_at, bytes, c.receive_at, bytes))) {
    return ginInvalidArgument;
  }
  // A block gathers the share of every shard that it has reduced, so blocks need not meet.
  const auto shard = [&](std::uint64_t rank) { return part_of(c.count, x.ranks(), rank); };
  const std::uint64_t result = c.receive_at + shard(x.rank()).begin * sizeof(T);
  const std::uint64_t stride = scratch / x.ranks();

  ginResult_t r = x.begin();
  if (r != ginSuccess) return r;
  r = detail::reduce_shards<T>(x, coop, c, shard, stride, result, op);
  if (r != ginSuccess) return r;
  // No barrier between the two: a rank gathers shard r into what it may have been sending shard r
  // from, but rank r has reduced that shard, so it has arrived there and its source was read.
  r = detail::gather<T>(x, c, result, shard);
  return r != ginSuccess ? r : x.flush();
}

}  // namespace gin::kernels
