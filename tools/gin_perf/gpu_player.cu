// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/pinned.cuh"
#include "tools/gin_perf/player.h"

#include <algorithm>

namespace gind::perf {
namespace {

namespace k = gin::kernels;

__global__ void put_latency_kernel(ginDevComm_t dev, k::PutLatencyPlan plan,
                                   k::PutLatencyOutcome* outcome) {
  *outcome = k::put_latency(dev, plan);
}

__global__ void put_stream_kernel(ginDevComm_t dev, const k::PutStreamPlan* plans,
                                  k::PutStreamOutcome* outcomes) {
  const k::PutStreamPlan plan = plans[blockIdx.x];
  outcomes[blockIdx.x] = k::put_stream(dev, plan);
}

__global__ void put_stream_receive_kernel(ginDevComm_t dev, const k::PutStreamPlan* plans,
                                          k::PutStreamOutcome* outcomes) {
  const k::PutStreamPlan plan = plans[blockIdx.x];
  outcomes[blockIdx.x] = k::put_stream_receive(dev, plan);
}

__global__ void collective_kernel(ginDevComm_t dev, k::CollectivePlan plan,
                                  k::CollectiveOutcome* outcomes) {
  const k::CollectiveOutcome outcome =
      k::run_collective_block(dev, ginCoopBlock{}, plan, blockIdx.x);
  if (threadIdx.x == 0) outcomes[blockIdx.x] = outcome;
}

class GpuPlayer final : public Player {
 public:
  ~GpuPlayer() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  std::string name() const override { return name_; }
  ginPoster_t poster() const override { return ginPosterGpu; }

  Result<void> open(int ordinal) {
    cudaDeviceProp properties{};
    if (auto r = checked(cudaSetDevice(ordinal), "--device gpu"); !r) return r;
    if (auto r = checked(cudaGetDeviceProperties(&properties, ordinal), "--device gpu"); !r) {
      return r;
    }
    name_ = properties.name;
    return checked(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
  }

  Result<k::PutLatencyOutcome> put_latency(const ginDevComm_t& dev,
                                           const k::PutLatencyPlan& plan) override {
    auto times = pinned<std::uint64_t>(std::max<std::uint64_t>(plan.iterations, 1));
    auto outcome = pinned<k::PutLatencyOutcome>(1);
    if (!times) return times.error();
    if (!outcome) return outcome.error();
    k::PutLatencyPlan mine = plan;
    mine.round_trip_ns = times.value().get();
    put_latency_kernel<<<1, 1, 0, stream_>>>(dev, mine, outcome.value().get());
    if (auto r = ended(); !r) return r.error();
    if (plan.round_trip_ns != nullptr) {
      std::copy_n(times.value().get(), plan.iterations, plan.round_trip_ns);
    }
    return *outcome.value();
  }

  Result<std::vector<k::PutStreamOutcome>> put_streams(const ginDevComm_t& dev,
                                                       std::span<const k::PutStreamPlan> plans,
                                                       Side side) override {
    auto given = pinned<k::PutStreamPlan>(plans.size());
    auto outcomes = pinned<k::PutStreamOutcome>(plans.size());
    if (!given) return given.error();
    if (!outcomes) return outcomes.error();
    std::copy(plans.begin(), plans.end(), given.value().get());
    const auto blocks = static_cast<unsigned>(plans.size());
    auto* kernel = side == Side::kSend ? put_stream_kernel : put_stream_receive_kernel;
    kernel<<<blocks, 1, 0, stream_>>>(dev, given.value().get(), outcomes.value().get());
    if (auto r = ended(); !r) return r.error();
    const k::PutStreamOutcome* first = outcomes.value().get();
    return std::vector<k::PutStreamOutcome>(first, first + plans.size());
  }

  Result<std::vector<k::CollectiveOutcome>> collective(const ginDevComm_t& dev,
                                                       const k::CollectivePlan& plan,
                                                       int threads) override {
    auto times = pinned<std::uint64_t>(std::max<std::uint64_t>(plan.iterations, 1));
    auto outcomes = pinned<k::CollectiveOutcome>(plan.call.blocks);
    if (!times) return times.error();
    if (!outcomes) return outcomes.error();
    k::CollectivePlan mine = plan;
    mine.call_ns = times.value().get();
    collective_kernel<<<plan.call.blocks, static_cast<unsigned>(threads), 0, stream_>>>(
        dev, mine, outcomes.value().get());
    if (auto r = ended(); !r) return r.error();
    if (plan.call_ns != nullptr) {
      std::copy_n(times.value().get(), plan.iterations, plan.call_ns);
    }
    const k::CollectiveOutcome* first = outcomes.value().get();
    return std::vector<k::CollectiveOutcome>(first, first + plan.call.blocks);
  }

 private:
  Result<void> ended() {
    if (auto r = checked(cudaGetLastError(), "launch"); !r) return r;
    return checked(cudaStreamSynchronize(stream_), "kernel");
  }

  std::string name_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Player>> make_gpu_player(int ordinal) {
  auto made = std::make_unique<GpuPlayer>();
  if (auto opened = made->open(ordinal); !opened) return opened.error();
  return std::unique_ptr<Player>(std::move(made));
}

}  // namespace gind::perf
