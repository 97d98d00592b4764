// SPDX-License-Identifier: Apache-2.0
// What goes wrong reaches the kernel and the host, and nobody else.
#include "kernel_run.cuh"

#include <chrono>
#include <csignal>
#include <thread>

namespace gind::test {
namespace {

enum class Misuse { kNoWindow, kPastTheEnd, kNoPeer, kNoSignal };

__global__ void misuse(ginDevComm_t dev, ginWindow_t window, Misuse what, Report* report) {
  const ginContext ctx{dev, 0};
  const ginTeam_t world = ginTeamWorld(dev);
  switch (what) {
    case Misuse::kNoWindow:
      ctx.put(world, 0, ginWindow_t{0}, 0, window, 0, 8);
      break;
    case Misuse::kPastTheEnd:
      ctx.put(world, 0, window, 4090, window, 0, 8);
      break;
    case Misuse::kNoPeer:
      ctx.put(world, 7, window, 0, window, 0, 8);
      break;
    case Misuse::kNoSignal:
      ctx.signal(world, 0, ginSignalInc{70'000});
      break;
  }
  // The context is in error: a wait that nothing would end comes back.
  const ginResult_t r = ctx.waitSignal(ginCoopThread{}, 0, 1);
  true_at(report, 1, r != ginSuccess && r != ginTimeout, r);
  true_at(report, 2, ctx.error() != ginSuccess);
  const ginContext other{dev, 1};
  ok_at(report, 3, other.signal(world, 0, ginSignalInc{0}));
  ok_at(report, 4, other.waitSignal(ginCoopThread{}, 0, 1));
}

class GpuFailure : public OnOneGind {};

TEST_F(GpuFailure, BadUseEndsTheContextWithItsNameAndNoOther) {
  const struct {
    Misuse what;
    const char* says;
  } cases[] = {{Misuse::kNoWindow, "window"},
               {Misuse::kPastTheEnd, "4090"},
               {Misuse::kNoPeer, "7"},
               {Misuse::kNoSignal, "70000"}};
  for (const auto& c : cases) {
    run([c](Rank& rank) {
      World w = gpu_world(rank, 4096);
      auto* report = pinned<Report>();
      misuse<<<1, 1>>>(w.dev, w.window, c.what, report);
      cuda_check(cudaDeviceSynchronize(), "misuse");
      expect_no_fault(*report, c.says);
      // The kernel has it from the context's word; the host's message may come a moment later.
      ginResult_t error = ginSuccess;
      for (int tries = 0; error == ginSuccess && tries < 2000; ++tries) {
        check(ginCommGetAsyncError(w.comm, &error), "ginCommGetAsyncError");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      expect(error == ginInvalidArgument, "the host sees it");
      const std::string text = ginGetLastError();
      expect(text.find(c.says) != std::string::npos, text + " names " + c.says);
      check(ginCommDestroy(w.comm), "ginCommDestroy");
    });
  }
}

__global__ void wait_in_vain(ginDevComm_t dev, std::int64_t timeout_ns, const std::uint32_t* flag,
                             unsigned* result, volatile unsigned* started) {
  const ginContext ctx{dev, 0};
  *started = 1;
  *result = 1 + ctx.waitSignal(ginCoopBlock{}, 0, 1, 64, ginWaitOptions{timeout_ns, flag});
}

// Launches a wait, does `meanwhile`, and expects how the wait ends.
void expect_wait_ends(const World& w, std::int64_t timeout_ns, const std::uint32_t* flag,
                      const std::function<void()>& meanwhile, ginResult_t expected) {
  auto* result = pinned<unsigned>();
  auto* started = pinned<unsigned>();
  wait_in_vain<<<1, 64>>>(w.dev, timeout_ns, flag, result, started);
  while (*const_cast<volatile unsigned*>(started) == 0) std::this_thread::yield();
  meanwhile();
  cuda_check(cudaDeviceSynchronize(), "wait");
  expect(*result == 1u + expected,
         "result " + std::to_string(expected) + ", is " + std::to_string(int(*result) - 1));
}

TEST_F(GpuFailure, AWaitEndsByItsDeadlineItsFlagOrAnAbort) {
  run([](Rank& rank) {
    World w = gpu_world(rank, 4096);
    expect_wait_ends(
        w, 50'000'000, nullptr, [] {}, ginTimeout);
    auto* flag = pinned<std::uint32_t>();
    expect_wait_ends(
        w, 0, flag, [&] { *flag = 1; }, ginAborted);
    expect_wait_ends(
        w, 0, nullptr, [&] { check(ginCommAbort(w.comm), "ginCommAbort"); }, ginAborted);
    check(ginCommDestroy(w.comm), "ginCommDestroy");
  });
}

TEST_F(GpuFailure, AKernelThatWaitsIsReleasedWhenGindIsKilled) {
  Cluster cluster({.nodes = 1, .provider = "loopback", .namespaces = false, .set = {}});
  RankRun ranks(cluster.place({1}), [](Rank& rank) {
    World w = gpu_world(rank, 4096);
    expect_wait_ends(
        w, 0, nullptr, [&] { rank.announce(1); }, ginDaemonLost);
    check(ginCommDestroy(w.comm), "ginCommDestroy");
  });
  ASSERT_TRUE(ranks.wait_announced(0, 1));
  cluster.node(0).kill(SIGKILL);
  const auto results = ranks.finish(60);
  EXPECT_EQ(results[0].status, 0) << results[0].text;
}

__global__ void trap_now(ginDevComm_t dev, bool leave_hole) {
  const ginContext ctx{dev, 0};
  ctx.signal(ginTeamWorld(dev), 0, ginSignalInc{0});
  if (leave_hole) {
    // What a thread killed between reserving and storing leaves, with a record behind it.
    auto* head = reinterpret_cast<unsigned long long*>(dev.state);
    atomicAdd(head, 1ull);
    ctx.signal(ginTeamWorld(dev), 0, ginSignalInc{0});
    __threadfence_system();
  }
  asm volatile("trap;");
}

// One rank's kernel traps; another process on the same gind goes on, and so does the gind.
void trap_beside_another(Cluster& cluster, bool leave_hole) {
  const std::string failed = run_ranks({cluster.node(0).socket()}, [leave_hole](Rank& rank) {
    World w = gpu_world(rank, 4096);
    trap_now<<<1, 1>>>(w.dev, leave_hole);
    expect(cudaDeviceSynchronize() != cudaSuccess, "the kernel traps");
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    ginResult_t error = ginSuccess;
    std::string text;
    const auto wanted = leave_hole ? "hole" : "GPU 0";
    do {
      check(ginCommGetAsyncError(w.comm, &error), "ginCommGetAsyncError");
      text = ginGetLastError();
      // A hole is found by gind after its deadline; what the GPU tells may be there before.
      if (leave_hole && error == ginUnhandledCudaError) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    } while (text.find(wanted) == std::string::npos && std::chrono::steady_clock::now() < until);
    expect(error != ginSuccess, "the host learns of it");
    if (!leave_hole) {
      expect(error == ginUnhandledCudaError, "as a CUDA error: " + text);
      expect(text.find("GPU 0") != std::string::npos, text + " names the GPU");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(leave_hole ? 1000 : 0));
    check(ginCommDestroy(w.comm), "the process lives on and leaves in order");
  });
  EXPECT_EQ(failed, "") << cluster.logs();
}

TEST_F(GpuFailure, AKernelThatTrapsHarmsNeitherItsProcessNorGindNorOthers) {
  Cluster cluster(
      {.nodes = 1, .provider = "loopback", .namespaces = false, .set = {"timeouts.hole=300ms"}});
  for (const bool leave_hole : {false, true}) {
    trap_beside_another(cluster, leave_hole);
    ASSERT_TRUE(cluster.node(0).running()) << cluster.logs();
    EXPECT_EQ(run_ranks({cluster.node(0).socket()},
                        [](Rank& rank) {
                          World w = gpu_world(rank, 4096);
                          expect_wait_ends(
                              w, 20'000'000, nullptr, [] {}, ginTimeout);
                          end_world(w);
                        }),
              "");
  }
  EXPECT_NE(cluster.logs().find("hole"), std::string::npos) << cluster.logs();
}

}  // namespace
}  // namespace gind::test
