// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/player.h"

#include <thread>

namespace gind::perf {
namespace {

namespace k = gin::kernels;

class CpuPlayer final : public Player {
 public:
  std::string name() const override { return "cpu"; }
  ginPoster_t poster() const override { return ginPosterHost; }

  Result<k::PutLatencyOutcome> put_latency(const ginDevComm_t& dev,
                                           const k::PutLatencyPlan& plan) override {
    return k::put_latency(dev, plan);
  }

  Result<std::vector<k::PutStreamOutcome>> put_streams(const ginDevComm_t& dev,
                                                       std::span<const k::PutStreamPlan> plans,
                                                       Side side) override {
    std::vector<k::PutStreamOutcome> outcomes(plans.size());
    std::vector<std::thread> posters;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      posters.emplace_back([&, i] {
        outcomes[i] = side == Side::kSend ? k::put_stream(dev, plans[i])
                                          : k::put_stream_receive(dev, plans[i]);
      });
    }
    for (std::thread& poster : posters) poster.join();
    return outcomes;
  }

  Result<std::vector<k::CollectiveOutcome>> collective(const ginDevComm_t& dev,
                                                       const k::CollectivePlan& plan,
                                                       int) override {
    std::vector<k::CollectiveOutcome> outcomes(plan.call.blocks);
    std::vector<std::thread> blocks;
    for (std::uint32_t b = 0; b < plan.call.blocks; ++b) {
      blocks.emplace_back(
          [&, b] { outcomes[b] = k::run_collective_block(dev, ginCoopThread{}, plan, b); });
    }
    for (std::thread& block : blocks) block.join();
    return outcomes;
  }
};

}  // namespace

std::unique_ptr<Player> make_cpu_player() { return std::make_unique<CpuPlayer>(); }

}  // namespace gind::perf
