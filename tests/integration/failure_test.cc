// SPDX-License-Identifier: Apache-2.0
// Clients, ginds and peers that die: waits end, others go on, nothing is left behind.
#include "cluster.h"
#include "ranks.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <thread>

namespace gind::test {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> kShort = {"timeouts.operation=5s", "timeouts.teardown=3s",
                                         "timeouts.rendezvous=10s", "timeouts.hole=1s"};

template <typename Condition>
bool eventually(const Condition& condition, int seconds = 15) {
  for (int i = 0; i < seconds * 50; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(20ms);
  }
  return condition();
}

// A whole small run: proves that a cluster still serves.
std::string ping(const std::vector<std::string>& sockets) {
  return run_ranks(sockets, [](Rank& rank) {
    World w = make_world(rank, 8192);
    const int next = (rank.rank() + 1) % rank.nranks();
    check(ginPut(&w.dev, 0, next, w.window, 4096, w.window, 0, 100, ginSignalStrongAdd, 0, 1, -1),
          "ginPut");
    check(ginWaitSignal(&w.dev, 0, 0, 1, 64, kWaitNs), "ginWaitSignal");
    end_world(w);
  });
}

// A thread that waits on a communicator which another thread destroys.
TEST(Destroy, EndsTheWaitsOfOtherThreads) {
  Cluster cluster({.nodes = 1, .provider = "loopback", .namespaces = false, .set = {}});
  EXPECT_EQ(run_ranks(cluster.place({1}),
                      [](Rank& rank) {
                        for (int i = 0; i < 20; ++i) {
                          World w = make_world(rank, 4096);
                          const ginContext ctx{w.dev, 0};
                          ginResult_t waited = ginSuccess;
                          std::thread waiter([&] {
                            waited = ctx.waitSignal(ginCoopThread{}, 0, 1, 64,
                                                    ginWaitOptions{kWaitNs, nullptr});
                          });
                          std::this_thread::sleep_for(std::chrono::milliseconds(20));
                          check(ginCommDestroy(w.comm), "ginCommDestroy");
                          waiter.join();
                          expect(waited == ginAborted, "the wait to be aborted");
                        }
                      }),
            "");
}

// What gind holds for its clients.
struct Held {
  std::size_t fds, mappings;
  double clients, contexts, windows, outstanding;
  bool operator==(const Held&) const = default;
};
Held held(const GindProcess& gind) {
  return {gind.open_fds(),
          gind.mappings_of("memfd:"),
          gind.metric("gind_clients"),
          gind.metric("gind_contexts"),
          gind.metric("gind_windows"),
          gind.metric("gind_outstanding_operations")};
}
void expect_back_to(GindProcess& gind, const Held& before) {
  EXPECT_TRUE(eventually([&] { return held(gind) == before; }, 30))
      << "fds " << before.fds << " -> " << gind.open_fds() << ", mappings " << before.mappings
      << " -> " << gind.mappings_of("memfd:") << ", clients " << gind.metric("gind_clients")
      << ", contexts " << gind.metric("gind_contexts") << ", windows "
      << gind.metric("gind_windows") << "\n"
      << gind.log();
  EXPECT_EQ(gind.metric("gind_quarantined_bytes"), 0) << gind.log();
}

TEST(Kill, WaitsEndWhenTheLocalGindDies) {
  Cluster cluster({.nodes = 2, .provider = "tcp;ofi_rxm", .namespaces = false, .set = kShort});
  RankRun run(cluster.place({1, 1}), [](Rank& rank) {
    World w = make_world(rank, 4096);
    rank.announce(1);
    const ginResult_t r = ginWaitSignal(&w.dev, 0, 0, 1, 64, kWaitNs);
    if (rank.rank() == 0) {
      expect(r == ginDaemonLost, std::string("ginDaemonLost, not ") + ginGetErrorString(r));
      const ginResult_t later = ginCommFinalize(w.comm);
      expect(later == ginDaemonLost,
             std::string("a later call to say so, too: ") + ginGetErrorString(later));
      expect(std::strstr(ginGetLastError(), "gind") != nullptr, ginGetLastError());
    } else {
      expect(r == ginRemoteError, std::string("ginRemoteError, not ") + ginGetErrorString(r));
      ginResult_t error = ginSuccess;
      check(ginCommGetAsyncError(w.comm, &error), "ginCommGetAsyncError");
      expect(error == ginRemoteError, "an async error");
      expect(std::strstr(ginGetLastError(), "rank 0 is gone") != nullptr, ginGetLastError());
    }
    ginCommDestroy(w.comm);
  });
  ASSERT_TRUE(run.wait_announced(0, 1) && run.wait_announced(1, 1)) << cluster.logs();
  cluster.node(0).kill(SIGKILL);
  EXPECT_EQ(cluster.node(0).wait_end(5), 128 + SIGKILL);
  const auto results = run.finish(30);
  for (int r = 0; r < 2; ++r) {
    EXPECT_EQ(results[static_cast<std::size_t>(r)].text, "") << "rank " << r << "\n"
                                                             << cluster.logs();
  }
  cluster.node(0).restart();  // on its stale socket and lock file
  EXPECT_EQ(ping(cluster.place({1, 1})), "") << cluster.logs();
}

TEST(Kill, ADeadRankIsNamedAndLeavesNothingBehind) {
  for (const std::vector<int>& layout : {std::vector<int>{1, 1}, std::vector<int>{2}}) {
    SCOPED_TRACE(layout.size() == 2 ? "on another node" : "on the same node");
    const bool two = layout.size() == 2;
    Cluster cluster({.nodes = two ? 2 : 1,
                     .provider = two ? "tcp;ofi_rxm" : "loopback",
                     .namespaces = false,
                     .set = kShort});
    ASSERT_EQ(ping(cluster.place(layout)), "");  // lazily made things exist from here on
    std::vector<Held> before;
    std::this_thread::sleep_for(200ms);
    for (int i = 0; i < cluster.nodes(); ++i) before.push_back(held(cluster.node(i)));

    // Another communicator on the same ginds must not notice.
    RankRun bystanders(cluster.place(layout), [](Rank& rank) {
      World w = make_world(rank, 1 << 20);
      for (int i = 1; i <= 400; ++i) {
        check(ginPut(&w.dev, 0, 1 - rank.rank(), w.window, 1 << 19, w.window, 0, 65536,
                     ginSignalStrongAdd, 0, 1, -1),
              "ginPut");
        check(ginWaitSignal(&w.dev, 0, 0, static_cast<std::uint64_t>(i), 64, kWaitNs), "wait");
        std::this_thread::sleep_for(5ms);
      }
      ginResult_t error = ginSuccess;
      check(ginCommGetAsyncError(w.comm, &error), "ginCommGetAsyncError");
      expect(error == ginSuccess, "no error in another communicator");
      end_world(w);
    });
    RankRun run(cluster.place(layout), [](Rank& rank) {
      World w = make_world(rank, 8 << 20);
      const ginContext ctx{w.dev, 0};
      for (int i = 0;; ++i) {  // traffic in flight in both directions
        const ginResult_t posted = ginPut(&w.dev, 0, 1 - rank.rank(), w.window, 4 << 20, w.window,
                                          0, 1 << 20, ginSignalStrongAdd, 0, 1, -1);
        if (i == 20) rank.announce(1);
        if (rank.rank() == 1 && posted != ginSuccess) return;
        ginResult_t error = ginSuccess;
        check(ginCommGetAsyncError(w.comm, &error), "ginCommGetAsyncError");
        if (error != ginSuccess) {
          expect(error == ginRemoteError, "ginRemoteError");
          const std::string text = ginGetLastError();
          expect(text.find("rank 1") != std::string::npos, "the rank by name in: " + text);
          break;
        }
      }
      // Whatever was complete before it died, this is not.
      // (A post that was waiting for credit when the peer died has put its context in error.)
      const ginResult_t posted = ginSignal(&w.dev, 0, 1, ginSignalStrongAdd, 0, 1);
      expect(posted == ginSuccess || posted == ginRemoteError, ginGetErrorString(posted));
      const ginResult_t flushed = ginFlush(&w.dev, 0, kWaitNs);
      expect(posted == ginRemoteError || flushed == ginRemoteError,
             std::string("a flush towards it to fail: ") + ginGetErrorString(flushed));
      check(ginCommDestroy(w.comm), "ginCommDestroy");
    });
    ASSERT_TRUE(run.wait_announced(0, 1) && run.wait_announced(1, 1)) << cluster.logs();
    run.kill(1, SIGKILL);
    const auto results = run.finish(30);
    EXPECT_EQ(results[0].status, 0) << results[0].text << cluster.logs();
    EXPECT_EQ(results[1].status, 128 + SIGKILL);
    for (const auto& result : bystanders.finish(60)) {
      EXPECT_EQ(result.status, 0) << result.text << cluster.logs();
    }
    for (int i = 0; i < cluster.nodes(); ++i) {
      expect_back_to(cluster.node(i), before[static_cast<std::size_t>(i)]);
    }
    EXPECT_EQ(ping(cluster.place(layout)), "") << cluster.logs();
  }
}

TEST(Kill, AClientThatDiesWhileItJoinsOrRegistersLeavesNothingBehind) {
  Cluster cluster({.nodes = 1, .provider = "loopback", .namespaces = false, .set = kShort});
  ASSERT_EQ(ping(cluster.place({2})), "");
  std::this_thread::sleep_for(200ms);
  const Held before = held(cluster.node(0));
  for (const int stage : {1, 2, 3}) {
    SCOPED_TRACE(stage);
    RankRun run(cluster.place({2}), [stage](Rank& rank) {
      if (stage == 1 && rank.rank() == 1) {
        rank.unique_id();
        rank.announce(1);
        ::pause();  // never joins; rank 0 is killed while it waits for us
      }
      if (stage == 1) rank.announce(1);
      const ginComm_t comm = rank.init();
      void* memory = nullptr;
      check(ginMemAlloc(comm, &memory, 4096, ginMemHost), "ginMemAlloc");
      rank.announce(2);
      if (stage == 2 && rank.rank() == 1) ::pause();
      ginWindow_t window{};
      check(ginCommWindowRegister(comm, memory, 4096, &window, 0), "ginCommWindowRegister");
      rank.announce(3);
      if (rank.rank() == 1) ::pause();
      ginDevComm_t dev{};
      const ginDevCommRequirements_t defaults = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
      check(ginDevCommCreate(comm, &defaults, &dev), "ginDevCommCreate");
    });
    ASSERT_TRUE(run.wait_announced(0, stage) && run.wait_announced(1, stage));
    std::this_thread::sleep_for(300ms);  // rank 0 is inside the call by now
    run.kill(0, SIGKILL);
    run.kill(1, SIGKILL);
    run.finish(5);
    expect_back_to(cluster.node(0), before);
  }
  EXPECT_EQ(ping(cluster.place({2})), "") << cluster.logs();
}

TEST(Kill, AnOrderlyStopWithClientsAttachedEndsInTime) {
  Cluster cluster({.nodes = 2, .provider = "tcp;ofi_rxm", .namespaces = false, .set = kShort});
  RankRun run(cluster.place({1, 1}), [](Rank& rank) {
    World w = make_world(rank, 4096);
    rank.announce(1);
    const ginResult_t r = ginWaitSignal(&w.dev, 0, 0, 1, 64, kWaitNs);
    expect(r == (rank.rank() == 0 ? ginDaemonLost : ginRemoteError), ginGetErrorString(r));
  });
  ASSERT_TRUE(run.wait_announced(0, 1) && run.wait_announced(1, 1));
  cluster.node(0).kill(SIGTERM);
  EXPECT_EQ(cluster.node(0).wait_end(15), 0) << cluster.node(0).log();
  for (const auto& result : run.finish(20)) EXPECT_EQ(result.text, "") << cluster.logs();
}

TEST(Kill, AStoppedGindOnlyDelaysItsClients) {
  Cluster cluster({.nodes = 1, .provider = "loopback", .namespaces = false, .set = kShort});
  RankRun run(cluster.place({1}), [](Rank& rank) {
    World w = make_world(rank, 4096);
    rank.announce(1);
    const ginResult_t r = ginWaitSignal(&w.dev, 0, 0, 1, 64, 1'000'000'000);
    expect(r == ginTimeout, std::string("ginTimeout, not ") + ginGetErrorString(r));
    rank.announce(2);
    check(ginSignal(&w.dev, 0, 0, ginSignalStrongAdd, 0, 1), "ginSignal");
    check(ginWaitSignal(&w.dev, 0, 0, 1, 64, kWaitNs), "ginWaitSignal");
    end_world(w);
  });
  ASSERT_TRUE(run.wait_announced(0, 1));
  cluster.node(0).kill(SIGSTOP);
  EXPECT_TRUE(run.wait_announced(0, 2, 20));
  cluster.node(0).kill(SIGCONT);
  EXPECT_EQ(run.finish(30)[0].text, "") << cluster.logs();
}

TEST(Kill, AHoleInARingPutsItsContextInErrorByName) {
  Cluster cluster({.nodes = 1, .provider = "loopback", .namespaces = false, .set = kShort});
  const std::string failures = run_ranks(cluster.place({1}), [](Rank& rank) {
    World w = make_world(rank, 4096);
    // A poster that dies between reserving and storing: two units that nobody will write.
    auto* state = reinterpret_cast<gin::queues::ProducerState*>(w.dev.state);
    state->head += 2;
    check(ginSignal(&w.dev, 0, 0, ginSignalStrongAdd, 0, 1), "ginSignal behind the hole");
    const ginResult_t r = ginWaitSignal(&w.dev, 0, 0, 1, 64, kWaitNs);
    expect(r == ginContextError, std::string("ginContextError, not ") + ginGetErrorString(r));
    check(ginSignal(&w.dev, 1, 0, ginSignalStrongAdd, 0, 1), "ginSignal in another context");
    check(ginWaitSignal(&w.dev, 1, 0, 1, 64, kWaitNs), "ginWaitSignal in another context");
  });
  EXPECT_EQ(failures, "") << cluster.logs();
  EXPECT_NE(cluster.logs().find("reserved and never written"), std::string::npos);
}

}  // namespace
}  // namespace gind::test
