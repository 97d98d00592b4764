// SPDX-License-Identifier: Apache-2.0
// Collective calls of every kind with inputs that follow from rank, place and call, and a plain
// loop over all ranks' inputs to compare with.
#pragma once

#include "fabric_cases.h"
#include "kernels/collectives/all_gather.cuh"
#include "kernels/collectives/all_reduce.cuh"
#include "kernels/collectives/all_to_all.cuh"
#include "kernels/collectives/reduce_scatter.cuh"
#include "ranks.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace gind::test {

namespace k = gin::kernels;

inline constexpr std::uint64_t kRegion = 256 << 10;
inline constexpr std::uint64_t kSend = kRegion + 64;
inline constexpr std::uint64_t kReceive = 2 * kRegion + 128;
inline constexpr std::uint64_t kScratch = 3 * kRegion + 192;
inline constexpr int kContexts = 3;
inline constexpr char kUntouched = 0x5a;

enum class Kind { kAllToAll, kAllGather, kReduceScatter, kAllReduce };
inline constexpr Kind kKinds[] = {Kind::kAllToAll, Kind::kAllGather, Kind::kReduceScatter,
                                  Kind::kAllReduce};

// Element i of what `rank` sends in call `call`.  Floating-point sums of these depend on the order.
template <typename T>
T input(int rank, std::uint64_t i, std::uint64_t call) {
  const std::uint64_t x =
      (static_cast<std::uint64_t>(rank + 1) * 0x9e3779b97f4a7c15u + i + call * 7919) *
      0xff51afd7ed558ccdu;
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(x >> 40) / T{1009} - T{8000};
  return static_cast<T>(x >> (std::is_signed_v<T> ? 36 : 0));  // signed sums must not overflow
}

struct Case {
  Kind kind;
  std::uint64_t count;
  bool in_place;
  std::uint32_t blocks;
  std::uint64_t call;
};

// Elements that a rank sends and receives.
inline std::uint64_t sent(const Case& c, std::uint64_t n) {
  return c.kind == Kind::kAllToAll || c.kind == Kind::kReduceScatter ? c.count * n : c.count;
}
inline std::uint64_t received(const Case& c, std::uint64_t n) {
  return c.kind == Kind::kAllToAll || c.kind == Kind::kAllGather ? c.count * n : c.count;
}

template <typename T, typename Op>
T expected(const Case& c, int rank, int n, std::uint64_t i) {
  const auto me = static_cast<std::uint64_t>(rank);
  const auto slot = static_cast<int>(c.count == 0 ? 0 : i / c.count);
  if (c.kind == Kind::kAllToAll) return input<T>(slot, me * c.count + i % c.count, c.call);
  if (c.kind == Kind::kAllGather) return input<T>(slot, i % c.count, c.call);
  const std::uint64_t at = c.kind == Kind::kReduceScatter ? me * c.count + i : i;
  T value = input<T>(0, at, c.call);
  for (int r = 1; r < n; ++r) value = Op{}(value, input<T>(r, at, c.call));
  return value;
}

struct Places {
  std::uint64_t send, receive;
};
template <typename T>
Places places_of(const Case& c, int rank) {
  const std::uint64_t mine = static_cast<std::uint64_t>(rank) * c.count * sizeof(T);
  if (!c.in_place) return {kSend, kReceive};
  if (c.kind == Kind::kAllGather) return {kReceive + mine, kReceive};
  if (c.kind == Kind::kReduceScatter) return {kSend, kSend + mine};
  return {kReceive, kReceive};
}

template <typename T, typename Op>
ginResult_t call_block(const World& w, const Case& c, std::uint32_t block,
                       const ginWaitOptions& options) {
  const Places at = places_of<T>(c, w.dev.rank);
  k::Collective call;
  call.window = w.window;
  call.send_at = at.send;
  call.receive_at = at.receive;
  call.scratch_at = kScratch;
  call.count = c.count;
  call.block = block;
  call.blocks = c.blocks;
  call.first_signal = 3;
  call.barrier = 1;
  call.options = options;
  switch (c.kind) {
    case Kind::kAllToAll:
      return k::all_to_all<T>(w.dev, ginCoopThread{}, call);
    case Kind::kAllGather:
      return k::all_gather<T>(w.dev, ginCoopThread{}, call);
    case Kind::kReduceScatter:
      return k::reduce_scatter<T, Op>(w.dev, ginCoopThread{}, call);
    case Kind::kAllReduce:
      return k::all_reduce<T, Op>(w.dev, ginCoopThread{}, call);
  }
  return ginInternalError;
}

// All blocks, each in a thread of its own; the largest result.
template <typename T, typename Op>
ginResult_t call(const World& w, const Case& c, const ginWaitOptions& options = {kWaitNs}) {
  if (c.blocks == 1) return call_block<T, Op>(w, c, 0, options);
  std::vector<ginResult_t> results(c.blocks);
  std::vector<std::thread> threads;
  for (std::uint32_t b = 0; b < c.blocks; ++b) {
    threads.emplace_back([&, b] { results[b] = call_block<T, Op>(w, c, b, options); });
  }
  for (std::thread& t : threads) t.join();
  return *std::max_element(results.begin(), results.end());
}

template <typename T>
void prepare(const World& w, const Case& c) {
  const Places at = places_of<T>(c, w.dev.rank);
  std::memset(w.memory + at.receive - 64, kUntouched,
              received(c, static_cast<std::uint64_t>(w.dev.nRanks)) * sizeof(T) + 128);
  auto* const send = reinterpret_cast<T*>(w.memory + at.send);
  const std::uint64_t n = sent(c, static_cast<std::uint64_t>(w.dev.nRanks));
  for (std::uint64_t i = 0; i < n; ++i) send[i] = input<T>(w.dev.rank, i, c.call);
}

// The first element of the result that is wrong, or bytes beside it that were written.
template <typename T, typename Op>
std::optional<std::string> find_wrong(const World& w, const Case& c) {
  const std::uint64_t n = received(c, static_cast<std::uint64_t>(w.dev.nRanks));
  const char* const at = w.memory + places_of<T>(c, w.dev.rank).receive;
  for (std::uint64_t i = 0; i < n; ++i) {
    T got{};
    std::memcpy(&got, at + i * sizeof(T), sizeof(T));
    const T want = expected<T, Op>(c, w.dev.rank, w.dev.nRanks, i);
    if (std::memcmp(&got, &want, sizeof(T)) == 0) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(got) + ", not " +
           std::to_string(want);
  }
  if (c.in_place) return std::nullopt;  // beside it are elements that were sent
  for (const char* guard : {at - 64, at + n * sizeof(T)}) {
    if (std::any_of(guard, guard + 64, [](char b) { return b != kUntouched; })) {
      return "bytes beside the result were written";
    }
  }
  return std::nullopt;
}

template <typename T, typename Op>
void call_and_check(const World& w, const Case& c) {
  prepare<T>(w, c);
  const std::string what = "kind " + std::to_string(static_cast<int>(c.kind)) + " of " +
                           std::to_string(c.count) + " elements in " + std::to_string(c.blocks) +
                           " blocks, call " + std::to_string(c.call) +
                           (c.in_place ? ", in place" : "");
  check((call<T, Op>(w, c)), what);
  const auto wrong = find_wrong<T, Op>(w, c);
  if (wrong) throw RankFailure(what + ": " + *wrong);
}

inline std::string run(const FabricCase& f, const std::function<void(Rank&, World&)>& body) {
  Cluster cluster(cluster_of(f));
  const std::string failures = run_ranks(
      cluster.place(f.ranks),
      [&](Rank& rank) {
        ginDevCommRequirements_t need = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
        need.contexts = kContexts;
        need.signals = 3 + rank.nranks();
        need.barriers = 2;
        need.poster = ginPosterHost;
        World w = make_world(rank, 5 * kRegion, &need);
        body(rank, w);
        rank.barrier();
        end_world(w);
      },
      100);
  return failures.empty() ? failures : failures + cluster.logs();
}

}  // namespace gind::test
