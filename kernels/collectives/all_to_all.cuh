// SPDX-License-Identifier: Apache-2.0
// All-to-all: every rank sends a slot of its own to every rank.
#pragma once

#include "kernels/collectives/common.cuh"

namespace gin::kernels {

// Slot j of `send`, `count` elements, goes to slot [this rank] of rank j's `receive`; both have
// nRanks slots.  In place (receive_at == send_at) it needs nRanks slots of scratch, which nothing
// else does: a slot is sent and received into at the same time.
template <typename T, typename Coop>
GIN_HOST_DEVICE inline ginResult_t all_to_all(const ginDevComm_t& comm, Coop coop,
                                              const Collective& c) {
  const Exchange<Coop> x(comm, coop, c);
  if (!x.valid()) return ginInvalidArgument;
  if (c.count == 0) return ginSuccess;
  const bool in_place = c.send_at == c.receive_at;
  const std::uint64_t landing = in_place ? c.scratch_at : c.receive_at;
  const std::uint64_t all = times(c.count, x.ranks());
  if (!fits(c.window, c.send_at, all, sizeof(T)) || !fits(c.window, landing, all, sizeof(T)) ||
      !apart(c.send_at, all * sizeof(T), landing, all * sizeof(T))) {
    return ginInvalidArgument;
  }
  const Part share = share_of(c.count, c);

  ginResult_t r = x.begin();
  if (r != ginSuccess) return r;
  r = x.put_to_all([&](std::uint64_t peer) {
    return Transfer{c.send_at + (peer * c.count + share.begin) * sizeof(T),
                    landing + (x.rank() * c.count + share.begin) * sizeof(T),
                    share.count * sizeof(T)};
  });
  if (r != ginSuccess) return r;
  r = x.await_all();
  if (r != ginSuccess) return r;
  r = x.flush();
  if (r != ginSuccess || !in_place) return r;

  // Sent (flushed) and received: now the slots may change.
  const T* const from = reinterpret_cast<const T*>(c.window.base + landing);
  T* const to = reinterpret_cast<T*>(c.window.base + c.receive_at);
  for (std::uint64_t slot = 0; slot < x.ranks(); ++slot) {
    const std::uint64_t at = slot * c.count + share.begin;
    for (std::uint64_t i = coop.thread_rank(); i < share.count; i += coop.size()) {
      to[at + i] = from[at + i];
    }
  }
  coop.sync();
  return ginSuccess;
}

}  // namespace gin::kernels
