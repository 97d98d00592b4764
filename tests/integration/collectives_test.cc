// SPDX-License-Identifier: Apache-2.0
// The collectives give every rank what a plain loop over all ranks' inputs gives, on every fabric.
#include "collectives_run.h"

#include <gtest/gtest.h>

namespace gind::test {
namespace {

class CollectivesOn : public testing::TestWithParam<FabricCase> {};

// The calls follow each other without anything between them: a rank prepares its next call while
// others are still in the last one.
template <typename T, typename Op>
void sweep(World& w, std::initializer_list<std::uint64_t> counts) {
  std::uint64_t call = 0;
  for (const std::uint32_t blocks : {1u, 3u}) {
    for (const std::uint64_t count : counts) {
      for (const Kind kind : kKinds) {
        for (const bool in_place : {false, true}) {
          call_and_check<T, Op>(w, Case{kind, count, in_place, blocks, ++call});
        }
      }
    }
  }
}

TEST_P(CollectivesOn, GiveTheReferencesResultAtOddSizesInPlaceAndNot) {
  EXPECT_EQ(run(GetParam(),
                [](Rank&, World& w) {
                  const auto counts = {0ul, 1ul, 2ul, 5ul, 63ul, 1000ul, 4099ul};
                  sweep<float, k::Sum>(w, counts);
                  sweep<std::uint64_t, k::Max>(w, counts);
                }),
            "");
}

TEST_P(CollectivesOn, ReduceEveryTypeBothWays) {
  EXPECT_EQ(run(GetParam(),
                [](Rank&, World& w) {
                  const auto counts = {7ul, 1021ul};
                  sweep<float, k::Max>(w, counts);
                  sweep<double, k::Sum>(w, counts);
                  sweep<double, k::Max>(w, counts);
                  sweep<std::int32_t, k::Sum>(w, counts);
                  sweep<std::int32_t, k::Max>(w, counts);
                  sweep<std::uint64_t, k::Sum>(w, counts);
                }),
            "");
}

TEST_P(CollectivesOn, CallsInARowDoNotDisturbEachOther) {
  EXPECT_EQ(run(GetParam(),
                [](Rank& rank, World& w) {
                  for (std::uint64_t i = 0; i < 200; ++i) {
                    // Now one rank is late, now another.
                    if (static_cast<int>(i) % (8 * rank.nranks()) == rank.rank()) {
                      std::this_thread::sleep_for(std::chrono::milliseconds(2));
                    }
                    const Kind kind = kKinds[i / 3 % 4];
                    call_and_check<float, k::Sum>(
                        w, Case{kind, 500 + i, i % 2 == 1, i % 5 == 0 ? 3u : 1u, i});
                  }
                }),
            "");
}

TEST_P(CollectivesOn, AWrongElementIsSeenWhereItIs) {
  EXPECT_EQ(run(GetParam(),
                [](Rank& rank, World& w) {
                  const Case c{Kind::kAllReduce, 1003, false, 1, 1};
                  auto* const result = reinterpret_cast<float*>(w.memory + kReceive);
                  prepare<float>(w, c);
                  check((call<float, k::Sum>(w, c)), "all_reduce");
                  expect(!find_wrong<float, k::Sum>(w, c), "a right result");
                  result[777] += 0.25f;
                  auto wrong = find_wrong<float, k::Sum>(w, c);
                  expect(wrong && wrong->starts_with("element 777 "), "the changed element");
                  result[777] -= 0.25f;
                  w.memory[kReceive + 1003 * sizeof(float)] = 0;
                  wrong = find_wrong<float, k::Sum>(w, c);
                  expect(wrong && wrong->starts_with("bytes beside"), "the byte beside");
                  // What one rank sends wrongly all ranks see.
                  prepare<float>(w, c);
                  if (rank.rank() == rank.nranks() - 1) {
                    reinterpret_cast<float*>(w.memory + kSend)[1002] += 1;
                  }
                  check((call<float, k::Sum>(w, c)), "all_reduce");
                  wrong = find_wrong<float, k::Sum>(w, c);
                  expect(wrong && wrong->starts_with("element 1002 "), "the wrong input");
                }),
            "");
}

INSTANTIATE_TEST_SUITE_P(
    Fabrics, CollectivesOn,
    testing::Values(FabricCase{"Loopback", "loopback", {4}, {}},
                    FabricCase{"LoopbackAlone", "loopback", {1}, {}},
                    FabricCase{"LoopbackOdd", "loopback", {3}, {"proxy.threads=2"}},
                    FabricCase{"Tcp", "tcp;ofi_rxm", {2, 2}, {}},
                    FabricCase{
                        "TcpSequence", "tcp;ofi_rxm", {2, 2}, {"transport.signal_mode=sequence"}},
                    FabricCase{"TcpPieces", "tcp;ofi_rxm", {2, 1}, {"proxy.piece_bytes=4KiB"}}),
    fabric_name);

}  // namespace
}  // namespace gind::test
