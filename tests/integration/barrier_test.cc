// SPDX-License-Identifier: Apache-2.0
// Barriers and teams.
#include "fabric_cases.h"
#include "ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>

namespace gind::test {
namespace {

const ginWaitOptions kWait{kWaitNs, nullptr};
constexpr std::uint64_t kSlot = 64 << 10;

std::string run(const FabricCase& c, const std::function<void(Rank&, World&)>& body) {
  Cluster cluster(cluster_of(c));
  const std::string failures = run_ranks(
      cluster.place(c.ranks),
      [&](Rank& rank) {
        World w = make_world(rank, 64 * kSlot);
        body(rank, w);
        rank.barrier();
        end_world(w);
      },
      100);
  return failures.empty() ? failures : failures + cluster.logs();
}

class BarrierOn : public testing::TestWithParam<FabricCase> {};

// Each round all put to all on `contexts` contexts, meet, and look.
template <typename Meet>
void rounds(Rank& rank, World& w, int contexts, const Meet& meet) {
  const ginTeam_t world = ginTeamWorld(w.dev);
  const int n = rank.nranks();
  for (int round = 1; round <= 30; ++round) {
    std::memset(w.memory, round, kSlot);
    for (int c = 0; c < contexts; ++c) {
      const ginContext ctx{w.dev, c};
      for (int peer = 0; peer < n; ++peer) {
        const auto slot = static_cast<std::uint64_t>(1 + c * n + rank.rank());
        check(ctx.put(world, peer, w.window, slot * kSlot, w.window, 0, kSlot), "put");
      }
    }
    meet();
    for (int slot = 1; slot <= contexts * n; ++slot) {
      const char* p = w.memory + static_cast<std::uint64_t>(slot) * kSlot;
      if (std::all_of(p, p + kSlot, [&](char c) { return c == static_cast<char>(round); }))
        continue;
      throw RankFailure("in round " + std::to_string(round) + " slot " + std::to_string(slot) +
                        " is not what was put before the barrier");
    }
    meet();  // nobody writes the next round's before all have looked
  }
}

TEST_P(BarrierOn, WhatWasPutBeforeIsVisibleAfter) {
  EXPECT_EQ(run(GetParam(),
                [](Rank& rank, World& w) {
                  const ginContext ctx{w.dev, 0};
                  rounds(rank, w, 1, [&] {
                    const ginBarrierSession b{ginCoopThread{}, ctx, ginTeamWorld(w.dev), 2};
                    check(b.sync(ginCoopThread{}, ginOrderAcqRel,
                                 ginBarrierFencePut | ginBarrierFenceGet, kWait),
                          "sync");
                  });
                }),
            "");
}

TEST_P(BarrierOn, OfAllContextsCoversThePutsOfAll) {
  EXPECT_EQ(run(GetParam(),
                [](Rank& rank, World& w) {
                  rounds(rank, w, 4, [&] {
                    const ginBarrierSession b{ginCoopThread{}, ginAllContexts{w.dev},
                                              ginTeamWorld(w.dev), 0};
                    check(b.sync(ginCoopThread{}, ginOrderAcqRel, ginBarrierFenceAll, kWait),
                          "sync");
                  });
                }),
            "");
}

TEST_P(BarrierOn, WithoutAFenceStillMeets) {
  EXPECT_EQ(
      run(GetParam(),
          [](Rank& rank, World& w) {
            const ginContext ctx{w.dev, 1};
            const ginTeam_t world = ginTeamWorld(w.dev);
            const ginBarrierSession b{ginCoopThread{}, ctx, world, 3};
            for (std::uint64_t i = 1; i <= 50; ++i) {
              check(b.sync(ginCoopThread{}, ginOrderRelaxed, ginBarrierFenceNone, kWait), "");
              // All are in round i: nobody's count can be behind it, nor two ahead.
              for (int p = 0; p < rank.nranks(); ++p) {
                check(ctx.signal(world, p, ginSignalInc{static_cast<ginSignal_t>(rank.rank())}),
                      "signal");
              }
              for (int p = 0; p < rank.nranks(); ++p) {
                check(ctx.waitSignal(ginCoopThread{}, static_cast<ginSignal_t>(p), i, 64, kWait),
                      "");
                expect(ctx.readSignal(static_cast<ginSignal_t>(p)) <= i + 1, "no lap ahead");
              }
            }
          }),
      "");
}

INSTANTIATE_TEST_SUITE_P(Fabrics, BarrierOn, testing::ValuesIn(all_fabrics()), fabric_name);

const FabricCase kTwoByThree{"", "tcp;ofi_rxm", {3, 2}, {}};

TEST(Teams, WorldLocalRailAndStridedMeanTheseRanks) {
  EXPECT_EQ(run(kTwoByThree,
                [](Rank& rank, World& w) {
                  const auto ranks = [&](const ginTeam_t& team) {
                    std::string list = std::to_string(team.rank) + ":";
                    for (int i = 0; i < team.nRanks; ++i) {
                      list += " " + std::to_string(ginTeamRankToWorld(w.dev, team, i));
                    }
                    expect(ginTeamRankToWorld(w.dev, team, team.nRanks) == -1, "nobody behind");
                    expect(ginTeamRankToWorld(w.dev, team, -1) == -1, "nobody before");
                    return list;
                  };
                  const auto is = [&](const ginTeam_t& team, const std::string& want) {
                    expect(ranks(team) == want, want + ", not " + ranks(team));
                  };
                  const int r = rank.rank();
                  const std::string me = std::to_string(r);
                  const ginTeam_t world = ginTeamWorld(w.dev);
                  is(world, me + ": 0 1 2 3 4");
                  const ginTeam_t local = ginTeamLocal(w.dev);
                  is(local, r < 3 ? me + ": 0 1 2" : std::to_string(r - 3) + ": 3 4");
                  const ginTeam_t rail = ginTeamRail(w.dev);
                  // Rank 2 is the third of its node, and the other node has no third.
                  is(rail, r == 2 ? "0: 2"
                                  : (r < 3 ? "0: " : "1: ") + std::to_string(r % 3) + " " +
                                        std::to_string(r % 3 + 3));
                  is(ginTeamStrided(world, 0, 2, 3),
                     (r % 2 == 0 ? std::to_string(r / 2) : "-1") + ": 0 2 4");
                  is(ginTeamStrided(world, 4, -1, 2),
                     (r >= 3 ? std::to_string(4 - r) : "-1") + ": 4 3");
                  is(ginTeamStrided(world, 1, 2, 3), "-1:");  // would leave it
                  if (r < 3) is(ginTeamStrided(local, 1, 1, 2), std::to_string(r - 1) + ": 1 2");
                  is(ginTeamInnerFactor(world, 2), "-1:");  // 2 does not divide 5
                  is(ginTeamInnerFactor(world, 5), me + ": 0 1 2 3 4");
                  is(ginTeamOuterFactor(world, 1), me + ": 0 1 2 3 4");
                }),
            "");
}

TEST(Teams, PutsAndBarriersOfSubTeamsReachTheirMembersOnly) {
  EXPECT_EQ(run(kTwoByThree,
                [](Rank& rank, World& w) {
                  const ginContext ctx{w.dev, 0};
                  const ginTeam_t even = ginTeamStrided(ginTeamWorld(w.dev), 0, 2, 3);
                  std::uint32_t index = 0;
                  for (const ginTeam_t& team :
                       {ginTeamLocal(w.dev), ginTeamRail(w.dev), even, ginTeamWorld(w.dev)}) {
                    if (team.rank >= 0) {
                      for (int p = 0; p < team.nRanks; ++p) {
                        check(ctx.signal(team, p, ginSignalInc{index}), "signal");
                      }
                      const ginBarrierSession b{ginCoopThread{}, ctx, team, 0};
                      check(b.sync(ginCoopThread{}, ginOrderAcqRel, ginBarrierFencePut, kWait),
                            "sync");
                      expect(ctx.readSignal(index) == static_cast<std::uint64_t>(team.nRanks),
                             "one signal of each member");
                    }
                    ++index;
                  }
                  rank.barrier();
                  if (rank.rank() % 2 != 0) expect(ctx.readSignal(2) == 0, "nothing for the odd");
                }),
            "");
}

TEST(BarrierFailure, NamesWhoHasNotComeAndIsNotUsedAgain) {
  EXPECT_EQ(run(kTwoByThree,
                [](Rank& rank, World& w) {
                  if (rank.rank() == 3) return;
                  const ginContext ctx{w.dev, 0};
                  const ginBarrierSession b{ginCoopThread{}, ctx, ginTeamWorld(w.dev), 1};
                  ginWaitStatus status{};
                  const ginResult_t met =
                      b.sync(ginCoopThread{}, ginOrderAcqRel, ginBarrierFenceAll,
                             ginWaitOptions{300'000'000, nullptr, &status});
                  expect(met == ginTimeout, "a timeout");
                  expect(status.kind == ginWaitKindBarrier && status.peer == 3 &&
                             status.index == 1 && status.wanted == 1 && status.seen == 0,
                         "a status that names barrier 1 and rank 3");
                  expect(b.sync(ginCoopThread{}) == ginInvalidUsage, "no second use");
                  std::uint32_t stop = 1;
                  const ginBarrierSession other{ginCoopThread{}, ctx, ginTeamWorld(w.dev), 2};
                  expect(other.sync(ginCoopThread{}, ginOrderAcqRel, ginBarrierFenceAll,
                                    ginWaitOptions{0, &stop, &status}) == ginAborted,
                         "the abort flag to end it");
                  expect(ginBarrier(&w.dev, 0, 3, 100'000'000) == ginTimeout, "a timeout");
                  const std::string text = ginGetLastError();
                  expect(text.find("barrier of rank 3: 0, wanted 1") != std::string::npos, text);
                }),
            "");
}

TEST(BarrierFailure, AnIndexOrTeamThatIsNoneIsBadUse) {
  EXPECT_EQ(run(FabricCase{"", "loopback", {1}, {}},
                [](Rank&, World& w) {
                  const ginContext first{w.dev, 0};
                  const ginBarrierSession past{ginCoopThread{}, first, ginTeamWorld(w.dev), 4};
                  expect(past.sync(ginCoopThread{}) == ginInvalidArgument, "bad index");
                  const ginContext second{w.dev, 1};
                  const ginTeam_t none = ginTeamStrided(ginTeamWorld(w.dev), 0, 1, 2);
                  const ginBarrierSession outside{ginCoopThread{}, second, none, 0};
                  expect(outside.sync(ginCoopThread{}) == ginInvalidArgument, "bad team");
                  for (int i = 0; i < 2000 && first.error() == ginSuccess; ++i) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                  }
                  ginResult_t error = ginSuccess;
                  check(ginCommGetAsyncError(w.comm, &error), "async");
                  const std::string text = ginGetLastError();
                  expect(text.find("barrier 4") != std::string::npos, text);
                  throw RankFailure("as it should be");
                }).find("as it should be") != std::string::npos,
            true);
}

}  // namespace
}  // namespace gind::test
