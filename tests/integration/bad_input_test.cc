// SPDX-License-Identifier: Apache-2.0
// Bad input gets a clear error that names the thing, the value and the remedy; nothing hangs, and
// the same ginds go on serving.
#include "cluster.h"
#include "gind/protocol/client.h"
#include "gind/protocol/packet_socket.h"
#include "programs.h"
#include "ranks.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>

namespace gind::test {
namespace {

const std::vector<std::string> kShort = {"timeouts.operation=5s", "timeouts.teardown=3s",
                                         "timeouts.rendezvous=3s", "timeouts.handshake=1s"};

// `result` must be `code`, and this thread's last error hold each of `words`.
void refused(ginResult_t result, ginResult_t code, const std::vector<std::string>& words) {
  const std::string text = ginGetLastError();
  expect(result == code,
         std::string(ginGetErrorString(code)) + ", not " + ginGetErrorString(result) + ": " + text);
  for (const auto& word : words) {
    expect(text.find(word) != std::string::npos, "\"" + word + "\" in: " + text);
  }
}

class BadInput : public testing::Test {
 protected:
  Cluster cluster{{.nodes = 2, .provider = "tcp;ofi_rxm", .namespaces = false, .set = kShort}};

  void run(const std::vector<int>& layout, const RankRun::Body& body) {
    EXPECT_EQ(run_ranks(cluster.place(layout), body, 60), "") << cluster.logs();
    // Whatever went wrong, the ginds serve the next.
    EXPECT_EQ(run_ranks(cluster.place({1, 1}),
                        [](Rank& rank) {
                          World w = make_world(rank, 4096);
                          end_world(w);
                        }),
              "")
        << cluster.logs();
  }
};

TEST_F(BadInput, RanksAndWorldSizes) {
  run({1}, [](Rank& rank) {
    ginComm_t comm = nullptr;
    const ginUniqueId id = rank.unique_id();
    refused(ginCommInitRank(&comm, 2, id, 2), ginInvalidArgument, {"rank is 2", "0 .. 1"});
    refused(ginCommInitRank(&comm, 2, id, -1), ginInvalidArgument, {"rank is -1"});
    refused(ginCommInitRank(&comm, 0, id, 0), ginInvalidArgument, {"nranks is 0", "1024"});
    refused(ginCommInitRank(&comm, 1025, id, 0), ginInvalidArgument, {"nranks is 1025"});
    ginUniqueId garbage{};
    std::memset(&garbage, 0x5a, sizeof garbage);
    refused(ginCommInitRank(&comm, 2, garbage, 0), ginInvalidArgument, {"unique id"});
  });
}

TEST_F(BadInput, WorldSizesThatDiffer) {
  run({1, 1}, [](Rank& rank) {
    ginComm_t comm = nullptr;
    const ginUniqueId id = rank.unique_id();
    if (rank.rank() == 1) {  // comes second
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      refused(ginCommInitRank(&comm, 3, id, 1), ginInvalidArgument, {"3", "2"});
    } else {
      refused(ginCommInitRank(&comm, 2, id, 0), ginTimeout, {"rank 1", "3 s"});
    }
  });
}

TEST_F(BadInput, ARankThatNeverComesAndOneThatIsTaken) {
  run({1, 1}, [](Rank& rank) {
    ginComm_t comm = nullptr;
    const ginUniqueId id = rank.unique_id();
    if (rank.rank() == 0) {
      const auto began = gin::queues::now_ns();
      refused(ginCommInitRank(&comm, 4, id, 2), ginTimeout, {"0, 1, 3", "have not joined"});
      expect(gin::queues::now_ns() - began < 20'000'000'000, "an end near the configured time");
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      refused(ginCommInitRank(&comm, 4, id, 2), ginInvalidUsage, {"rank 2", "has already joined"});
    }
  });
}

TEST_F(BadInput, AUniqueIdThatWasUsed) {
  run({1}, [](Rank& rank) {
    ginComm_t comm = nullptr;
    const ginUniqueId id = rank.unique_id();
    check(ginCommInitRank(&comm, 1, id, 0), "ginCommInitRank");
    ginComm_t again = nullptr;
    refused(ginCommInitRank(&again, 1, id, 0), ginInvalidArgument, {"unique id"});
    check(ginCommDestroy(comm), "ginCommDestroy");
  });
}

TEST_F(BadInput, APeerThatIsMissing) {
  RankRun first(cluster.place({1}), [](Rank& rank) {
    std::FILE* f = std::fopen((std::string(::getenv("GIND_SOCKET")) + ".id").c_str(), "wb");
    const ginUniqueId made = rank.unique_id();
    std::fwrite(&made, sizeof made, 1, f);
    std::fclose(f);
  });
  ASSERT_EQ(first.finish(20)[0].status, 0);
  std::FILE* f = std::fopen((cluster.node(0).socket() + ".id").c_str(), "rb");
  ginUniqueId made{};
  ASSERT_EQ(std::fread(&made, sizeof made, 1, f), 1u);
  std::fclose(f);
  cluster.node(0).kill(SIGKILL);
  cluster.node(0).wait_end(5);
  const std::string address = cluster.node(0).address();
  EXPECT_EQ(
      run_ranks({cluster.node(1).socket()},
                [&](Rank&) {
                  ginComm_t comm = nullptr;
                  refused(ginCommInitRank(&comm, 2, made, 1), ginRemoteError,
                          {"cannot reach the gind at " + address + ":9407", "Connection refused"});
                }),
      "");
  EXPECT_EQ(run_ranks({cluster.node(0).socket()},
                      [&](Rank& rank) {
                        ginUniqueId none;
                        refused(ginGetUniqueId(&none), ginDaemonLost,
                                {cluster.node(0).socket(), "is gind running"});
                        static_cast<void>(rank);
                      }),
            "");
}

TEST_F(BadInput, DescriptorsPutTheirContextInErrorByName) {
  struct Case {
    std::function<void(const ginContext&, const World&)> post;
    std::vector<std::string> words;
  };
  const std::vector<Case> cases = {
      {[](const ginContext& c, const World& w) {
         c.put(ginTeamWorld(w.dev), 1, w.window, 4000, w.window, 0, 97, ginNoRemoteAction{});
       },
       {"dst offset 4000 + 97", "window 0 on rank 1", "4096"}},
      {[](const ginContext& c, const World& w) {
         c.put(ginTeamWorld(w.dev), 1, w.window, 0, w.window, 4096, 1, ginNoRemoteAction{});
       },
       {"src offset 4096 + 1", "4096"}},
      {[](const ginContext& c, const World& w) {
         c.put(ginTeamWorld(w.dev), 1, ginWindow_t{78}, 0, w.window, 0, 8, ginNoRemoteAction{});
       },
       {"dst window 77", "not registered"}},
      {[](const ginContext& c, const World& w) {
         c.put(ginTeamWorld(w.dev), 1, w.window, 0, w.window, 0, 8, ginSignalInc{64});
       },
       {"signal 64", "out of range"}},
      {[](const ginContext& c, const World& w) {
         c.put(ginTeamWorld(w.dev), 1, w.window, std::uint64_t{1} << 47, w.window, 0, 8,
               ginNoRemoteAction{});
       },
       {"dst offset 140737488355328", "out of range"}},
      {[](const ginContext& c, const World& w) {
         c.put(ginTeamWorld(w.dev), 1, w.window, 0, w.window, 0, 8, ginNoRemoteAction{},
               ginCounterInc{64});
       },
       {"counter 64", "has 64"}},
      {[](const ginContext& c, const World& w) {
         c.put(ginTeamWorld(w.dev), 999, w.window, 0, w.window, 0, 8, ginNoRemoteAction{});
       },
       {"peer 999", "out of range"}},
      {[](const ginContext& c, const World& w) {
         c.waitSignal(ginCoopThread{}, 1234, 1);
         static_cast<void>(w);
       },
       {"signal 1234", "out of range"}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.words[0]);
    const auto words = one.words;
    const auto post = one.post;
    EXPECT_EQ(run_ranks(cluster.place({1, 1}),
                        [&](Rank& rank) {
                          World w = make_world(rank, 4096);
                          if (rank.rank() == 0) {
                            const ginContext bad{w.dev, 2};
                            post(bad, w);
                            const ginResult_t waited = ginWaitSignal(&w.dev, 2, 0, 1, 64, kWaitNs);
                            expect(waited == ginInvalidArgument,
                                   std::string("the wait to end with the reason, not ") +
                                       ginGetErrorString(waited));
                            ginResult_t error = ginSuccess;
                            for (int i = 0; i < 500 && error == ginSuccess; ++i) {
                              check(ginCommGetAsyncError(w.comm, &error), "async error");
                              std::this_thread::sleep_for(std::chrono::milliseconds(10));
                            }
                            refused(error, ginInvalidArgument, words);
                          }
                          // Other contexts of both ranks go on.
                          check(ginSignal(&w.dev, 0, 1 - rank.rank(), ginSignalStrongAdd, 0, 1),
                                "ginSignal");
                          check(ginWaitSignal(&w.dev, 0, 0, 1, 64, kWaitNs), "ginWaitSignal");
                          rank.barrier();
                          end_world(w);
                        }),
              "")
        << cluster.logs();
  }
  EXPECT_GE(cluster.node(0).metric("gind_descriptors_rejected_total{reason=\"offset\"}"), 2);
}

TEST_F(BadInput, MemoryAndWindows) {
  run({1}, [](Rank& rank) {
    World w = make_world(rank, 8192);
    static char own[4096];
    ginWindow_t window{};
    refused(ginCommWindowRegister(w.comm, own, sizeof own, &window, 0), ginInvalidArgument,
            {"ginMemAlloc"});
    refused(ginCommWindowRegister(w.comm, w.memory + 4096, 4097, &window, 0), ginInvalidArgument,
            {"4097"});
    refused(ginMemFree(w.comm, w.memory), ginInvalidUsage, {"window"});
    refused(ginCommWindowDeregister(w.comm, ginWindow_t{}), ginInvalidArgument, {"window"});
    void* memory = nullptr;
    refused(ginMemAlloc(w.comm, &memory, 4096, ginMemDevice), ginNotSupported, {"device"});
    // Two windows in one allocation, and registering again after deregistering.
    check(ginCommWindowRegister(w.comm, w.memory + 4096, 4096, &window, 0), "second window");
    check(ginCommWindowDeregister(w.comm, window), "deregister");
    check(ginCommWindowRegister(w.comm, w.memory + 4096, 4096, &window, 0), "again");
    check(ginCommWindowDeregister(w.comm, window), "deregister");
    end_world(w);
  });
}

TEST_F(BadInput, CollectivesThatDiffer) {
  run({1, 1}, [](Rank& rank) {
    const ginComm_t comm = rank.init();
    void* memory = nullptr;
    check(ginMemAlloc(comm, &memory, 4096, ginMemHost), "ginMemAlloc");
    ginWindow_t window{};
    ginDevComm_t dev{};
    ginDevCommRequirements_t need = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
    const std::vector<std::string> both = {"ginDevCommCreate", "ginCommWindowRegister"};
    if (rank.rank() == 0) {
      refused(ginCommWindowRegister(comm, memory, 4096, &window, 0), ginInvalidUsage, both);
    } else {
      refused(ginDevCommCreate(comm, &need, &dev), ginInvalidUsage, both);
    }
    need.contexts = 1 + rank.rank();
    refused(ginDevCommCreate(comm, &need, &dev), ginInvalidUsage,
            {"contexts", "the same on all ranks"});
    need.contexts = 2;
    check(ginDevCommCreate(comm, &need, &dev), "ginDevCommCreate after the failures");
    check(ginCommDestroy(comm), "ginCommDestroy");
  });
}

// One packet to a fresh connection; the error that comes back.
std::string answer_to(const std::string& socket, const void* bytes, std::size_t size) {
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return "?";
  timeval limit{10, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (::send(fd.get(), bytes, size, MSG_NOSIGNAL) < 0) return "send failed";
  protocol::ErrorReply reply{};
  const ssize_t n = ::recv(fd.get(), &reply, sizeof reply, 0);
  if (n != static_cast<ssize_t>(sizeof reply)) return "no error reply: " + std::to_string(n);
  char extra = 0;
  if (::recv(fd.get(), &extra, 1, 0) != 0) return "the connection was not closed";
  return reply.text;
}

TEST_F(BadInput, ClientsOfOtherVersionsAndGarbage) {
  const std::string& socket = cluster.node(0).socket();
  auto hello = protocol::make_message<protocol::Hello>(protocol::MessageType::kHello, 1);
  hello.segment_version = gin::queues::kSegmentVersion + 7;
  std::string text = answer_to(socket, &hello, sizeof hello);
  EXPECT_NE(text.find("version 8"), std::string::npos) << text;
  hello.header.version = 99;
  text = answer_to(socket, &hello, sizeof hello);
  EXPECT_NE(text.find("99"), std::string::npos) << text;
  EXPECT_NE(text.find(std::to_string(protocol::kClientVersion)), std::string::npos) << text;
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::array<std::uint8_t, 300> junk{};
    for (auto& b : junk) b = static_cast<std::uint8_t>(random());
    if (i % 2 == 0) std::memcpy(junk.data(), &hello, 4);  // the right magic
    answer_to(socket, junk.data(), 1 + random() % junk.size());
  }
  const double malformed =
      cluster.node(0).metric("gind_handshake_rejected_total{reason=\"malformed\"}");
  EXPECT_GE(malformed, 100);
  EXPECT_GE(cluster.node(0).metric("gind_handshake_rejected_total{reason=\"version\"}"), 2);
  run({1, 1}, [](Rank& rank) {
    World w = make_world(rank, 4096);
    end_world(w);
  });
}

// The exit status and standard error of a gind that must not start.
std::pair<int, std::string> start_gind(const std::string& arguments) {
  std::FILE* pipe = ::popen((program("gind") + " " + arguments + " 2>&1").c_str(), "r");
  std::string text;
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
  const int status = ::pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, text};
}

TEST_F(BadInput, GindsThatCannotStart) {
  const std::string a = cluster.node(0).address();
  const std::string free_socket = cluster.node(0).socket() + ".other";
  const std::string other = " --set daemon.socket=" + free_socket + " --set metrics.enabled=false";
  const std::string unused = " --set peer.listen=127.250.1.1";
  struct Case {
    std::string arguments;
    int status;
    std::vector<std::string> words;
  };
  const std::vector<Case> cases = {
      {"--set transport.kind=loopback --set metrics.enabled=false" + unused +
           " --set daemon.socket=" + cluster.node(0).socket(),
       1,
       {"another gind serves", cluster.node(0).socket()}},
      {"--set transport.kind=loopback" + other + " --set peer.listen=" + a,
       1,
       {a + ":9407", "in use", "peer.port"}},
      {"--set transport.kind=loopback --set daemon.socket=" + free_socket + unused +
           " --metrics-listen " + a + ":9408",
       1,
       {"metrics.listen", a + ":9408", "in use"}},
      {"--provider efa" + other + unused, 1, {"\"efa\"", "offers", "tcp;ofi_rxm"}},
      {"--provider 'tcp;ofi_rxm' --set transport.device=mlx5_0" + other + unused,
       1,
       {"mlx5_0", "offers"}},
      {"--provider shm --set transport.signal_mode=record" + other + unused, 1, {"record", "shm"}},
      {"--set peer.portt=1", 2, {"peer.portt", "peer.port"}},
      {"--set peer.listen=10.1.2.3", 2, {"peer.listen", "10.1.2.3", "peer.insecure"}},
      {"--set proxy.threads=1 --set proxy.cpus=[4000] --set transport.kind=loopback" + other +
           unused,
       1,
       {"4000"}},
      {"--config /nonexistent/gind.toml", 2, {"/nonexistent/gind.toml", "No such file"}},
      {"--set daemon.socket=/nonexistent/dir/gind.sock --set transport.kind=loopback",
       1,
       {"/nonexistent/dir/gind.sock", "folder"}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.arguments);
    const auto [status, text] = start_gind(one.arguments);
    EXPECT_EQ(status, one.status) << text;
    for (const auto& word : one.words) EXPECT_NE(text.find(word), std::string::npos) << text;
  }
}

TEST(BadInputNodes, OfDifferentFabricsAreRefusedByName) {
  Cluster tcp({.nodes = 1, .provider = "tcp;ofi_rxm", .namespaces = false, .set = kShort});
  std::string pattern = "/tmp/gind-other.XXXXXX";
  const std::string dir = ::mkdtemp(pattern.data());
  {
    NodeOptions options;
    options.address = "127.251." + std::to_string(::getpid() / 250 % 250) + "." +
                      std::to_string(::getpid() % 250 + 1);
    options.provider = "loopback";
    options.set = kShort;
    GindProcess other(dir, "other", options);
    const std::string failures = run_ranks({tcp.node(0).socket(), other.socket()}, [](Rank& rank) {
      ginComm_t comm = nullptr;
      const ginUniqueId id = rank.unique_id();
      if (rank.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(500));
      const ginResult_t r = ginCommInitRank(&comm, 2, id, rank.rank());
      if (rank.rank() == 1) {
        const std::string text = ginGetLastError();
        expect(r != ginSuccess && text.find("loopback") != std::string::npos &&
                   text.find("ofi") != std::string::npos,
               "both transports in: " + text);
      } else {
        refused(r, ginTimeout, {"rank 1"});
      }
    });
    EXPECT_EQ(failures, "");
  }
  (void)!std::system(("rm -rf " + dir).c_str());
}

}  // namespace
}  // namespace gind::test
