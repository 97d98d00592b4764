// SPDX-License-Identifier: Apache-2.0
// What kernels post arrives, for every coop, sharing mode and shape of divergence.
#include "kernel_run.cuh"

#include <cstring>

namespace gind::test {
namespace {

__device__ unsigned char byte_of(std::uint64_t message, std::uint64_t at) {
  const std::uint64_t x = (message * 0x9e3779b97f4a7c15u + at) * 0xff51afd7ed558ccdu;
  return static_cast<unsigned char>(x >> 56);
}

// All threads of the coop write the payload, one put carries it, all check what came.
template <typename Coop>
__global__ void put_and_check(ginDevComm_t dev, ginWindow_t window, char* memory,
                              const std::uint64_t* sizes, int count, std::uint64_t half,
                              Report* report) {
  const ginContext ctx{dev, 0};
  const Coop coop{};
  for (int m = 0; m < count; ++m) {
    const std::uint64_t bytes = sizes[m];
    const std::uint64_t from = static_cast<std::uint64_t>(m) % 8;
    const std::uint64_t to = half + (static_cast<std::uint64_t>(m) * 3) % 8;
    for (std::uint64_t i = threadIdx.x; i < bytes; i += blockDim.x) {
      memory[from + i] = static_cast<char>(byte_of(m, i));
    }
    ok_at(report, 1,
          ctx.put(ginTeamWorld(dev), 0, window, to, window, from, bytes, ginSignalInc{3},
                  ginCounterInc{2}, coop));
    ok_at(report, 2, ctx.waitSignal(coop, 3, m + 1));
    for (std::uint64_t i = threadIdx.x; i < bytes; i += blockDim.x) {
      const auto got =
          static_cast<unsigned char>(*static_cast<const volatile char*>(memory + to + i));
      true_at(report, 3, got == byte_of(m, i), static_cast<std::uint64_t>(m) << 32 | i);
    }
    ok_at(report, 4, ctx.flush(coop));
    ok_at(report, 5, ctx.waitCounter(coop, 2, m + 1));
  }
}

class GpuOperations : public OnOneGind {};

TEST_F(GpuOperations, APutOfAThreadAWarpAndABlockCarriesWhatTheCoopWrote) {
  run([](Rank& rank) {
    constexpr std::uint64_t kHalf = 1 << 20;
    World w = gpu_world(rank, 2 * kHalf);
    const std::uint64_t list[] = {0, 1, 7, 8, 9, 63, 64, 4096, 65537, 1 << 19};
    auto* sizes = pinned<std::uint64_t>(10);
    std::memcpy(sizes, list, sizeof list);
    auto* report = pinned<Report>();
    put_and_check<ginCoopThread><<<1, 1>>>(w.dev, w.window, w.memory, sizes, 8, kHalf, report);
    cuda_check(cudaDeviceSynchronize(), "thread");
    expect_no_fault(*report, "thread");
    for (const int threads : {32, 256}) {
      // Fresh signals and counters: those of the launch before keep their values.
      World v = gpu_world(rank, 2 * kHalf);
      if (threads == 32) {
        put_and_check<ginCoopWarp><<<1, 32>>>(v.dev, v.window, v.memory, sizes, 10, kHalf, report);
      } else {
        put_and_check<ginCoopBlock>
            <<<1, 256>>>(v.dev, v.window, v.memory, sizes, 10, kHalf, report);
      }
      cuda_check(cudaDeviceSynchronize(), "coop");
      expect_no_fault(*report, std::to_string(threads) + " threads");
      end_world(v);
    }
    end_world(w);
  });
}

// Lanes take different ways to the same and other calls, with and without neighbours, under
// different peers, counts and record sizes; each adds what it did to its own word and signal.
__global__ void diverge(ginDevComm_t dev, ginWindow_t window, std::uint64_t rounds,
                        Report* report) {
  const ginContext ctx{dev, 1};
  const ginTeam_t world = ginTeamWorld(dev);
  const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint64_t mine = std::uint64_t{t} * 16;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    if (t % 3 == 0) {
      if (i % 2 == 0) {
        ok_at(report, 1, ctx.putValue(world, 0, window, mine, i + 1, ginSignalInc{1}));
      } else {
        ok_at(report, 2, ctx.signal(world, 0, ginSignalInc{1}));
      }
    } else if (t % 3 == 1) {
      for (unsigned k = 0; k < t % 5; ++k) {
        ok_at(report, 3, ctx.signal(world, 0, ginSignalAdd{2, 1ull << 40}));  // three units
      }
      if (t % 2 == 0) continue;
      ok_at(report, 4, ctx.putValue(world, 0, window, mine + 8, std::uint32_t(i), ginSignalInc{1}));
    } else if ((t + i) % 7 != 0) {
      ok_at(report, 5, ctx.signal(world, 0, ginWeakSignalInc{3}));
    }
  }
}

// Waits until the signals 1, 2, 3 have reached `want`, then tells their values and flushes.
__global__ void settle(ginDevComm_t dev, int context, const std::uint64_t* want,
                       std::uint64_t* seen, Report* report) {
  const ginContext ctx{dev, context};
  for (unsigned s = 1; s <= 3; ++s) {
    ok_at(report, 10 + s, ctx.waitSignal(ginCoopThread{}, s, want[s - 1]));
  }
  ok_at(report, 14, ctx.flush());
  for (unsigned s = 1; s <= 3; ++s) seen[s - 1] = ctx.readSignal(s);
}

void expect_signals(const World& w, int context, const std::uint64_t (&want)[3]) {
  auto* report = pinned<Report>();
  auto* given = pinned<std::uint64_t>(3);
  auto* seen = pinned<std::uint64_t>(3);
  std::memcpy(given, want, sizeof want);
  settle<<<1, 1>>>(w.dev, context, given, seen, report);
  cuda_check(cudaDeviceSynchronize(), "settle");
  expect_no_fault(*report, "settle");
  for (int s = 0; s < 3; ++s) {
    expect(seen[s] == want[s], "signal " + std::to_string(s + 1) + " at " +
                                   std::to_string(want[s]) + ", is " + std::to_string(seen[s]));
  }
}

TEST_F(GpuOperations, KernelsThatDivergeAroundTheirPostsLoseNothing) {
  run([](Rank& rank) {
    constexpr int kBlocks = 4, kThreads = 96;
    constexpr std::uint64_t kRounds = 50;
    World w = gpu_world(rank, 1 << 16);
    auto* report = pinned<Report>();
    diverge<<<kBlocks, kThreads>>>(w.dev, w.window, kRounds, report);
    cuda_check(cudaDeviceSynchronize(), "diverge");
    expect_no_fault(*report, "diverge");
    std::uint64_t want[3] = {0, 0, 0};
    for (unsigned t = 0; t < kBlocks * kThreads; ++t) {
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        if (t % 3 == 0) ++want[0];
        if (t % 3 == 1) {
          want[1] += std::uint64_t{t % 5} << 40;
          want[0] += t % 2;
        }
        if (t % 3 == 2 && (t + i) % 7 != 0) ++want[2];
      }
    }
    expect_signals(w, 1, want);
    for (unsigned t = 0; t < kBlocks * kThreads; ++t) {
      std::uint64_t words[2];
      std::memcpy(words, w.memory + t * 16, sizeof words);
      const std::uint64_t first = t % 3 == 0 ? kRounds - 1 : 0;  // the last even round's
      const std::uint64_t second = t % 3 == 1 && t % 2 == 1 ? kRounds - 1 : 0;
      expect(words[0] == first && words[1] == second, "the words of thread " + std::to_string(t) +
                                                          " are " + std::to_string(words[0]) +
                                                          " and " + std::to_string(words[1]));
    }
    end_world(w);
  });
}

__global__ void by_warp_session(ginDevComm_t dev, ginWindow_t window, std::uint64_t rounds,
                                Report* report) {
  const ginContext ctx{dev, static_cast<int>(blockIdx.x)};
  const ginWarpSession session{ctx};
  const ginTeam_t world = ginTeamWorld(dev);
  const unsigned lane = threadIdx.x;
  const std::uint64_t mine = (std::uint64_t{blockIdx.x} * 32 + lane) * 8;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    // All lanes, some, one record of three units beside ones of two, none.
    ok_at(report, 1, session.putValue(world, 0, window, mine, i + 1, ginSignalInc{1}));
    ok_at(report, 2, session.when(lane % 3 == i % 3).signal(world, 0, ginSignalInc{2}));
    ok_at(report, 3, session.signal(world, 0, ginSignalAdd{3, lane == i % 32 ? 1ull << 40 : 1ull}));
    ok_at(report, 4, session.when(false).signal(world, 0, ginSignalInc{1}));
  }
  ok_at(report, 5, ctx.flush(ginCoopWarp{}));
}

TEST_F(GpuOperations, AWarpSessionPostsForTheLanesThatTakePart) {
  run([](Rank& rank) {
    constexpr std::uint64_t kRounds = 96;
    World w = gpu_world(rank, 1 << 16, ginSharingExclusive);
    auto* report = pinned<Report>();
    // Twice: the second session finds the head where the first left it.
    for (std::uint64_t launch = 1; launch <= 2; ++launch) {
      by_warp_session<<<4, 32>>>(w.dev, w.window, kRounds, report);
      cuda_check(cudaDeviceSynchronize(), "session");
      expect_no_fault(*report, "session");
      std::uint64_t some = 0;
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        for (unsigned lane = 0; lane < 32; ++lane) some += lane % 3 == i % 3;
      }
      for (int c = 0; c < 4; ++c) {
        expect_signals(w, c,
                       {launch * kRounds * 32, launch * some,
                        launch * kRounds * ((std::uint64_t{1} << 40) + 31)});
      }
    }
    for (unsigned t = 0; t < 128; ++t) {
      std::uint64_t word = 0;
      std::memcpy(&word, w.memory + t * 8, sizeof word);
      expect(word == kRounds, "the last value of thread " + std::to_string(t));
    }
    end_world(w);
  });
}

__global__ void by_thread_session(ginDevComm_t dev, ginWindow_t window, std::uint64_t puts,
                                  Report* report) {
  const ginContext ctx{dev, static_cast<int>(blockIdx.x)};
  const ginThreadSession session{ctx};
  const ginTeam_t world = ginTeamWorld(dev);
  for (std::uint64_t i = 0; i < puts; ++i) {
    ok_at(
        report, 1,
        session.putValue(world, 0, window, std::uint64_t{blockIdx.x} * 8, i + 1, ginSignalInc{1}));
  }
  ok_at(report, 2, session.context().flush());
}

TEST_F(GpuOperations, AThreadSessionPostsMoreThanTheRingHolds) {
  run([](Rank& rank) {
    World w = gpu_world(rank, 4096, ginSharingExclusive);
    auto* report = pinned<Report>();
    by_thread_session<<<4, 1>>>(w.dev, w.window, 20'000, report);
    cuda_check(cudaDeviceSynchronize(), "session");
    expect_no_fault(*report, "session");
    for (int c = 0; c < 4; ++c) expect_signals(w, c, {20'000, 0, 0});
    end_world(w);
  });
}

__global__ void session_on_shared(ginDevComm_t dev, Report* report) {
  const ginContext ctx{dev, 0};
  const ginThreadSession session{ctx};
  const ginResult_t r = session.signal(ginTeamWorld(dev), 0, ginSignalInc{1});
  true_at(report, 1, r == ginInvalidUsage, r);
  const ginContext none{dev, 99};
  const ginThreadSession nobody{none};
  const ginResult_t n = nobody.signal(ginTeamWorld(dev), 0, ginSignalInc{1});
  true_at(report, 2, n == ginInvalidArgument, n);
}

TEST_F(GpuOperations, ASessionNeedsAContextOfOnePoster) {
  run([](Rank& rank) {
    World w = gpu_world(rank, 4096);
    auto* report = pinned<Report>();
    session_on_shared<<<1, 1>>>(w.dev, report);
    cuda_check(cudaDeviceSynchronize(), "session");
    expect_no_fault(*report, "session");
    end_world(w);
  });
}

// Calls that a CPU thread makes on a GPU's contexts, and a kernel on the host's.
__global__ void on_host_contexts(ginDevComm_t dev, Report* report) {
  const ginContext ctx{dev, 0};
  const ginResult_t r = ctx.signal(ginTeamWorld(dev), 0, ginSignalInc{1});
  true_at(report, 1, r == ginInvalidArgument, r);
}

TEST_F(GpuOperations, ContextsBelongToTheGpuOrToTheHost) {
  run([](Rank& rank) {
    World w = gpu_world(rank, 4096);
    expect(w.dev.device == 0, "device 0");
    expect(ginSignal(&w.dev, 0, 0, ginSignalStrongAdd, 1, 1) == ginInvalidUsage,
           "ginSignal on a GPU's context is refused");
    expect(std::string(ginGetLastError()).find("ginPosterHost") != std::string::npos,
           std::string("what to do: ") + ginGetLastError());
    ginDevCommRequirements_t need = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
    need.poster = ginPosterHost;
    ginDevComm_t host{};
    check(ginDevCommCreate(w.comm, &need, &host), "host contexts beside");
    expect(host.device == -1, "device -1");
    check(ginSignal(&host, 0, 0, ginSignalStrongAdd, 1, 1), "ginSignal");
    check(ginWaitSignal(&host, 0, 1, 1, 64, kWaitNs), "ginWaitSignal");
    auto* report = pinned<Report>();
    on_host_contexts<<<1, 1>>>(host, report);
    cuda_check(cudaDeviceSynchronize(), "host contexts");
    expect_no_fault(*report, "host contexts");
    check(ginDevCommDestroy(w.comm, &host), "destroy");
    end_world(w);
  });
}

}  // namespace
}  // namespace gind::test
