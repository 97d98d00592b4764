// SPDX-License-Identifier: Apache-2.0
// Who plays the kernels of a test: threads of the CPU, or a GPU.
#pragma once

#include "gin/gin.h"
#include "gind/common/result.h"
#include "kernels/collectives/run.cuh"
#include "kernels/put_latency.cuh"
#include "kernels/put_stream.cuh"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gind::perf {

// Errors of the calls are of the machinery (a launch that failed); what the operations returned is
// in the outcomes.  Each call returns when its posters have ended; their waits have deadlines.
class Player {
 public:
  virtual ~Player() = default;
  virtual std::string name() const = 0;
  virtual ginPoster_t poster() const = 0;

  // plan.round_trip_ns is memory of the host.
  virtual Result<gin::kernels::PutLatencyOutcome> put_latency(
      const ginDevComm_t& dev, const gin::kernels::PutLatencyPlan& plan) = 0;

  // One poster a plan, all at the same time.
  enum class Side { kSend, kReceive };
  virtual Result<std::vector<gin::kernels::PutStreamOutcome>> put_streams(
      const ginDevComm_t& dev, std::span<const gin::kernels::PutStreamPlan> plans, Side side) = 0;

  // plan.call.blocks blocks, all at the same time, of so many threads where they are a GPU's.
  // plan.call_ns is memory of the host.
  virtual Result<std::vector<gin::kernels::CollectiveOutcome>> collective(
      const ginDevComm_t& dev, const gin::kernels::CollectivePlan& plan, int threads) = 0;
};

std::unique_ptr<Player> make_cpu_player();
// Makes the GPU with that ordinal the calling thread's.  Errors: ginNotSupported (built without the
// CUDA parts), ginUnhandledCudaError.
Result<std::unique_ptr<Player>> make_gpu_player(int ordinal);

}  // namespace gind::perf
