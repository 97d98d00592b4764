// SPDX-License-Identifier: Apache-2.0
// The limits of the device API, each at its edge and one past it.
#include "cluster.h"
#include "ranks.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <thread>

namespace gind::test {
namespace {

const ginWaitOptions kWait{kWaitNs, nullptr};

std::string on_one_gind(const std::vector<std::string>& set, const RankRun::Body& body) {
  Cluster cluster({.nodes = 1, .provider = "loopback", .namespaces = false, .set = set});
  const std::string failures = run_ranks(cluster.place({1}), body, 150);
  return failures.empty() ? failures : failures + cluster.logs();
}

void wait_for_error(const World& w, const std::vector<std::string>& words) {
  ginResult_t error = ginSuccess;
  for (int i = 0; i < 1000 && error == ginSuccess; ++i) {
    check(ginCommGetAsyncError(w.comm, &error), "async error");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const std::string text = ginGetLastError();
  expect(error == ginInvalidArgument, "the host to see it: " + text);
  for (const std::string& one : words) {
    expect(text.find(one) != std::string::npos, text + " to name " + one);
  }
}

TEST(Limits, AContextHas65536SignalsAndCounters) {
  EXPECT_EQ(on_one_gind({},
                        [](Rank& rank) {
                          ginDevCommRequirements_t need = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
                          need.contexts = 2;
                          need.signals = 65536;
                          need.counters = 65536;
                          World w = make_world(rank, 4096, &need);
                          expect(w.dev.barriers == 0, "no room for barriers");
                          const ginTeam_t world = ginTeamWorld(w.dev);
                          const ginContext ctx{w.dev, 0};
                          check(ctx.put(world, 0, w.window, 0, w.window, 8, 8, ginSignalInc{65535},
                                        ginCounterInc{65535}),
                                "put");
                          check(ctx.waitSignal(ginCoopThread{}, 65535, 1, 64, kWait), "signal");
                          check(ctx.waitCounter(ginCoopThread{}, 65535, 1, 56, kWait), "counter");
                          const ginContext bad{w.dev, 1};
                          expect(bad.signal(world, 0, ginSignalInc{65536}) == ginInvalidArgument,
                                 "one past it to be refused");
                          wait_for_error(w, {"signal 65536"});
                          need.barriers = 1;
                          ginDevComm_t dev{};
                          expect(ginDevCommCreate(w.comm, &need, &dev) == ginInvalidArgument,
                                 "a barrier that has no room to be refused");
                          expect(std::string(ginGetLastError()).find("barriers: 1, expected 0") !=
                                     std::string::npos,
                                 ginGetLastError());
                          check(ginCommDestroy(w.comm), "ginCommDestroy");
                        }),
            "");
}

TEST(Limits, ADeviceCommunicatorHas256Contexts) {
  EXPECT_EQ(on_one_gind({},
                        [](Rank& rank) {
                          ginDevCommRequirements_t need = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
                          need.contexts = 256;
                          World w = make_world(rank, 4096, &need);
                          for (int c = 0; c < 256; ++c) {
                            const ginContext ctx{w.dev, c};
                            check(ctx.signal(ginTeamWorld(w.dev), 0, ginSignalInc{1}), "signal");
                          }
                          for (int c = 0; c < 256; ++c) {
                            const ginContext ctx{w.dev, c};
                            check(ctx.waitSignal(ginCoopThread{}, 1, 1, 64, kWait), "wait");
                          }
                          const ginContext past{w.dev, 256};
                          expect(past.signal(ginTeamWorld(w.dev), 0, ginSignalInc{1}) ==
                                     ginInvalidArgument,
                                 "context 256 to be none");
                          end_world(w);
                        }),
            "");
}

TEST(Limits, ACommunicatorHas4096Windows) {
  EXPECT_EQ(on_one_gind({"limits.windows=4096"},
                        [](Rank& rank) {
                          World w = make_world(rank, 4096 * 64);
                          std::vector<ginWindow_t> windows = {w.window};
                          while (windows.size() < 4096) {
                            ginWindow_t one{};
                            check(ginCommWindowRegister(w.comm, w.memory + 64 * windows.size(), 64,
                                                        &one, GIN_WIN_DEFAULT),
                                  "window " + std::to_string(windows.size()));
                            windows.push_back(one);
                          }
                          ginWindow_t more{};
                          expect(ginCommWindowRegister(w.comm, w.memory, 64, &more,
                                                       GIN_WIN_DEFAULT) == ginLimitExceeded,
                                 "one more to be refused");
                          expect(std::string(ginGetLastError()).find("4096") != std::string::npos,
                                 ginGetLastError());
                          std::strcpy(w.memory + 4095 * 64, "the last");
                          const ginContext ctx{w.dev, 0};
                          check(ctx.put(ginTeamWorld(w.dev), 0, windows[1], 0, windows[4095], 0, 9,
                                        ginSignalInc{0}),
                                "put");
                          check(ctx.waitSignal(ginCoopThread{}, 0, 1, 64, kWait), "wait");
                          expect(std::strcmp(w.memory + 64, "the last") == 0, "the data");
                          const ginContext bad{w.dev, 1};
                          expect(bad.put(ginTeamWorld(w.dev), 0, ginWindow_t{4097}, 0, w.window, 0,
                                         8) == ginInvalidArgument,
                                 "window 4096 to be none");
                          wait_for_error(w, {"dst window 4096"});
                          check(ginCommDestroy(w.comm), "ginCommDestroy");
                        }),
            "");
}

std::uint64_t available_bytes() {
  std::ifstream info("/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  std::string unit;
  while (info >> name >> kib >> unit) {
    if (name == "MemAvailable:") return kib * 1024;
  }
  return 0;
}

TEST(Limits, APutHasMoreThan2To31Bytes) {
  constexpr std::uint64_t kBytes = (std::uint64_t{1} << 31) + 8;
  if (available_bytes() < 3 * kBytes) GTEST_SKIP() << "needs 6 GiB of free memory";
  EXPECT_EQ(on_one_gind({},
                        [](Rank& rank) {
                          World w = make_world(rank, 2 * kBytes);
                          auto* words = reinterpret_cast<std::uint64_t*>(w.memory);
                          constexpr std::uint64_t kWords = kBytes / 8;
                          for (std::uint64_t i = 0; i < kWords; i += 512) words[i] = i + 1;
                          words[kWords - 1] = kWords;
                          const ginContext ctx{w.dev, 0};
                          check(ctx.put(ginTeamWorld(w.dev), 0, w.window, kBytes, w.window, 0,
                                        kBytes, ginSignalInc{0}),
                                "put");
                          check(ctx.waitSignal(ginCoopThread{}, 0, 1, 64, kWait), "wait");
                          for (std::uint64_t i = 0; i < kWords; i += 512) {
                            expect(words[kWords + i] == i + 1, "word " + std::to_string(i));
                          }
                          expect(words[2 * kWords - 1] == kWords, "the last word");
                          const ginContext bad{w.dev, 1};
                          check(
                              bad.put(ginTeamWorld(w.dev), 0, w.window, 1, w.window, 0, 2 * kBytes),
                              "post");
                          wait_for_error(w, {"dst offset 1 +", std::to_string(2 * kBytes)});
                          check(ginCommDestroy(w.comm), "ginCommDestroy");
                        }),
            "");
}

// As threads of one process: what counts is what gind and the communicator can hold.
TEST(Limits, ACommunicatorHas1024Ranks) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur < 8192) GTEST_SKIP() << "needs 8,192 file descriptors";
  Cluster cluster(
      {.nodes = 1, .provider = "loopback", .namespaces = false, .set = {"limits.clients=2000"}});
  ::setenv("GIND_SOCKET", cluster.node(0).socket().c_str(), 1);
  constexpr int kRanks = 1024;
  ginUniqueId id{};
  ASSERT_EQ(ginGetUniqueId(&id), ginSuccess) << ginGetLastError();
  ginComm_t none = nullptr;
  EXPECT_EQ(ginCommInitRank(&none, kRanks + 1, id, 0), ginInvalidArgument);
  EXPECT_NE(std::string(ginGetLastError()).find("1025"), std::string::npos) << ginGetLastError();
  EXPECT_EQ(ginCommInitRank(&none, kRanks, id, kRanks), ginInvalidArgument);
  std::mutex mutex;
  std::string first_failure;
  std::vector<std::thread> threads;
  for (int r = 0; r < kRanks; ++r) {
    threads.emplace_back([&, r] {
      try {
        ginComm_t comm = nullptr;
        check(ginCommInitRank(&comm, kRanks, id, r), "ginCommInitRank");
        ginDevCommRequirements_t need = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
        need.contexts = 1;
        need.signals = 2;
        need.counters = 0;
        need.barriers = 1;
        need.queueDepth = 2048;
        ginDevComm_t dev{};
        check(ginDevCommCreate(comm, &need, &dev), "ginDevCommCreate");
        const ginContext ctx{dev, 0};
        check(ctx.signal(ginTeamWorld(dev), (r + 1) % kRanks, ginSignalInc{1}), "signal");
        check(ctx.waitSignal(ginCoopThread{}, 1, 1, 64, kWait), "wait");
        check(ctx.flush(ginCoopThread{}, kWait), "flush");
        check(ginCommFinalize(comm), "ginCommFinalize");
        check(ginCommDestroy(comm), "ginCommDestroy");
      } catch (const std::exception& e) {
        const std::lock_guard lock(mutex);
        if (first_failure.empty()) first_failure = "rank " + std::to_string(r) + ": " + e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(first_failure, "") << cluster.logs().substr(0, 2000);
}

}  // namespace
}  // namespace gind::test
