// SPDX-License-Identifier: Apache-2.0
// get, atomics, VA signals, shadows, quiet, barriers and the ends of waits, from kernels.
#include "kernel_run.cuh"

#include <thread>

namespace gind::test {
namespace {

constexpr std::uint64_t kBytes = 1 << 20;

World strict_world(Rank& rank) {
  cuda_check(cudaSetDevice(0), "cudaSetDevice");
  cuda_check(cudaFree(nullptr), "a context");
  ginDevCommRequirements_t need = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
  need.timeoutNs = 20'000'000'000;
  need.poster = ginPosterGpu;
  return make_world(rank, kBytes, &need, GIN_WIN_STRICT_ORDERING);
}

__device__ volatile std::uint64_t* word(const ginWindow_t& window, std::uint64_t at) {
  return reinterpret_cast<volatile std::uint64_t*>(window.base + at);
}

// All threads of the coop work on one operation at a time, and check what it brought.
template <typename Coop>
__global__ void operations(ginDevComm_t dev, ginWindow_t window, std::uint64_t first,
                           Report* report) {
  const Coop coop{};
  const ginContext ctx{dev, 0};
  const ginTeam_t world = ginTeamWorld(dev);
  constexpr std::uint64_t kFrom = 4096;
  constexpr std::uint64_t kTo = kBytes / 2;
  const std::uint64_t words = 1000;
  for (std::uint64_t round = first; round < first + 20; ++round) {
    for (std::uint64_t i = coop.thread_rank(); i < words; i += coop.size()) {
      *word(window, kFrom + 8 * i) = round * 1000 + i;
      *word(window, kTo + 8 * i) = 0;
    }
    ok_at(report, 1, ctx.get(world, 0, window, kFrom, window, kTo, words * 8, coop));
    ok_at(report, 2, ctx.flush(coop));
    for (std::uint64_t i = coop.thread_rank(); i < words; i += coop.size()) {
      const std::uint64_t got = *word(window, kTo + 8 * i);
      true_at(report, 3, got == round * 1000 + i, got);
    }
    coop.sync();
    ok_at(report, 4, ctx.fetchAdd(world, 0, window, 64, 3, window, 72, coop));
    ok_at(report, 5, ctx.flush(coop));
    true_at(report, 6, *word(window, 72) == 3 * round, *word(window, 72));
    ok_at(report, 7, ctx.compareSwap(world, 0, window, 128, round, round + 1, window, 136, coop));
    ok_at(report, 8, ctx.flush(coop));
    true_at(report, 9, *word(window, 136) == round, *word(window, 136));
    coop.sync();
    ok_at(report, 10,
          ctx.put(world, 0, window, kTo, window, kFrom, 8, ginVASignalAdd{window, 8, 1ull << 33},
                  ginNoLocalAction{}, coop));
    ok_at(report, 11, ctx.signal(world, 0, ginWeakVASignalInc{window, 16}, coop));
    ok_at(report, 12, ctx.waitSignal(coop, window, 8, (round + 1) << 33));
    ok_at(report, 13, ctx.waitSignal(coop, window, 16, round + 1));
    ginRequest_t request{};
    ok_at(report, 14, ctx.flushAsync(world, 0, &request, coop));
    ok_at(report, 15, ctx.wait(request, coop));
    ok_at(report, 16, ctx.signal(world, 0, ginSignalAdd{5, 2}, coop));
    std::uint32_t before = 0;
    std::uint32_t delta = 0;
    ok_at(report, 17, ctx.waitSignalFollowShadow(coop, 5, 2u, &before, &delta, 32));
    true_at(report, 18, before == 2 * round && delta == 2, before);
    ok_at(report, 19, ctx.quiet(coop));
    const ginBarrierSession barrier{coop, ctx, world, 1};
    ok_at(report, 20, barrier.sync(coop));
    const ginBarrierSession all{coop, ginAllContexts{dev}, world, 0};
    ok_at(report, 21, all.sync(coop));
  }
  if (coop.thread_rank() == 0) {
    ok_at(report, 22, ctx.resetSignal(window, 16));
    true_at(report, 23, ctx.readSignal(window, 16) == 0);
    for (std::uint64_t i = 0; i < first + 20; ++i) {
      ok_at(report, 24, ctx.signal(world, 0, ginVASignalInc{window, 16}));
    }
    ok_at(report, 25, ctx.waitSignal(ginCoopThread{}, window, 16, first + 20));
  }
}

class GpuNewOperations : public OnOneGind {};

TEST_F(GpuNewOperations, WorkForEveryCoopAndPersistBetweenLaunches) {
  run([](Rank& rank) {
    World w = strict_world(rank);
    auto* report = pinned<Report>();
    operations<ginCoopTile<4>><<<1, 4>>>(w.dev, w.window, 0, report);
    operations<ginCoopWarp><<<1, 32>>>(w.dev, w.window, 20, report);
    operations<ginCoopBlock><<<1, 256>>>(w.dev, w.window, 40, report);
    cuda_check(cudaDeviceSynchronize(), "operations");
    expect_no_fault(*report, "operations");
    end_world(w);
  });
}

// Two tiles of one warp, each with its own put, while the other goes another way.
__global__ void two_tiles(ginDevComm_t dev, ginWindow_t window, Report* report) {
  const ginCoopTile<16> coop{};
  const ginContext ctx{dev, 0};
  const unsigned tile = threadIdx.x / 16;
  for (std::uint64_t i = 1; i <= 50; ++i) {
    if (tile == 0) {
      ok_at(report, 1, ctx.signal(ginTeamWorld(dev), 0, ginSignalInc{0}, coop));
      ok_at(report, 2, ctx.waitSignal(coop, 1, i));
    } else {
      ok_at(report, 3, ctx.waitSignal(coop, 0, i));
      ok_at(report, 4, ctx.signal(ginTeamWorld(dev), 0, ginSignalInc{1}, coop));
    }
  }
}

TEST_F(GpuNewOperations, TilesOfOneWarpPlayPingPong) {
  run([](Rank& rank) {
    World w = gpu_world(rank, 4096);
    auto* report = pinned<Report>();
    two_tiles<<<1, 32>>>(w.dev, w.window, report);
    cuda_check(cudaDeviceSynchronize(), "tiles");
    expect_no_fault(*report, "tiles");
    end_world(w);
  });
}

enum class Wait {
  kSignal,
  kVaSignal,
  kCounter,
  kShadow,
  kFollow,
  kBarrier,
  kCredit,
  kFlush,
  kQuiet
};

// Waits for what will not come, in each way there is.  `status`: of the caller.
__global__ void wait_for_nothing(ginDevComm_t dev, ginWindow_t window, Wait what,
                                 std::int64_t timeout_ns, const std::uint32_t* flag,
                                 ginWaitStatus* status, unsigned* result,
                                 volatile unsigned* started) {
  const ginContext ctx{dev, 0};
  const ginCoopThread coop{};
  const ginWaitOptions options{timeout_ns, flag, status};
  std::uint64_t before = 0;
  std::uint64_t delta = 0;
  ginResult_t r = ginSuccess;
  *started = 1;
  switch (what) {
    case Wait::kSignal:
      r = ctx.waitSignal(coop, 3, 7, 64, options);
      break;
    case Wait::kVaSignal:
      r = ctx.waitSignal(coop, window, 24, 7, 64, options);
      break;
    case Wait::kCounter:
      r = ctx.waitCounter(coop, 3, 7, 56, options);
      break;
    case Wait::kShadow:
      ctx.increaseSignalShadow(4, 7);
      r = ctx.waitSignalMeetShadow(coop, 4, 64, options);
      break;
    case Wait::kFollow:
      r = ctx.waitSignalFollowShadow(coop, 6, std::uint64_t{7}, &before, &delta, 64, options);
      break;
    case Wait::kBarrier: {
      // The other rank of this two-rank world never comes.
      const ginBarrierSession barrier{coop, ctx, ginTeamWorld(dev), 2};
      r = barrier.sync(coop, ginOrderAcqRel, ginBarrierFenceAll, options);
      break;
    }
    case Wait::kCredit:
      // gind is stopped: nobody takes the records out.
      for (int i = 0; i < 100'000 && r == ginSuccess; ++i) {
        r = ctx.signal(ginTeamWorld(dev), 0, ginSignalInc{0}, coop, options);
      }
      break;
    case Wait::kFlush:
      ctx.signal(ginTeamWorld(dev), 0, ginSignalInc{0});
      r = ctx.flush(coop, options);
      break;
    case Wait::kQuiet:
      ctx.signal(ginTeamWorld(dev), 0, ginSignalInc{0});
      r = ctx.quiet(coop, options);
      break;
  }
  *result = 1 + r;
}

struct Expected {
  Wait wait;
  ginWaitKind_t kind;
  bool stopped;  // gind must not answer
};
constexpr Expected kWaits[] = {
    {Wait::kSignal, ginWaitKindSignal, false},   {Wait::kVaSignal, ginWaitKindVASignal, false},
    {Wait::kCounter, ginWaitKindCounter, false}, {Wait::kShadow, ginWaitKindSignal, false},
    {Wait::kFollow, ginWaitKindSignal, false},   {Wait::kBarrier, ginWaitKindBarrier, false},
    {Wait::kFlush, ginWaitKindFlush, true},      {Wait::kQuiet, ginWaitKindQuiet, true},
    {Wait::kCredit, ginWaitKindCredit, true}};

TEST_F(GpuNewOperations, EveryWaitEndsByItsDeadlineAndItsFlagAndSaysWhatItWaitedFor) {
  for (const bool by_flag : {false, true}) {
    for (const Expected& one : kWaits) {
      Cluster cluster({.nodes = 1, .provider = "loopback", .namespaces = false, .set = {}});
      RankRun ranks(cluster.place({2}), [&](Rank& rank) {
        if (rank.rank() == 1) {  // is only there
          ginComm_t comm = rank.init();
          void* memory = nullptr;
          ginWindow_t window{};
          ginDevComm_t dev{};
          check(ginMemAlloc(comm, &memory, kBytes, ginMemHost), "ginMemAlloc");
          check(ginCommWindowRegister(comm, memory, kBytes, &window, GIN_WIN_STRICT_ORDERING), "");
          ginDevCommRequirements_t need = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
          need.poster = ginPosterHost;
          check(ginDevCommCreate(comm, &need, &dev), "ginDevCommCreate");
          rank.barrier();
          return;
        }
        World w = strict_world(rank);
        auto* result = pinned<unsigned>();
        auto* started = pinned<unsigned>();
        auto* flag = pinned<std::uint32_t>();
        auto* status = pinned<ginWaitStatus>();
        rank.announce(1);
        if (one.stopped) std::this_thread::sleep_for(std::chrono::milliseconds(300));
        wait_for_nothing<<<1, 1>>>(w.dev, w.window, one.wait, by_flag ? 0 : 50'000'000,
                                   by_flag ? flag : nullptr, status, result, started);
        while (*const_cast<volatile unsigned*>(started) == 0) std::this_thread::yield();
        if (by_flag) {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          *const_cast<volatile std::uint32_t*>(flag) = 1;
        }
        cuda_check(cudaDeviceSynchronize(), "wait");
        expect(*result == 1u + (by_flag ? ginAborted : ginTimeout),
               "the wait to end, result " + std::to_string(int(*result) - 1));
        expect(status->kind == one.kind, std::string("kind ") + ginWaitKindName(one.kind) +
                                             ", not " + ginWaitKindName(status->kind));
        expect(status->wanted > status->seen || one.kind == ginWaitKindCredit, "wanted and seen");
        if (one.kind == ginWaitKindBarrier) expect(status->peer == 1, "the rank that is missing");
        rank.announce(2);
        rank.barrier();
      });
      ASSERT_TRUE(ranks.wait_announced(0, 1));
      if (one.stopped) cluster.node(0).kill(SIGSTOP);
      const bool ended = ranks.wait_announced(0, 2, 30);
      cluster.node(0).kill(SIGCONT);
      EXPECT_TRUE(ended) << ginWaitKindName(one.kind);
      for (const RankResult& r : ranks.finish(60)) EXPECT_EQ(r.status, 0) << r.text;
    }
  }
}

TEST_F(GpuNewOperations, ACommunicatorThatIsDestroyedEndsTheKernelsThatWaitOnIt) {
  run([](Rank& rank) {
    World w = strict_world(rank);
    auto* result = pinned<unsigned>();
    auto* started = pinned<unsigned>();
    wait_for_nothing<<<1, 1>>>(w.dev, w.window, Wait::kSignal, 0, nullptr, nullptr, result,
                               started);
    while (*const_cast<volatile unsigned*>(started) == 0) std::this_thread::yield();
    check(ginCommDestroy(w.comm), "ginCommDestroy");
    cuda_check(cudaDeviceSynchronize(), "the kernel ends");
    expect(*result == 1u + ginAborted, "aborted, not " + std::to_string(int(*result) - 1));
  });
}

__global__ void store_into(std::uint64_t* peer, std::uint64_t value) { peer[threadIdx.x] = value; }

TEST_F(GpuNewOperations, KernelsStoreIntoTheWindowsOfTheirNode) {
  run(
      [](Rank& rank) {
        cuda_check(cudaSetDevice(0), "cudaSetDevice");
        cuda_check(cudaFree(nullptr), "a context");
        ginDevCommRequirements_t need = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
        need.poster = ginPosterGpu;
        World w = make_world(rank, 4096, &need, GIN_WIN_PEER_ACCESS);
        void* p = nullptr;
        check(ginWindowPeerPointer(w.comm, w.window, 1 - rank.rank(), &p), "ginWindowPeerPointer");
        store_into<<<1, 32>>>(static_cast<std::uint64_t*>(p), rank.rank() + 1);
        cuda_check(cudaDeviceSynchronize(), "store_into");
        rank.barrier();
        const auto* mine = reinterpret_cast<const std::uint64_t*>(w.memory);
        for (int i = 0; i < 32; ++i) {
          expect(mine[i] == static_cast<std::uint64_t>(2 - rank.rank()), "what the peer stored");
        }
        rank.barrier();
        end_world(w);
      },
      2);
}

__global__ void post_and_exit(ginDevComm_t dev, ginWindow_t window, std::uint64_t puts) {
  const ginContext ctx{dev, 0};
  for (std::uint64_t i = 0; i < puts; ++i) {
    ctx.put(ginTeamWorld(dev), 0, window, kBytes / 2, window, 0, kBytes / 2, ginSignalInc{0});
  }
}

__global__ void wait_for_them(ginDevComm_t dev, std::uint64_t puts, Report* report) {
  const ginContext ctx{dev, 0};
  ok_at(report, 1, ctx.waitSignal(ginCoopThread{}, 0, puts));
  ok_at(report, 2, ctx.flush());
}

// What a kernel has posted when it ends is carried out all the same, and the next one finds it.
TEST_F(GpuNewOperations, AKernelMayEndWithOperationsOutstanding) {
  run([](Rank& rank) {
    World w = strict_world(rank);
    auto* report = pinned<Report>();
    post_and_exit<<<1, 1>>>(w.dev, w.window, 300);
    cuda_check(cudaDeviceSynchronize(), "post");
    wait_for_them<<<1, 1>>>(w.dev, 300, report);
    cuda_check(cudaDeviceSynchronize(), "wait");
    expect_no_fault(*report, "wait");
    post_and_exit<<<1, 1>>>(w.dev, w.window, 300);
    cuda_check(cudaDeviceSynchronize(), "post");
    // And a communicator may be left with them.
    check(ginCommDestroy(w.comm), "ginCommDestroy");
  });
}

}  // namespace
}  // namespace gind::test
