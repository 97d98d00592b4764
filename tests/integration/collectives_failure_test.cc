// SPDX-License-Identifier: Apache-2.0
// Collectives that cannot end well end nevertheless, and refuse what cannot be.
#include "collectives_run.h"

#include <gtest/gtest.h>

namespace gind::test {
namespace {

const FabricCase kThree{"", "loopback", {3}, {}};

TEST(Collectives, EndWhenARankDoesNotCome) {
  EXPECT_EQ(run(kThree,
                [](Rank& rank, World& w) {
                  for (const Kind kind : kKinds) {
                    ginWaitStatus status{};
                    const Case c{kind, 100, false, 1, 1};
                    if (rank.rank() == 2) continue;
                    prepare<float>(w, c);
                    const auto r = call<float, k::Sum>(w, c, {200'000'000, nullptr, &status});
                    // The barrier that has failed says so from then on.
                    const bool first = kind == kKinds[0];
                    expect(r == (first ? ginTimeout : ginInvalidUsage),
                           "a timeout, not " + std::to_string(r));
                    if (first) expect(status.peer == 2, "the rank that is missing");
                  }
                }),
            "");
}

TEST(Collectives, AnAbortEndsThem) {
  EXPECT_EQ(run(kThree,
                [](Rank& rank, World& w) {
                  if (rank.rank() == 0) return;
                  const std::uint32_t abort = 1;
                  const Case c{Kind::kAllReduce, 100, false, 1, 1};
                  prepare<float>(w, c);
                  const auto r = call<float, k::Sum>(w, c, {kWaitNs, &abort});
                  expect(r == ginAborted, "aborted, not " + std::to_string(r));
                }),
            "");
}

TEST(Collectives, RefuseWhatCannotBeWithoutTouchingAnything) {
  EXPECT_EQ(
      run(kThree,
          [](Rank& rank, World& w) {
            const auto refused = [&](const char* what, auto change) {
              k::Collective c;
              c.window = w.window;
              c.send_at = kSend;
              c.receive_at = kReceive;
              c.scratch_at = kScratch;
              c.count = 100;
              change(c);
              const ginCoopThread coop;
              expect(k::all_to_all<float>(w.dev, coop, c) == ginInvalidArgument, what);
              expect(k::all_gather<float>(w.dev, coop, c) == ginInvalidArgument, what);
              expect(k::reduce_scatter<float, k::Sum>(w.dev, coop, c) == ginInvalidArgument, what);
              expect(k::all_reduce<float, k::Sum>(w.dev, coop, c) == ginInvalidArgument, what);
            };
            refused("signals", [](auto& c) { c.first_signal = 4; });
            refused("barrier", [](auto& c) { c.barrier = 2; });
            refused("context", [](auto& c) { c.first_context = kContexts; });
            refused("blocks", [](auto& c) { c.blocks = 0; });
            refused("block", [](auto& c) { c.block = 1; });
            refused("count", [](auto& c) { c.count = ~std::uint64_t{0} / 2; });
            refused("offset", [](auto& c) { c.receive_at += 2; });
            refused("end", [](auto& c) { c.receive_at = 5 * kRegion - 4; });
            refused("overlap", [](auto& c) { c.receive_at = c.send_at + 40; });
            for (int i = 0; i < kContexts; ++i) {
              expect(ginContext(w.dev, i).error() == ginSuccess, "no context in error");
            }
            rank.barrier();
            call_and_check<float, k::Sum>(w, Case{Kind::kAllReduce, 100, false, 3, 1});
          }),
      "");
}

}  // namespace
}  // namespace gind::test
