// SPDX-License-Identifier: Apache-2.0
#include "tests/peers/cluster.h"

#include <gtest/gtest.h>

#include <set>

namespace gind::test {
namespace {

using Layout = std::vector<std::size_t>;  // gind of each rank

class RendezvousLayouts : public ::testing::TestWithParam<Layout> {};

TEST_P(RendezvousLayouts, GivesEveryRankTheSameTables) {
  Cluster c;
  const Layout where = GetParam();
  const std::set<std::size_t> used(where.begin(), where.end());
  c.add_many(static_cast<int>(*used.rbegin()) + 1);
  {
    const auto members = c.communicator(where);
    for (std::size_t r = 0; r < where.size(); ++r) {
      const auto& m = *members[r];
      EXPECT_EQ(m.nranks(), static_cast<int>(where.size()));
      ASSERT_EQ(m.nodes().size(), used.size());
      ASSERT_EQ(m.node_of_rank().size(), where.size());
      EXPECT_EQ(m.node_of_rank()[r], m.this_node());
      EXPECT_EQ(m.label().size(), 8u);
      EXPECT_EQ(m.label(), members[0]->label());
      std::size_t next = 0;  // nodes are numbered by their lowest rank
      for (std::size_t q = 0; q < where.size(); ++q) {
        ASSERT_LE(m.node_of_rank()[q], next);
        if (m.node_of_rank()[q] == next) ++next;
        const NodeInfo& info = m.nodes()[m.node_of_rank()[q]];
        EXPECT_EQ(info.name, Cluster::node_info(where[q]).name);
        EXPECT_EQ(info.instance, Cluster::node_info(where[q]).instance);
        EXPECT_EQ(info.endpoints, Cluster::node_info(where[q]).endpoints);
        EXPECT_EQ(members[q] == members[r], where[q] == where[r]) << "one Membership a gind";
      }
    }
    // One connection per other gind, however many ranks.
    EXPECT_EQ(c.net(0).counts().accepted, used.size() - used.count(0));
  }
  EXPECT_TRUE(c.empties());
}

INSTANTIATE_TEST_SUITE_P(Peers, RendezvousLayouts,
                         ::testing::Values(Layout{0}, Layout{0, 0}, Layout{0, 1}, Layout{1, 0},
                                           Layout{0, 0, 0, 1}, Layout{1, 1, 0, 1},
                                           Layout{0, 1, 0, 1, 0, 1, 0, 0}, Layout{1, 2},
                                           Layout{0, 1, 2, 3, 4, 5, 6, 7}));

TEST(Rendezvous, SeveralCommunicatorsShareOneLink) {
  Cluster c;
  c.add_many(2);
  const auto a = c.communicator({0, 1});
  const auto b = c.communicator({1, 1, 0});
  EXPECT_NE(a[0]->label(), b[0]->label());
  EXPECT_EQ(c.net(0).counts().accepted, 1u);
  EXPECT_EQ(c.net(1).counts().uplinks, 1u);
  EXPECT_EQ(c.net(0).counts().communicators, 2u);
}

// A rank that does not fit is refused by name; the others wait on and can complete.
struct Misfit {
  const char* name;
  int nranks = 2;
  int rank = 1;
  const char* identity = "alice";
  std::function<void(NodeInfo&)> change;
  ginResult_t code;
  std::vector<std::string> says;
};

TEST(Rendezvous, RefusesRanksThatDoNotFitAndOthersGoOn) {
  const std::vector<Misfit> misfits = {
      {"world",
       3,
       1,
       "alice",
       {},
       ginInvalidArgument,
       {"world of 3", "one of 2", "node n1", "node n0"}},
      {"taken", 2, 0, "alice", {}, ginInvalidUsage, {"rank 0 has already joined from node n0"}},
      {"identity", 2, 1, "bob", {}, ginPermissionDenied, {"rank 1 on node n1", "\"bob\""}},
      {"transport",
       2,
       1,
       "alice",
       [](NodeInfo& n) { n.transport = "loopback"; },
       ginInvalidUsage,
       {"transport", "node n1", "\"loopback\"", "node n0", "\"ofi\""}},
      {"provider",
       2,
       1,
       "alice",
       [](NodeInfo& n) { n.provider = "tcp"; },
       ginInvalidUsage,
       {"provider", "\"tcp\"", "\"tcp;ofi_rxm\""}},
      {"mode",
       2,
       1,
       "alice",
       [](NodeInfo& n) { n.signal_mode = "sequence"; },
       ginInvalidUsage,
       {"signal mode", "\"sequence\"", "\"ordered\""}},
  };
  for (const auto& misfit : misfits) {
    SCOPED_TRACE(misfit.name);
    Cluster c;
    c.add();
    NodeInfo info = Cluster::node_info(1);
    if (misfit.change) misfit.change(info);
    c.add(Cluster::options(), info);
    c.add();  // gind 2 fits
    const auto id = c.net(0).create_unique_id().value();
    const auto good = c.join(0, id, 2, 0);
    c.settle();
    const auto bad = c.join(1, id, misfit.nranks, misfit.rank, misfit.identity);
    ASSERT_TRUE(c.run_until([&] { return bad->done(); }));
    ASSERT_TRUE(bad->error);
    EXPECT_EQ(bad->error->code, misfit.code);
    expect_has(bad->error->message, misfit.says);
    EXPECT_FALSE(good->done());
    const auto second = c.join(2, id, 2, 1);
    ASSERT_TRUE(c.run_until([&] { return good->done() && second->done(); }));
    EXPECT_TRUE(good->member && second->member);
  }
}

TEST(Rendezvous, MissingRanksAreNamedAtTheDeadline) {
  Cluster c;
  auto o = Cluster::options();
  o.rendezvous = 200ms;
  c.add_many(2, o);
  const auto id = c.net(0).create_unique_id().value();
  const auto a = c.join(0, id, 4, 0);
  const auto b = c.join(1, id, 4, 2);
  ASSERT_TRUE(c.run_until([&] { return a->done() && b->done(); }));
  ASSERT_TRUE(a->error && b->error);
  EXPECT_EQ(a->error->code, ginTimeout);
  EXPECT_EQ(a->error->message, "ranks 1, 3 of 4 have not joined within 200 ms");
  EXPECT_EQ(b->error->message, a->error->message);
  EXPECT_TRUE(c.empties());
}

TEST(Rendezvous, AnIdIsUsedOnceAndExpires) {
  Cluster c;
  auto o = Cluster::options();
  o.rendezvous = 300ms;
  c.add_many(2, o);
  const auto id = c.net(0).create_unique_id().value();
  const auto first = c.join(0, id, 1, 0);
  ASSERT_TRUE(c.run_until([&] { return first->done(); }));
  ASSERT_TRUE(first->member);
  const auto again = c.join(1, id, 1, 0);
  ASSERT_TRUE(c.run_until([&] { return again->done(); }));
  ASSERT_TRUE(again->error);
  expect_has(again->error->message,
             {"unique id is not known here", "expired after 300 ms", "already used"});

  const auto old = c.net(0).create_unique_id().value();
  ASSERT_TRUE(c.run_until([&] { return c.net(0).counts().rendezvous == 0; }));
  const auto late = c.join(0, old, 1, 0);
  ASSERT_TRUE(c.run_until([&] { return late->done(); }));
  ASSERT_TRUE(late->error);
  expect_has(late->error->message, {"unique id is not known here"});
}

TEST(Rendezvous, AWrongSecretDoesNotLetIn) {
  Cluster c;
  c.add();
  const auto right = c.net(0).create_unique_id().value();
  const auto waiting = c.join(0, right, 2, 0);
  c.settle();
  // Another id's secret under this id's name: both blobs are well-formed, their checksums are
  // right.
  const auto other = c.net(0).create_unique_id().value();
  EXPECT_NE(right, other);
  auto forged = right;
  forged[24] ^= 1;  // the secret; then the checksum has to be made right again
  std::uint32_t crc = 0xffffffffu;
  for (std::size_t i = 0; i < 124; ++i) {
    crc ^= forged[i];
    for (int b = 0; b < 8; ++b) crc = (crc >> 1) ^ ((crc & 1u) ? 0xedb88320u : 0u);
  }
  crc = ~crc;
  for (int i = 0; i < 4; ++i) forged[124 + i] = static_cast<std::uint8_t>(crc >> (8 * i));
  const auto thief = c.join(0, forged, 2, 1);
  ASSERT_TRUE(c.run_until([&] { return thief->done(); }));
  ASSERT_TRUE(thief->error);
  expect_has(thief->error->message, {"not known here"});
  EXPECT_FALSE(waiting->done());
}

TEST(Rendezvous, ArgumentsAreCheckedAndAnsweredFromTheLoop) {
  Cluster c;
  c.add();
  const auto id = c.net(0).create_unique_id().value();
  const auto rank = c.join(0, id, 2, 2);
  const auto world = c.join(0, id, 1025, 0);
  const auto blob = c.join(0, UniqueIdBlob{}, 1, 0);
  const auto name = c.join(0, id, 1, 0, "a\nb");
  EXPECT_FALSE(rank->done() || world->done() || blob->done() || name->done());
  ASSERT_TRUE(c.run_until([&] { return name->done(); }));
  expect_has(rank->error->message, {"rank is 2, expected 0 to 1"});
  expect_has(world->error->message, {"nranks is 1025", "1 to 1024"});
  expect_has(blob->error->message, {"malformed unique id"});
  expect_has(name->error->message, {"identity \"a?b\""});
}

TEST(Rendezvous, LimitsAreNamed) {
  Cluster c;
  auto o = Cluster::options();
  o.max_rendezvous = 2;
  o.max_pending_joins = 1;
  c.add(o);
  const auto id = c.net(0).create_unique_id().value();
  ASSERT_TRUE(c.net(0).create_unique_id().ok());
  const auto third = c.net(0).create_unique_id();
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().code, ginLimitExceeded);
  expect_has(third.error().message, {"2 unique ids", "limit is 2"});
  const auto a = c.join(0, id, 3, 0);
  const auto b = c.join(0, id, 3, 1);
  ASSERT_TRUE(c.run_until([&] { return b->done(); }));
  EXPECT_EQ(b->error->code, ginLimitExceeded);
  expect_has(b->error->message, {"1 joins", "limit is 1"});
}

TEST(Rendezvous, ALostGindsJoinsMakeRoomForItsSuccessor) {
  Cluster c;
  c.add_many(3);
  const auto id = c.net(0).create_unique_id().value();
  const auto dead = c.join(1, id, 2, 1);
  ASSERT_TRUE(c.run_until([&] { return c.net(0).counts().accepted == 1; }));
  c.settle();
  c.net(1).shutdown();
  ASSERT_TRUE(c.run_until([&] { return dead->done() && c.net(0).counts().accepted == 0; }));
  EXPECT_EQ(dead->error->code, ginAborted);
  const auto heir = c.join(2, id, 2, 1);
  const auto root = c.join(0, id, 2, 0);
  ASSERT_TRUE(c.run_until([&] { return heir->done() && root->done(); }));
  EXPECT_TRUE(heir->member && root->member);
}

}  // namespace
}  // namespace gind::test
