// SPDX-License-Identifier: Apache-2.0
// What the kernels of the tests report, and a rank with a GPU.
#pragma once

#include "cluster.h"
#include "gpu_here.h"
#include "ranks.h"

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

namespace gind::test {

// The first fault any thread has met.
struct Report {
  unsigned fault;      // 0: none; else the place given to expect_that
  unsigned code;       // the result there
  std::uint64_t seen;  // a value of interest
};

__device__ inline void fault_at(Report* report, unsigned place, unsigned code,
                                std::uint64_t seen = 0) {
  if (atomicCAS(&report->fault, 0u, place) == 0) {
    report->code = code;
    report->seen = seen;
  }
}
__device__ inline bool ok_at(Report* report, unsigned place, ginResult_t result) {
  if (result != ginSuccess) fault_at(report, place, static_cast<unsigned>(result));
  return result == ginSuccess;
}
__device__ inline void true_at(Report* report, unsigned place, bool holds, std::uint64_t seen = 0) {
  if (!holds) fault_at(report, place, 0, seen);
}

inline void cuda_check(cudaError_t e, const std::string& what) {
  if (e != cudaSuccess) throw RankFailure(what + ": " + cudaGetErrorString(e));
}

// Zeroed pinned memory, as long as the process lives.
template <typename T>
T* pinned(std::size_t count = 1) {
  void* p = nullptr;
  cuda_check(cudaHostAlloc(&p, count * sizeof(T), cudaHostAllocPortable), "cudaHostAlloc");
  std::memset(p, 0, count * sizeof(T));
  return static_cast<T*>(p);
}

inline void expect_no_fault(const Report& r, const std::string& what) {
  expect(r.fault == 0, what + ": place " + std::to_string(r.fault) + ", code " +
                           std::to_string(r.code) + ", saw " + std::to_string(r.seen));
}

// A rank of its own on one gind without a fabric: what it puts, it puts to itself.
inline World gpu_world(Rank& rank, std::size_t bytes, ginSharing_t sharing = ginSharingShared,
                       int contexts = 4) {
  cuda_check(cudaSetDevice(0), "cudaSetDevice");
  ginDevCommRequirements_t need = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
  need.contexts = contexts;
  need.sharing = sharing;
  need.timeoutNs = 20'000'000'000;
  need.poster = ginPosterGpu;
  return make_world(rank, bytes, &need);
}

class OnOneGind : public testing::Test {
 protected:
  void SetUp() override { GIND_SKIP_WITHOUT_GPU(); }
  void run(const RankRun::Body& body, int ranks = 1) {
    const Cluster cluster(
        {.nodes = 1, .provider = "loopback", .namespaces = false, .set = {"timeouts.hole=300ms"}});
    EXPECT_EQ(run_ranks(cluster.place({ranks}), body), "") << cluster.logs();
  }
};

}  // namespace gind::test
