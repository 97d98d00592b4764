// SPDX-License-Identifier: Apache-2.0
// Ranks that leave or die, and ginds that are lost.
#include "tests/peers/cluster.h"

#include <gtest/gtest.h>

#include <map>

namespace gind::test {
namespace {

struct Seen {
  std::map<int, std::pair<ginResult_t, std::string>> gone;
  std::vector<int> released;
};

void watch(const std::shared_ptr<Membership>& member, Seen* seen) {
  member->observe({[seen](int rank, ginResult_t code, const std::string& reason) {
                     EXPECT_EQ(seen->gone.count(rank), 0u) << "told twice of rank " << rank;
                     seen->gone[rank] = {code, reason};
                   },
                   [seen](int rank) { seen->released.push_back(rank); }});
}

TEST(Departure, OthersHearOfItAndTheRankIsReleasedWhenAllAreQuiet) {
  Cluster c;
  c.add_many(3);
  Seen seen[3];
  {
    const auto members = c.communicator({0, 1, 2, 1});
    for (int i = 0; i < 3; ++i) watch(members[i], &seen[i]);
    members[1]->announce_gone(1, ginRemoteError, "pid 12 was killed");
    ASSERT_TRUE(c.run_until([&] { return seen[0].gone.count(1) && seen[2].gone.count(1); }));
    EXPECT_EQ(seen[0].gone[1].first, ginRemoteError);
    EXPECT_EQ(seen[2].gone[1].second, "pid 12 was killed");
    EXPECT_TRUE(seen[1].gone.empty()) << "ranks of its own gind are told by their owner";
    members[0]->announce_quiet(1);
    c.settle();
    EXPECT_TRUE(seen[1].released.empty()) << "node 2 is not quiet yet";
    members[2]->announce_quiet(1);
    ASSERT_TRUE(c.run_until([&] { return !seen[1].released.empty(); }));
    EXPECT_EQ(seen[1].released, std::vector<int>{1});
    EXPECT_EQ(c.net(0).counts().communicators, 1u);
  }
  EXPECT_TRUE(c.empties());
}

TEST(Departure, OnOneGindTheReleaseComesByItself) {
  Cluster c;
  c.add();
  Seen seen;
  {
    const auto members = c.communicator({0, 0});
    watch(members[0], &seen);
    members[0]->announce_gone(0, ginSuccess, "");
    EXPECT_TRUE(seen.released.empty()) << "never from inside";
    members[0]->announce_gone(1, ginSuccess, "");
    ASSERT_TRUE(c.run_until([&] { return seen.released.size() == 2; }));
    EXPECT_TRUE(seen.gone.empty());
    EXPECT_EQ(c.net(0).counts().communicators, 0u) << "freed once all ranks have gone";
  }
  EXPECT_TRUE(c.empties());
}

TEST(Departure, BothSidesLeavingAtOnceAreBothReleased) {
  Cluster c;
  c.add_many(2);
  Seen seen[2];
  {
    const auto members = c.communicator({0, 1});
    for (int i = 0; i < 2; ++i) {
      watch(members[i], &seen[i]);
      members[i]->announce_gone(i, ginSuccess, "left");
    }
    ASSERT_TRUE(c.run_until([&] { return seen[0].gone.count(1) && seen[1].gone.count(0); }));
    members[0]->announce_quiet(1);
    members[1]->announce_quiet(0);
    ASSERT_TRUE(
        c.run_until([&] { return seen[0].released.size() == 1 && seen[1].released.size() == 1; }));
  }
  EXPECT_TRUE(c.empties());
}

TEST(Departure, DroppingAMembershipCountsAsGoneAndQuiet) {
  Cluster c;
  c.add_many(3);
  Seen seen[2];
  auto members = c.communicator({0, 1, 2});
  watch(members[0], &seen[0]);
  watch(members[1], &seen[1]);
  members[0]->announce_gone(0, ginSuccess, "left");
  ASSERT_TRUE(c.run_until([&] { return seen[1].gone.count(0) == 1; }));
  members[1]->announce_quiet(0);
  c.settle();
  EXPECT_TRUE(seen[0].released.empty());
  members[2].reset();  // without having answered
  ASSERT_TRUE(c.run_until([&] { return seen[0].released.size() == 1 && seen[1].gone.count(2); }));
}

TEST(Departure, ALostMemberGindTakesItsRanksWithIt) {
  Cluster c;
  c.add_many(3);
  Seen seen[2];
  const auto members = c.communicator({0, 1, 2, 2});
  watch(members[0], &seen[0]);
  watch(members[1], &seen[1]);
  members[0]->announce_gone(0, ginSuccess, "left");
  std::optional<Result<Membership::Gathered>> round;
  Cluster::gather(members[1], 1, CollectiveKind::kFinalize, "", &round);
  ASSERT_TRUE(c.run_until([&] { return seen[1].gone.count(0) == 1; }));
  members[1]->announce_quiet(0);
  c.settle();
  EXPECT_TRUE(seen[0].released.empty()) << "node 2 has not answered";
  c.net(2).shutdown();
  ASSERT_TRUE(c.run_until([&] { return seen[1].gone.count(2) && seen[1].gone.count(3); }));
  ASSERT_TRUE(c.run_until([&] { return seen[0].gone.count(3) && !seen[0].released.empty(); }));
  EXPECT_EQ(seen[1].gone[3].first, ginDaemonLost);
  expect_has(seen[1].gone[3].second, {"gind of node n2 (127.0.0.1:", "was lost"});
  EXPECT_EQ(c.ginds[0]->counters.peer_link_failures, 1u);
  EXPECT_FALSE(c.ginds[0]->log.empty());
}

TEST(Departure, AKilledLinkInARoundFailsItForTheRest) {
  Cluster c;
  c.add_many(3);
  const auto members = c.communicator({0, 1, 2});
  Gathers results(3);
  for (int r = 0; r < 2; ++r) {
    Cluster::gather(members[r], r, CollectiveKind::kWindowRegister, "", &results[r]);
  }
  c.settle();
  c.net(2).shutdown();
  ASSERT_TRUE(c.run_until([&] { return results[0] && results[1]; }));
  EXPECT_EQ(results[0]->error().code, ginRemoteError);
  expect_has(results[1]->error().message, {"rank 2 on node n2", "was lost"});
}

TEST(Departure, ALostCoordinatorTakesItsRanksAndTheCollectivesOnly) {
  Cluster c;
  c.add_many(3);
  Seen seen[2];
  const auto members = c.communicator({1, 0, 2, 0});
  watch(members[0], &seen[0]);
  watch(members[2], &seen[1]);
  const std::string address = "127.0.0.1:" + std::to_string(c.net(0).port());
  std::optional<Result<Membership::Gathered>> round;
  Cluster::gather(members[0], 0, CollectiveKind::kWindowRegister, "", &round);
  c.settle();
  c.net(0).shutdown();
  ASSERT_TRUE(c.run_until([&] { return round && seen[0].gone.size() + seen[1].gone.size() == 4; }));
  EXPECT_EQ(round->error().code, ginRemoteError);
  expect_has(round->error().message, {address, "coordinates"});
  for (const auto& s : seen) {
    EXPECT_TRUE(s.gone.count(1) && s.gone.count(3)) << "the coordinator's ranks";
    EXPECT_FALSE(s.gone.count(0) || s.gone.count(2)) << "others stay usable";
  }
  Cluster::gather(members[0], 0, CollectiveKind::kWindowRegister, "", &round);
  ASSERT_TRUE(c.run_until([&] { return round.has_value(); }));
  expect_has(round->error().message, {address});
}

TEST(Departure, ShutdownEndsPendingCallsAndHandlesOutliveIt) {
  Cluster c;
  c.add_many(2);
  const auto members = c.communicator({0, 1});
  std::optional<Result<Membership::Gathered>> local, remote;
  Cluster::gather(members[0], 0, CollectiveKind::kFinalize, "", &local);
  c.settle();
  const auto id = c.net(1).create_unique_id().value();
  const auto waiting = c.join(0, id, 2, 0);
  c.settle();
  c.ginds[0]->net.reset();
  EXPECT_FALSE(local);
  ASSERT_TRUE(c.run_until([&] { return local && waiting->done(); }));
  EXPECT_EQ(local->error().code, ginAborted);
  EXPECT_EQ(waiting->error->code, ginAborted);
  members[0]->announce_gone(0, ginSuccess, "");
  members[0]->announce_quiet(1);
  Cluster::gather(members[0], 0, CollectiveKind::kFinalize, "", &remote);
  ASSERT_TRUE(c.run_until([&] { return remote.has_value(); }));
  EXPECT_FALSE(remote->ok());
}

}  // namespace
}  // namespace gind::test
