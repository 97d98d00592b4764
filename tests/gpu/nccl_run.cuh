// SPDX-License-Identifier: Apache-2.0
// Ranks with a GPU that make NCCL's calls.
#pragma once

#include "kernel_run.cuh"
#include "nccl_world.h"

namespace gind::test {

inline constexpr std::size_t kBytes = 1 << 20;

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

}  // namespace gind::test
