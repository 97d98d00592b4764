// SPDX-License-Identifier: Apache-2.0
// Contexts live on between launches: one after the other, in graphs, in streams side by side.
#include "kernel_run.cuh"

#include <thread>

namespace gind::test {
namespace {

// Posts `puts` and waits until all that this context was told to post so far has arrived.
__global__ void put_some(ginDevComm_t dev, int context, ginWindow_t window, std::uint64_t puts,
                         ginSignal_t signal, std::uint64_t* told, Report* report) {
  const ginContext ctx{dev, context};
  for (std::uint64_t i = 0; i < puts; ++i) {
    ok_at(report, 1,
          ctx.putValue(ginTeamWorld(dev), 0, window, std::uint64_t{blockIdx.x} * 8, *told + i + 1,
                       ginSignalInc{signal}));
  }
  *told += puts;
  ok_at(report, 2, ctx.waitSignal(ginCoopThread{}, signal, *told));
  const std::uint64_t seen = ctx.readSignal(signal);
  true_at(report, 3, seen == *told, seen);
}

class GpuLaunches : public OnOneGind {};

TEST_F(GpuLaunches, AContextOfEachSharingModeGoesOnInTheNextLaunch) {
  for (const ginSharing_t sharing : {ginSharingShared, ginSharingBlock, ginSharingExclusive}) {
    run([sharing](Rank& rank) {
      World w = gpu_world(rank, 4096, sharing);
      auto* report = pinned<Report>();
      auto* told = pinned<std::uint64_t>();
      for (int launch = 0; launch < 200; ++launch) {
        put_some<<<1, 1>>>(w.dev, 0, w.window, 1 + launch % 50, 2, told, report);
      }
      cuda_check(cudaDeviceSynchronize(), "launches");
      expect_no_fault(*report, "sharing " + std::to_string(sharing));
      expect(*told == 5100, "all were made");
      end_world(w);
    });
  }
}

// A block's threads take turns on a context of the block.
__global__ void take_turns(ginDevComm_t dev, ginWindow_t window, Report* report) {
  const ginContext ctx{dev, 0};
  for (unsigned turn = 0; turn < blockDim.x; ++turn) {
    if (threadIdx.x == turn) {
      ok_at(report, 1,
            ctx.putValue(ginTeamWorld(dev), 0, window, turn * 8ull, turn + 1ull, ginSignalInc{1}));
    }
    __syncthreads();
  }
  ok_at(report, 2, ctx.waitSignal(ginCoopBlock{}, 1, blockDim.x));
}

TEST_F(GpuLaunches, TheThreadsOfABlockTakeTurnsOnAContextOfTheBlock) {
  run([](Rank& rank) {
    World w = gpu_world(rank, 4096, ginSharingBlock);
    auto* report = pinned<Report>();
    take_turns<<<1, 256>>>(w.dev, w.window, report);
    cuda_check(cudaDeviceSynchronize(), "turns");
    expect_no_fault(*report, "turns");
    for (std::uint64_t t = 0; t < 256; ++t) {
      expect(reinterpret_cast<std::uint64_t*>(w.memory)[t] == t + 1, "each thread's put");
    }
    end_world(w);
  });
}

TEST_F(GpuLaunches, AGraphReplayedAThousandTimesPostsEachTime) {
  for (const ginSharing_t sharing : {ginSharingShared, ginSharingExclusive}) {
    run([sharing](Rank& rank) {
      World w = gpu_world(rank, 4096, sharing);
      auto* report = pinned<Report>();
      auto* told = pinned<std::uint64_t>(2);
      cudaStream_t stream = nullptr;
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t exec = nullptr;
      cuda_check(cudaStreamCreate(&stream), "stream");
      cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
      put_some<<<1, 1, 0, stream>>>(w.dev, 0, w.window, 3, 1, told, report);
      put_some<<<1, 1, 0, stream>>>(w.dev, 1, w.window, 2, 1, told + 1, report);
      // The library's own calls in another thread do not break the capture.
      std::thread other([&] {
        void* more = nullptr;
        ginMemAlloc(w.comm, &more, 4096, ginMemHost);
        ginMemFree(w.comm, more);
      });
      other.join();
      cuda_check(cudaStreamEndCapture(stream, &graph), "end of capture");
      cuda_check(cudaGraphInstantiate(&exec, graph, 0), "graph");
      for (int i = 0; i < 1000; ++i) cuda_check(cudaGraphLaunch(exec, stream), "replay");
      cuda_check(cudaStreamSynchronize(stream), "replays");
      expect_no_fault(*report, "replays");
      expect(told[0] == 3000 && told[1] == 2000, "every replay posted");
      cudaGraphExecDestroy(exec);
      cudaGraphDestroy(graph);
      cudaStreamDestroy(stream);
      end_world(w);
    });
  }
}

// Posts to one shared context from a stream of its own; counts in a signal of its own.
__global__ void flood(ginDevComm_t dev, int context, ginSignal_t signal, std::uint64_t each,
                      Report* report) {
  const ginContext ctx{dev, context};
  for (std::uint64_t i = 0; i < each; ++i) {
    ok_at(report, 1, ctx.signal(ginTeamWorld(dev), 0, ginSignalInc{signal}));
  }
  ok_at(report, 2, ctx.waitSignal(ginCoopBlock{}, signal, each * blockDim.x));
}

TEST_F(GpuLaunches, TwoStreamsUseOneContextOrTheirOwnAtTheSameTime) {
  for (const bool same : {true, false}) {
    run([same](Rank& rank) {
      World w = gpu_world(rank, 4096);
      auto* report = pinned<Report>();
      cudaStream_t streams[2] = {};
      for (auto& s : streams) {
        cuda_check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "stream");
      }
      for (int s = 0; s < 2; ++s) {
        flood<<<1, 64, 0, streams[s]>>>(w.dev, same ? 0 : s, static_cast<ginSignal_t>(1 + s), 500,
                                        report);
      }
      cuda_check(cudaDeviceSynchronize(), "streams");
      expect_no_fault(*report, same ? "one context" : "two contexts");
      end_world(w);
    });
  }
}

// Two ranks, threads of one process, pass a token.
__global__ void pass_token(ginDevComm_t dev, ginWindow_t window, const char* memory,
                           std::uint64_t rounds, Report* report) {
  const ginContext ctx{dev, 0};
  const int other = 1 - dev.rank;
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    const bool mine = static_cast<int>(i % 2) == dev.rank;
    if (mine) {
      ok_at(report, 1, ctx.putValue(ginTeamWorld(dev), other, window, 0, i, ginSignalInc{0}));
    } else {
      if (!ok_at(report, 2, ctx.waitSignal(ginCoopThread{}, 0, (i + 1 - dev.rank) / 2))) return;
      const std::uint64_t token = *reinterpret_cast<const volatile std::uint64_t*>(memory);
      true_at(report, 3, token == i, token);
    }
  }
}

TEST_F(GpuLaunches, TwoRanksInOneProcessTalkToEachOther) {
  run([](Rank& rank) {
    const ginUniqueId id = rank.unique_id();
    std::string failed[2];
    std::vector<std::thread> ranks;
    for (int r = 0; r < 2; ++r) {
      ranks.emplace_back([&, r] {
        try {
          cuda_check(cudaSetDevice(0), "cudaSetDevice");
          World w;
          check(ginCommInitRank(&w.comm, 2, id, r), "ginCommInitRank");
          void* memory = nullptr;
          check(ginMemAlloc(w.comm, &memory, 4096, ginMemHost), "ginMemAlloc");
          w.memory = static_cast<char*>(memory);
          check(ginCommWindowRegister(w.comm, memory, 4096, &w.window, 0), "window");
          const ginDevCommRequirements_t need = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
          check(ginDevCommCreate(w.comm, &need, &w.dev), "ginDevCommCreate");
          expect(w.dev.device == 0, "the current CUDA device is taken by itself");
          auto* report = pinned<Report>();
          cudaStream_t stream = nullptr;
          cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
          pass_token<<<1, 1, 0, stream>>>(w.dev, w.window, static_cast<char*>(memory), 2000,
                                          report);
          cuda_check(cudaStreamSynchronize(stream), "kernel");
          expect_no_fault(*report, "rank " + std::to_string(r));
          end_world(w);
        } catch (const std::exception& e) {
          failed[r] = e.what();
        }
      });
    }
    for (std::thread& t : ranks) t.join();
    expect(failed[0].empty() && failed[1].empty(), failed[0] + " | " + failed[1]);
  });
}

}  // namespace
}  // namespace gind::test
