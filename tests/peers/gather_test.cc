// SPDX-License-Identifier: Apache-2.0
#include "tests/peers/cluster.h"

#include <gtest/gtest.h>

namespace gind::test {
namespace {

bool all_done(const Gathers& results) {
  for (const auto& r : results) {
    if (!r) return false;
  }
  return true;
}

TEST(Gather, EveryRankGetsEveryPayloadByRank) {
  Cluster c;
  c.add_many(4);
  {
    const auto members = c.communicator({0, 1, 0, 2, 3, 1, 0, 0});
    Gathers results(members.size());
    for (int round = 1; round <= 3; ++round) {
      for (std::size_t r = members.size(); r-- > 0;) {
        const std::string payload = std::to_string(round) + std::string(r, 'x') + '\0';
        Cluster::gather(members[r], static_cast<int>(r), CollectiveKind::kWindowRegister, payload,
                        &results[r]);
        EXPECT_FALSE(results[r]) << "answered from inside the call";
      }
      ASSERT_TRUE(c.run_until([&] { return all_done(results); }));
      for (const auto& result : results) {
        ASSERT_TRUE(result->ok()) << result->error().message;
        ASSERT_EQ(result->value().size(), members.size());
        for (std::size_t q = 0; q < members.size(); ++q) {
          EXPECT_EQ(result->value()[q], std::to_string(round) + std::string(q, 'x') + '\0');
        }
      }
    }
    EXPECT_EQ(c.net(0).counts().rounds, 0u);
  }
  EXPECT_TRUE(c.empties());
}

TEST(Gather, AThousandRanksOfFullPayloadsFit) {
  Cluster c;
  c.add_many(2);
  std::vector<std::size_t> where(1024);
  for (std::size_t r = 0; r < where.size(); ++r) where[r] = r % 2;
  const auto members = c.communicator(where);
  Gathers results(members.size());
  for (std::size_t r = 0; r < members.size(); ++r) {
    Cluster::gather(members[r], static_cast<int>(r), CollectiveKind::kDevCommCreate,
                    std::string(512, static_cast<char>('a' + r % 26)), &results[r]);
  }
  ASSERT_TRUE(c.run_until([&] { return all_done(results); }));
  ASSERT_TRUE(results[1]->ok()) << results[1]->error().message;
  EXPECT_EQ(results[1]->value()[1023], std::string(512, static_cast<char>('a' + 1023 % 26)));
}

TEST(Gather, DifferentCallsFailThatRoundOnlyAndNameBoth) {
  Cluster c;
  c.add_many(3);
  const auto members = c.communicator({0, 1, 2});
  Gathers results(3);
  const auto round = [&](std::vector<CollectiveKind> kinds) {
    for (int r = 0; r < 3; ++r) {
      Cluster::gather(members[r], r, kinds[r], "p", &results[r]);
      c.settle();
    }
    ASSERT_TRUE(c.run_until([&] { return all_done(results); }));
  };
  const auto reg = CollectiveKind::kWindowRegister;
  const auto dev = CollectiveKind::kDevCommCreate;
  round({reg, reg, reg});
  round({reg, dev, reg});
  for (const auto& result : results) {
    ASSERT_FALSE(result->ok());
    EXPECT_EQ(result->error().code, ginInvalidUsage);
    EXPECT_EQ(result->error().message,
              "rank 1 called ginDevCommCreate while rank 0 called ginCommWindowRegister "
              "(collective 2)");
  }
  EXPECT_TRUE(c.run_until([&] { return c.net(0).counts().rounds == 0; }));
  round({dev, dev, dev});
  for (const auto& result : results) EXPECT_TRUE(result->ok());
}

TEST(Gather, MissingRanksAreNamedAtTheDeadlineAndLaterRoundsWork) {
  Cluster quick;
  auto o = Cluster::options();
  o.rendezvous = 300ms;
  quick.add_many(2, o);
  const auto members = quick.communicator({0, 1, 1});
  Gathers results(3);
  const auto kind = CollectiveKind::kFinalize;
  Cluster::gather(members[0], 0, kind, "", &results[0]);
  ASSERT_TRUE(quick.run_until([&] { return results[0].has_value(); }));
  EXPECT_EQ(results[0]->error().code, ginTimeout);
  EXPECT_EQ(results[0]->error().message,
            "ranks 1, 2 of 3 did not call ginCommFinalize (collective 1) within 300 ms");
  // The late ones get the same verdict at once; then all are in step again.
  Cluster::gather(members[1], 1, kind, "", &results[1]);
  Cluster::gather(members[2], 2, kind, "", &results[2]);
  ASSERT_TRUE(quick.run_until([&] { return all_done(results); }));
  EXPECT_EQ(results[2]->error().message, results[0]->error().message);
  EXPECT_TRUE(quick.run_until([&] { return quick.net(0).counts().rounds == 0; }));
  for (int r = 0; r < 3; ++r) Cluster::gather(members[r], r, kind, "again", &results[r]);
  ASSERT_TRUE(quick.run_until([&] { return all_done(results); }));
  for (const auto& result : results) EXPECT_TRUE(result->ok());
}

TEST(Gather, ARankThatIsGoneEndsOpenAndLaterRounds) {
  Cluster c;
  c.add_many(3);
  const auto members = c.communicator({0, 1, 2});
  Gathers results(2);
  const auto kind = CollectiveKind::kWindowRegister;
  Cluster::gather(members[0], 0, kind, "", &results[0]);
  Cluster::gather(members[1], 1, kind, "", &results[1]);
  c.settle();
  EXPECT_FALSE(results[0] || results[1]);
  members[2]->announce_gone(2, ginRemoteError, "its process ended");
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(c.run_until([&] { return all_done(results); }));
    for (const auto& result : results) {
      ASSERT_FALSE(result->ok());
      EXPECT_EQ(result->error().code, ginRemoteError);
      expect_has(result->error().message, {"rank 2 on node n2", "is gone: its process ended"});
    }
    Cluster::gather(members[0], 0, kind, "", &results[0]);
    Cluster::gather(members[1], 1, kind, "", &results[1]);
  }
  ASSERT_TRUE(c.run_until([&] { return all_done(results); }));
}

TEST(Gather, BadCallsAreRefusedWithoutTakingTheRankOutOfStep) {
  Cluster c;
  c.add_many(2);
  const auto members = c.communicator({0, 1});
  Gathers results(2);
  const auto kind = CollectiveKind::kWindowRegister;
  Cluster::gather(members[0], 1, kind, "", &results[0]);
  ASSERT_TRUE(c.run_until([&] { return results[0].has_value(); }));
  expect_has(results[0]->error().message, {"rank 1", "not on this node"});
  Cluster::gather(members[0], 0, kind, std::string(kMaxGatherPayload + 1, 'x'), &results[0]);
  ASSERT_TRUE(c.run_until([&] { return results[0].has_value(); }));
  EXPECT_EQ(results[0]->error().code, ginLimitExceeded);
  for (int r = 0; r < 2; ++r) Cluster::gather(members[r], r, kind, "", &results[r]);
  ASSERT_TRUE(c.run_until([&] { return all_done(results); }));
  EXPECT_TRUE(results[0]->ok() && results[1]->ok());
}

}  // namespace
}  // namespace gind::test
