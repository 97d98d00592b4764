// SPDX-License-Identifier: Apache-2.0
// Kernels in NCCL's spelling (nccl_kernels.h) on a GPU: two ranks on one gind, each a process.
#include "kernel_run.cuh"
#include "nccl_world.h"

#include <string>

namespace gind::test {
namespace {

constexpr std::size_t kBytes = 1 << 20;

class GpuNccl : public OnOneGind {
 protected:
  // Runs body(world, verdict) on two ranks, each with the GPU; nothing may have failed.
  template <typename F>
  void play(const F& body, int contexts = 4, int ranks = 2) {
    run(
        [&](Rank& rank) {
          cuda_check(cudaSetDevice(0), "cudaSetDevice");
          cuda_check(cudaFree(nullptr), "a CUDA context");
          NcclWorld w(rank, kBytes, contexts);
          expect(w.dev.gin.device == 0, "the contexts are the GPU's");
          auto* v = pinned<Verdict>();
          body(w, v);
          cuda_check(cudaGetLastError(), "launch");
          cuda_check(cudaDeviceSynchronize(), "kernel");
          expect_verdict(*v, w, "verdict");
          w.end();
        },
        ranks);
  }
};

template <typename Coop>
__global__ void ring_kernel(ncclDevComm devComm, ncclWindow_t window, std::size_t words,
                            unsigned rounds, Verdict* v) {
  ring(Coop{}, devComm, window, words, rounds, v);
}

TEST_F(GpuNccl, RingOfAThread) {
  play([](NcclWorld& w, Verdict* v) {
    ring_kernel<ncclCoopThread><<<1, 1>>>(w.dev, w.window[0], 256, 10, v);
  });
}
TEST_F(GpuNccl, RingOfATile) {
  play([](NcclWorld& w, Verdict* v) {
    ring_kernel<ncclCoopTile<8>><<<1, 8>>>(w.dev, w.window[0], 1000, 10, v);
  });
}
TEST_F(GpuNccl, RingOfAWarp) {
  play([](NcclWorld& w, Verdict* v) {
    ring_kernel<ncclCoopWarp><<<1, 32>>>(w.dev, w.window[0], 4096, 10, v);
  });
}
TEST_F(GpuNccl, RingOfABlock) {
  play([](NcclWorld& w, Verdict* v) {
    ring_kernel<ncclCoopCta><<<1, 256>>>(w.dev, w.window[0], 16384, 10, v);
  });
}

// Lanes 3 .. 17 of a warp, while the others do nothing.
__global__ void ring_of_lanes(ncclDevComm devComm, ncclWindow_t window, Verdict* v) {
  constexpr std::uint32_t kLanes = 0x3fff8;
  if ((kLanes >> (threadIdx.x % 32) & 1) == 0) return;
  ring(ncclCoopLanes{kLanes}, devComm, window, 1000, 10, v);
}
TEST_F(GpuNccl, RingOfSomeLanes) {
  play([](NcclWorld& w, Verdict* v) { ring_of_lanes<<<1, 32>>>(w.dev, w.window[0], v); });
}

// Warps 1 and 2 of four.
__global__ void ring_of_span(ncclDevComm devComm, ncclWindow_t window, Verdict* v) {
  if (threadIdx.x / 32 == 1 || threadIdx.x / 32 == 2) {
    ring(ncclCoopWarpSpan{1, 2, 5}, devComm, window, 1000, 10, v);
  }
}
TEST_F(GpuNccl, RingOfASpanOfWarps) {
  play([](NcclWorld& w, Verdict* v) { ring_of_span<<<1, 128>>>(w.dev, w.window[0], v); });
}

__global__ void ring_of_any(ncclDevComm devComm, ncclWindow_t window, int kind, Verdict* v) {
  ncclCoopAny coop{ncclCoopCta{}};
  if (kind == 1) coop = ncclCoopAny{ncclCoopWarp{}};
  if (kind == 2) coop = ncclCoopAny{ncclCoopWarpSpan{0, 1, 3}};
  ring(coop, devComm, window, 1000, 10, v);
}
TEST_F(GpuNccl, RingOfACoopChosenAtRunTime) {
  for (int kind = 0; kind < 3; ++kind) {
    play([kind](NcclWorld& w, Verdict* v) {
      ring_of_any<<<1, kind == 0 ? 96 : 32>>>(w.dev, w.window[0], kind, v);
    });
  }
}

__global__ void all_to_all_kernel(ncclDevComm devComm, ncclWindow_t send, ncclWindow_t recv,
                                  std::size_t words, unsigned rounds, Verdict* v) {
  for (unsigned r = 1; r <= rounds; ++r) {
    all_to_all(ncclCoopCta{}, devComm, send, recv, words, blockIdx.x, r, v);
  }
}
TEST_F(GpuNccl, AllToAllOfSixBlocksOnFourContexts) {
  play([](NcclWorld& w, Verdict* v) {
    all_to_all_kernel<<<6, 128>>>(w.dev, w.window[0], w.window[1], 1024, 5, v);
  });
}

template <typename Coop>
__global__ void values_and_gets(ncclDevComm devComm, ncclWindow_t a, ncclWindow_t b, Verdict* v) {
  values(Coop{}, devComm, a, v);
  gets(Coop{}, devComm, b, 2048, v);
}
TEST_F(GpuNccl, ValuesCountersAndGets) {
  play([](NcclWorld& w, Verdict* v) {
    values_and_gets<ncclCoopThread><<<1, 1>>>(w.dev, w.window[0], w.window[1], v);
  });
  play([](NcclWorld& w, Verdict* v) {
    values_and_gets<ncclCoopCta><<<1, 128>>>(w.dev, w.window[0], w.window[1], v);
  });
}

// A warp and a context each block; all blocks must be resident, as with any barrier.
__global__ void dispatch(ncclDevComm devComm, ncclWindow_t data, ncclWindow_t words,
                         unsigned rounds, Verdict* v) {
  const int context = static_cast<int>(blockIdx.x);
  for (unsigned r = 1; r <= rounds; ++r) {
    dispatch_post(ncclCoopWarp{}, devComm, context, data, words, r);
    dispatch_await(ncclCoopWarp{}, devComm, context, data, words, r, v);
  }
  if (threadIdx.x == 0) dispatch_reset(devComm, context, words, v);
}
TEST_F(GpuNccl, VaSignalsOnSeventeenAndOn129Contexts) {
  for (const int contexts : {17, 129}) {
    play(
        [contexts](NcclWorld& w, Verdict* v) {
          dispatch<<<contexts, 32>>>(w.dev, w.window[0], w.window[1], 3, v);
        },
        contexts);
  }
}

template <typename Coop>
__global__ void shadows_and_barriers(ncclDevComm devComm, ncclWindow_t window,
                                     ncclGinBarrierHandle extra, Verdict* v) {
  shadows(Coop{}, devComm, v);
  barriers(Coop{}, devComm, window, extra, 3, v);
}
TEST_F(GpuNccl, ShadowsAndBarriersOfAWarpAndABlock) {
  play([](NcclWorld& w, Verdict* v) {
    shadows_and_barriers<ncclCoopWarp><<<1, 32>>>(w.dev, w.window[0], w.extra, v);
  });
  play([](NcclWorld& w, Verdict* v) {
    shadows_and_barriers<ncclCoopCta><<<1, 128>>>(w.dev, w.window[0], w.extra, v);
  });
}

// Waits for what nobody sends.
__global__ void in_vain(ncclDevComm devComm) {
  const ncclGin gin{devComm, 1};
  gin.waitSignal(ncclCoopCta{}, 3, 7);
  for (int i = 0; i < 10'000; ++i) gin.waitSignal(ncclCoopCta{}, 4, 1);
}
TEST_F(GpuNccl, AKernelThatWaitsInVainEndsAndItsErrorIsTold) {
  run([](Rank& rank) {
    cuda_check(cudaSetDevice(0), "cudaSetDevice");
    cuda_check(cudaFree(nullptr), "a CUDA context");
    NcclWorld w(rank, kBytes, 4, 300'000'000);
    in_vain<<<1, 64>>>(w.dev);
    cuda_check(cudaDeviceSynchronize(), "kernel");
    ncclResult_t error = ncclSuccess;
    nccl_check(ncclCommGetAsyncError(w.comm, &error), "ncclCommGetAsyncError");
    const std::string text = ncclGetLastError(w.comm);
    expect(error == ncclTimeout && text.find("signal 3 on context 1") != std::string::npos, text);
    w.end();
  });
}

TEST_F(GpuNccl, AnAbortEndsTheKernelThatWaits) {
  run([](Rank& rank) {
    cuda_check(cudaSetDevice(0), "cudaSetDevice");
    cuda_check(cudaFree(nullptr), "a CUDA context");
    NcclWorld w(rank, kBytes);
    in_vain<<<1, 64>>>(w.dev);
    nccl_check(ncclCommAbort(w.comm), "ncclCommAbort");
    cuda_check(cudaDeviceSynchronize(), "kernel");
  });
}

}  // namespace
}  // namespace gind::test
