// SPDX-License-Identifier: Apache-2.0
// Kernels in NCCL's spelling (nccl_many_kernels.h): many contexts, shadows, barriers.
#include "nccl_many_kernels.h"
#include "nccl_run.cuh"

namespace gind::test {
namespace {

class GpuNcclMany : public GpuNccl {};

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
TEST_F(GpuNcclMany, VaSignalsOnSeventeenAndOn129Contexts) {
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
TEST_F(GpuNcclMany, ShadowsAndBarriersOfAWarpAndABlock) {
  play([](NcclWorld& w, Verdict* v) {
    shadows_and_barriers<ncclCoopWarp><<<1, 32>>>(w.dev, w.window[0], w.extra, v);
  });
  play([](NcclWorld& w, Verdict* v) {
    shadows_and_barriers<ncclCoopCta><<<1, 128>>>(w.dev, w.window[0], w.extra, v);
  });
}

}  // namespace
}  // namespace gind::test
