// SPDX-License-Identifier: Apache-2.0
// Kernels in NCCL's spelling (nccl_kernels.h) on a GPU: two ranks on one gind, each a process.
#include "nccl_run.cuh"

#include <string>

namespace gind::test {
namespace {

class GpuNcclCompat : public GpuNccl {};

template <typename Coop>
__global__ void ring_kernel(ncclDevComm devComm, ncclWindow_t window, std::size_t words,
                            unsigned rounds, Verdict* v) {
  ring(Coop{}, devComm, window, words, rounds, v);
}

TEST_F(GpuNcclCompat, RingOfAThread) {
  play([](NcclWorld& w, Verdict* v) {
    ring_kernel<ncclCoopThread><<<1, 1>>>(w.dev, w.window[0], 256, 10, v);
  });
}
TEST_F(GpuNcclCompat, RingOfATile) {
  play([](NcclWorld& w, Verdict* v) {
    ring_kernel<ncclCoopTile<8>><<<1, 8>>>(w.dev, w.window[0], 1000, 10, v);
  });
}
TEST_F(GpuNcclCompat, RingOfAWarp) {
  play([](NcclWorld& w, Verdict* v) {
    ring_kernel<ncclCoopWarp><<<1, 32>>>(w.dev, w.window[0], 4096, 10, v);
  });
}
TEST_F(GpuNcclCompat, RingOfABlock) {
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
TEST_F(GpuNcclCompat, RingOfSomeLanes) {
  play([](NcclWorld& w, Verdict* v) { ring_of_lanes<<<1, 32>>>(w.dev, w.window[0], v); });
}

// Warps 1 and 2 of four.
__global__ void ring_of_span(ncclDevComm devComm, ncclWindow_t window, Verdict* v) {
  if (threadIdx.x / 32 == 1 || threadIdx.x / 32 == 2) {
    ring(ncclCoopWarpSpan{1, 2, 5}, devComm, window, 1000, 10, v);
  }
}
TEST_F(GpuNcclCompat, RingOfASpanOfWarps) {
  play([](NcclWorld& w, Verdict* v) { ring_of_span<<<1, 128>>>(w.dev, w.window[0], v); });
}

__global__ void ring_of_any(ncclDevComm devComm, ncclWindow_t window, int kind, Verdict* v) {
  ncclCoopAny coop{ncclCoopCta{}};
  if (kind == 1) coop = ncclCoopAny{ncclCoopWarp{}};
  if (kind == 2) coop = ncclCoopAny{ncclCoopWarpSpan{0, 1, 3}};
  ring(coop, devComm, window, 1000, 10, v);
}
TEST_F(GpuNcclCompat, RingOfACoopChosenAtRunTime) {
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
TEST_F(GpuNcclCompat, AllToAllOfSixBlocksOnFourContexts) {
  play([](NcclWorld& w, Verdict* v) {
    all_to_all_kernel<<<6, 128>>>(w.dev, w.window[0], w.window[1], 1024, 5, v);
  });
}

template <typename Coop>
__global__ void values_and_gets(ncclDevComm devComm, ncclWindow_t a, ncclWindow_t b, Verdict* v) {
  values(Coop{}, devComm, a, v);
  gets(Coop{}, devComm, b, 2048, v);
}
TEST_F(GpuNcclCompat, ValuesCountersAndGets) {
  play([](NcclWorld& w, Verdict* v) {
    values_and_gets<ncclCoopThread><<<1, 1>>>(w.dev, w.window[0], w.window[1], v);
  });
  play([](NcclWorld& w, Verdict* v) {
    values_and_gets<ncclCoopCta><<<1, 128>>>(w.dev, w.window[0], w.window[1], v);
  });
}

// Waits for what nobody sends.
__global__ void in_vain(ncclDevComm devComm) {
  const ncclGin gin{devComm, 1};
  gin.waitSignal(ncclCoopCta{}, 3, 7);
  for (int i = 0; i < 10'000; ++i) gin.waitSignal(ncclCoopCta{}, 4, 1);
}
TEST_F(GpuNcclCompat, AKernelThatWaitsInVainEndsAndItsErrorIsTold) {
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

TEST_F(GpuNcclCompat, AnAbortEndsTheKernelThatWaits) {
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
