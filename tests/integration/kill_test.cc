// SPDX-License-Identifier: Apache-2.0
// Deaths in the middle of something: a client in each state of its connection, a rank inside a
// collective call, a gind with calls in progress, a gind whose peer is stuck.
#include "cluster.h"
#include "gind/common/fd.h"
#include "gind/protocol/client.h"
#include "gind/protocol/packet_socket.h"
#include "ranks.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <thread>

namespace gind::test {
namespace {

using namespace std::chrono_literals;
using protocol::MessageType;

const std::vector<std::string> kShort = {"timeouts.operation=3s", "timeouts.teardown=2s",
                                         "timeouts.rendezvous=4s", "timeouts.hole=1s",
                                         "timeouts.handshake=1s"};

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

const std::vector<std::string> kGauges = {"gind_clients", "gind_contexts", "gind_windows",
                                          "gind_outstanding_operations", "gind_quarantined_bytes"};

std::string held(const GindProcess& gind) {
  std::string text = "fds " + std::to_string(gind.open_fds()) + ", memfd mappings " +
                     std::to_string(gind.mappings_of("memfd:"));
  for (const auto& gauge : kGauges) text += ", " + gauge + " " + std::to_string(gind.metric(gauge));
  return text;
}

void expect_back_to(GindProcess& gind, const std::string& before) {
  // Apart from each other: gind still closes the last sample's connection for a moment.
  std::string now = held(gind);
  for (int i = 0; i < 150 && now != before; ++i) {
    std::this_thread::sleep_for(100ms);
    now = held(gind);
  }
  EXPECT_EQ(now, before) << gind.log();
}

class Death : public testing::Test {
 protected:
  Cluster cluster{{.nodes = 2, .provider = "tcp;ofi_rxm", .namespaces = false, .set = kShort}};
  std::vector<std::string> before;

  void SetUp() override {
    ASSERT_EQ(ping(cluster.place({1, 1})), "") << cluster.logs();  // lazily made things exist now
    std::this_thread::sleep_for(300ms);
    for (int i = 0; i < 2; ++i) before.push_back(held(cluster.node(i)));
  }
  void expect_clean() {
    for (int i = 0; i < 2; ++i) {
      SCOPED_TRACE("node " + std::to_string(i));
      expect_back_to(cluster.node(i), before[static_cast<std::size_t>(i)]);
    }
    EXPECT_EQ(ping(cluster.place({1, 1})), "") << cluster.logs();
  }
};

TEST_F(Death, OfAConnectionInEachStateBeforeItIsARank) {
  for (int state = 0; state < 4; ++state) {
    SCOPED_TRACE(state);
    for (int i = 0; i < 20; ++i) {
      const Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      cluster.node(0).socket().copy(address.sun_path, sizeof address.sun_path - 1);
      ASSERT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
      const timeval limit{10, 0};
      ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      const auto send = [&fd](const auto& message) {
        ASSERT_TRUE(protocol::send_packet(fd.get(), protocol::as_bytes(message)).ok());
      };
      if (state == 0) continue;  // connected, said nothing
      auto hello = protocol::make_message<protocol::Hello>(MessageType::kHello, 1);
      hello.segment_version = gin::queues::kSegmentVersion;
      send(hello);
      if (state == 1) continue;  // does not wait for the answer
      protocol::HelloReply welcome{};
      ASSERT_EQ(::recv(fd.get(), &welcome, sizeof welcome, 0), ssize_t{sizeof welcome});
      send(protocol::make_message<protocol::GetUniqueId>(MessageType::kGetUniqueId, 2));
      if (state == 2) continue;
      protocol::UniqueIdReply id{};
      ASSERT_EQ(::recv(fd.get(), &id, sizeof id, 0), ssize_t{sizeof id});
      auto init = protocol::make_message<protocol::CommInit>(MessageType::kCommInit, 3);
      std::memcpy(init.id, id.id, sizeof init.id);
      init.nranks = 2;
      init.rank = 0;
      send(init);  // and goes while rank 1 is awaited
    }
  }
  expect_clean();
}

// Rank 1 dies at a point where rank 0 waits for it inside a call.
TEST_F(Death, OfARankEndsThePeersCollectiveCallWithItsNumber) {
  for (const int stage : {1, 2, 3}) {
    SCOPED_TRACE(stage);
    RankRun run(cluster.place({1, 1}), [stage](Rank& rank) {
      const ginComm_t comm = rank.init();
      void* memory = nullptr;
      check(ginMemAlloc(comm, &memory, 4096, ginMemHost), "ginMemAlloc");
      const bool victim = rank.rank() == 1;
      const auto dies_at = [&](int here) {
        if (stage != here) return;
        rank.announce(here);
        if (victim) ::pause();
      };
      const auto must_fail = [&](ginResult_t r, const std::string& call) {
        const std::string text = ginGetLastError();
        expect(r == ginRemoteError && text.find("rank 1") != std::string::npos,
               call + " to fail with the rank by name: " + ginGetErrorString(r) + ": " + text);
      };
      ginWindow_t window{};
      dies_at(1);
      ginResult_t r = ginCommWindowRegister(comm, memory, 4096, &window, 0);
      if (stage == 1) return must_fail(r, "ginCommWindowRegister");
      check(r, "ginCommWindowRegister");
      ginDevComm_t dev{};
      const ginDevCommRequirements_t need = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
      dies_at(2);
      r = ginDevCommCreate(comm, &need, &dev);
      if (stage == 2) return must_fail(r, "ginDevCommCreate");
      check(r, "ginDevCommCreate");
      dies_at(3);
      must_fail(ginCommFinalize(comm), "ginCommFinalize");
    });
    ASSERT_TRUE(run.wait_announced(0, stage) && run.wait_announced(1, stage)) << cluster.logs();
    std::this_thread::sleep_for(200ms);  // rank 0 is inside the call by now
    run.kill(1, SIGKILL);
    const auto results = run.finish(30);
    EXPECT_EQ(results[0].status, 0) << results[0].text << cluster.logs();
    EXPECT_EQ(results[1].status, 128 + SIGKILL);
  }
  expect_clean();
}

TEST_F(Death, OfARankWithAHoleInItsRing) {
  RankRun run(cluster.place({1, 1}), [](Rank& rank) {
    World w = make_world(rank, 4096);
    if (rank.rank() == 1) {
      // Reserved and never written; a real operation waits behind it.
      auto* state = reinterpret_cast<gin::queues::ProducerState*>(w.dev.state);
      state->head += 2;
      check(ginSignal(&w.dev, 0, 0, ginSignalStrongAdd, 0, 1), "ginSignal behind the hole");
      rank.announce(1);
      ::pause();
    }
    rank.announce(1);
    const ginResult_t r = ginWaitSignal(&w.dev, 0, 0, 1, 64, kWaitNs);
    expect(r == ginRemoteError, std::string("ginRemoteError, not ") + ginGetErrorString(r));
    check(ginCommDestroy(w.comm), "ginCommDestroy");
  });
  ASSERT_TRUE(run.wait_announced(0, 1) && run.wait_announced(1, 1)) << cluster.logs();
  run.kill(1, SIGKILL);
  const auto results = run.finish(30);
  EXPECT_EQ(results[0].status, 0) << results[0].text << cluster.logs();
  expect_clean();
}

TEST_F(Death, OfAGindEndsCallsInProgress) {
  RankRun joining(cluster.place({1}), [](Rank& rank) {
    const ginUniqueId id = rank.unique_id();
    rank.announce(1);
    ginComm_t comm = nullptr;
    const ginResult_t r = ginCommInitRank(&comm, 2, id, 0);  // rank 1 never comes
    expect(r == ginDaemonLost, std::string("ginDaemonLost, not ") + ginGetErrorString(r));
  });
  RankRun registering(cluster.place({2}), [](Rank& rank) {
    const ginComm_t comm = rank.init();
    void* memory = nullptr;
    check(ginMemAlloc(comm, &memory, 4096, ginMemHost), "ginMemAlloc");
    rank.announce(1);
    if (rank.rank() == 1) ::pause();
    ginWindow_t window{};
    const ginResult_t r = ginCommWindowRegister(comm, memory, 4096, &window, 0);
    expect(r == ginDaemonLost, std::string("ginDaemonLost, not ") + ginGetErrorString(r));
  });
  ASSERT_TRUE(joining.wait_announced(0, 1) && registering.wait_announced(0, 1) &&
              registering.wait_announced(1, 1))
      << cluster.logs();
  std::this_thread::sleep_for(200ms);
  cluster.node(0).kill(SIGKILL);
  EXPECT_EQ(cluster.node(0).wait_end(5), 128 + SIGKILL);
  EXPECT_EQ(joining.finish(10)[0].text, "") << cluster.logs();
  registering.kill(1, SIGKILL);
  EXPECT_EQ(registering.finish(10)[0].text, "") << cluster.logs();
  cluster.node(0).restart();
  EXPECT_EQ(ping(cluster.place({1, 1})), "") << cluster.logs();
}

// Both roles: node 0 made the unique id and coordinates, node 1 does not.
TEST_F(Death, OfAWholePeerIsToldByNameAndTheSurvivingGindKeepsNothing) {
  for (const int victim : {1, 0}) {
    SCOPED_TRACE(victim);
    const int survivor = 1 - victim;
    RankRun run(cluster.place({1, 1}), [survivor](Rank& rank) {
      World w = make_world(rank, 1 << 20);
      rank.announce(1);
      if (rank.rank() != survivor) ::pause();
      ginResult_t error = ginSuccess;
      while (error == ginSuccess) {  // with operations under way
        ginPut(&w.dev, 0, 1 - survivor, w.window, 0, w.window, 1 << 19, 1 << 19, ginSignalStrongAdd,
               0, 1, -1);
        check(ginCommGetAsyncError(w.comm, &error), "ginCommGetAsyncError");
      }
      const std::string text = ginGetLastError();
      expect(error == ginRemoteError &&
                 text.find("rank " + std::to_string(1 - survivor)) != std::string::npos,
             "ginRemoteError with the rank by name: " + text);
      expect(ginFlush(&w.dev, 0, kWaitNs) != ginSuccess, "a flush towards it to fail");
      check(ginCommDestroy(w.comm), "ginCommDestroy");
    });
    ASSERT_TRUE(run.wait_announced(0, 1) && run.wait_announced(1, 1)) << cluster.logs();
    std::this_thread::sleep_for(300ms);
    cluster.node(victim).kill(SIGKILL);
    EXPECT_EQ(cluster.node(victim).wait_end(5), 128 + SIGKILL);
    run.kill(victim, SIGKILL);
    const auto results = run.finish(30);
    EXPECT_EQ(results[static_cast<std::size_t>(survivor)].status, 0)
        << results[static_cast<std::size_t>(survivor)].text << cluster.logs();
    cluster.node(victim).restart();
    EXPECT_EQ(ping(cluster.place({1, 1})), "") << cluster.logs();
    const GindProcess& left = cluster.node(survivor);
    for (int i = 0; i < 200 && left.metric("gind_contexts") > 0; ++i) {
      std::this_thread::sleep_for(50ms);
    }
    for (const auto& gauge : kGauges) EXPECT_EQ(left.metric(gauge), 0) << gauge << left.log();
    EXPECT_EQ(left.mappings_of("memfd:"), 0u) << left.log();
  }
}

TEST_F(Death, OfAGindInOrderWhileItsPeerIsStuck) {
  RankRun run(cluster.place({1, 1}), [](Rank& rank) {
    World w = make_world(rank, 1 << 20);
    rank.announce(1);
    if (rank.rank() == 1) ::pause();
    for (ginResult_t r = ginSuccess; r == ginSuccess;) {  // until the ring is full, or the end
      r = ginPut(&w.dev, 0, 1, w.window, 0, w.window, 1 << 19, 1 << 19, ginSignalStrongAdd, 0, 1,
                 -1);
    }
  });
  ASSERT_TRUE(run.wait_announced(0, 1) && run.wait_announced(1, 1)) << cluster.logs();
  cluster.node(1).kill(SIGSTOP);
  std::this_thread::sleep_for(500ms);
  cluster.node(0).kill(SIGTERM);
  EXPECT_EQ(cluster.node(0).wait_end(20), 0) << cluster.node(0).log();
  cluster.node(1).kill(SIGCONT);
  run.kill(1, SIGKILL);
  EXPECT_EQ(run.finish(20)[0].status, 0) << cluster.logs();
}

}  // namespace
}  // namespace gind::test
