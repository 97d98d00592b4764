// SPDX-License-Identifier: Apache-2.0
// The benchmark bodies as kernels: one thread plays the poster.
#include "kernels/put_latency.cuh"
#include "kernels/put_stream.cuh"

namespace gin::kernels {

__global__ void put_latency_kernel(ginDevComm_t comm, PutLatencyPlan plan,
                                   PutLatencyOutcome* outcome) {
  if (threadIdx.x == 0 && blockIdx.x == 0) *outcome = put_latency(comm, plan);
}

__global__ void put_stream_kernel(ginDevComm_t comm, PutStreamPlan plan,
                                  PutStreamOutcome* outcome) {
  if (threadIdx.x == 0 && blockIdx.x == 0) *outcome = put_stream(comm, plan);
}

}  // namespace gin::kernels
