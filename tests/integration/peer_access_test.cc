// SPDX-License-Identifier: Apache-2.0
// Ranks of one node load and store in each other's windows.
#include "fabric_cases.h"
#include "ranks.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace gind::test {
namespace {

constexpr std::size_t kBytes = 64 << 10;

std::string run(const FabricCase& c, const RankRun::Body& body) {
  Cluster cluster(cluster_of(c));
  const std::string failures = run_ranks(cluster.place(c.ranks), body, 60);
  return failures.empty() ? failures : failures + cluster.logs();
}

char* pointer_to(const World& w, int peer) {
  void* p = nullptr;
  check(ginWindowPeerPointer(w.comm, w.window, peer, &p), "ginWindowPeerPointer");
  return static_cast<char*>(p);
}

class PeerAccess : public testing::TestWithParam<FabricCase> {};

TEST_P(PeerAccess, ReachesThePartsOfThisNodeAndNoOthers) {
  EXPECT_EQ(
      run(GetParam(),
          [](Rank& rank) {
            World w =
                make_world(rank, kBytes, nullptr, GIN_WIN_PEER_ACCESS | GIN_WIN_STRICT_ORDERING);
            const ginTeam_t local = ginTeamLocal(w.dev);
            expect(pointer_to(w, rank.rank()) == w.memory, "the own part at its own address");
            for (int p = 0; p < rank.nranks(); ++p) {
              bool here = false;
              for (int i = 0; i < local.nRanks; ++i) {
                here |= ginTeamRankToWorld(w.dev, local, i) == p;
              }
              char* const part = pointer_to(w, p);
              expect((part != nullptr) == here, "a pointer for who is here only");
              if (part == nullptr) continue;
              std::memset(part + 100 * rank.rank(), rank.rank() + 1, 100);
            }
            rank.barrier();
            for (int i = 0; i < local.nRanks; ++i) {
              const int p = ginTeamRankToWorld(w.dev, local, i);
              expect(w.memory[100 * p] == p + 1 && w.memory[100 * p + 99] == p + 1,
                     "what rank " + std::to_string(p) + " stored");
            }
            // gind's operations and loads go together.
            const int next = (rank.rank() + 1) % rank.nranks();
            const ginContext ctx{w.dev, 0};
            check(ctx.putValue(ginTeamWorld(w.dev), next, w.window, 8192, std::uint64_t{77},
                               ginSignalInc{0}),
                  "putValue");
            check(ctx.waitSignal(ginCoopThread{}, 0, 1, 64, ginWaitOptions{kWaitNs}), "wait");
            rank.barrier();
            for (int i = 0; i < local.nRanks; ++i) {
              std::uint64_t value = 0;
              std::memcpy(&value, pointer_to(w, ginTeamRankToWorld(w.dev, local, i)) + 8192, 8);
              expect(value == 77, "what was put to a neighbour");
            }
            rank.barrier();
            end_world(w);
          }),
      "");
}

INSTANTIATE_TEST_SUITE_P(Fabrics, PeerAccess,
                         testing::Values(FabricCase{"Loopback", "loopback", {3}, {}},
                                         FabricCase{"Tcp", "tcp;ofi_rxm", {2, 1}, {}},
                                         FabricCase{"Alone", "loopback", {1}, {}}),
                         fabric_name);

void refused(ginResult_t result, ginResult_t expected, const std::string& words) {
  const std::string text = ginGetLastError();
  expect(result == expected && text.find(words) != std::string::npos,
         words + ", not " + text + " (" + ginGetErrorString(result) + ")");
}

TEST(PeerAccessRefused, WithoutTheFlagOrForNobody) {
  EXPECT_EQ(run(FabricCase{"", "loopback", {2}, {}},
                [](Rank& rank) {
                  World w = make_world(rank, kBytes);
                  void* p = &p;
                  refused(ginWindowPeerPointer(w.comm, w.window, 1, &p), ginInvalidUsage,
                          "GIN_WIN_PEER_ACCESS");
                  expect(p == nullptr, "no pointer");
                  refused(ginWindowPeerPointer(w.comm, w.window, 2, &p), ginInvalidArgument,
                          "peer is 2, expected 0 .. 1");
                  refused(ginWindowPeerPointer(w.comm, ginWindow_t{99}, 0, &p), ginInvalidArgument,
                          "window handle 99");
                  // The memory is sealed: no window in it can be opened any more.
                  ginWindow_t more{};
                  refused(ginCommWindowRegister(w.comm, w.memory, 64, &more, GIN_WIN_PEER_ACCESS),
                          ginInvalidUsage, "sealed");
                  refused(ginCommWindowRegister(w.comm, w.memory, 64, &more, 4), ginInvalidArgument,
                          "flags is 4");
                  rank.barrier();
                  end_world(w);
                }),
            "");
}

TEST(PeerAccessRefused, WhenTheRanksDoNotAgree) {
  EXPECT_EQ(run(FabricCase{"", "loopback", {2}, {"timeouts.rendezvous=5s"}},
                [](Rank& rank) {
                  ginComm_t comm = rank.init();
                  void* memory = nullptr;
                  check(ginMemAlloc(comm, &memory, kBytes, ginMemHost), "ginMemAlloc");
                  ginWindow_t window{};
                  const unsigned flags = rank.rank() == 0 ? GIN_WIN_PEER_ACCESS : GIN_WIN_DEFAULT;
                  refused(ginCommWindowRegister(comm, memory, kBytes, &window, flags),
                          ginInvalidUsage, "must be the same on all ranks");
                  rank.barrier();
                  check(ginCommDestroy(comm), "ginCommDestroy");
                }),
            "");
}

// A rank that dies while the others wait for its mapping ends their call with its number.
TEST(PeerAccessRefused, WhenARankDiesMeanwhile) {
  Cluster cluster({.nodes = 1, .provider = "loopback", .namespaces = false, .set = {}});
  RankRun ranks(cluster.place({2}), [](Rank& rank) {
    ginComm_t comm = rank.init();
    if (rank.rank() == 1) {
      rank.announce(1);
      for (;;) ::pause();
    }
    void* memory = nullptr;
    check(ginMemAlloc(comm, &memory, kBytes, ginMemHost), "ginMemAlloc");
    ginWindow_t window{};
    const ginResult_t registered =
        ginCommWindowRegister(comm, memory, kBytes, &window, GIN_WIN_PEER_ACCESS);
    expect(registered == ginRemoteError, ginGetLastError());
    check(ginCommDestroy(comm), "ginCommDestroy");
  });
  ASSERT_TRUE(ranks.wait_announced(1, 1));
  ranks.kill(1, SIGKILL);
  const auto results = ranks.finish(60);
  EXPECT_EQ(results[0].status, 0) << results[0].text;
}

}  // namespace
}  // namespace gind::test
