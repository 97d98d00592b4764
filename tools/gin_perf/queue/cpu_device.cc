// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/queue/device.h"

#include <thread>
#include <vector>

namespace gind::perf {
namespace {

namespace q = gin::queues;
namespace k = gin::kernels;

struct CpuRing {
  std::vector<q::Unit> units;
  q::ContextControl control{};
  q::ProducerState state{};
  std::uint64_t last_posted = 0;
  q::RingProducer producer;
};

template <std::uint32_t Units>
ginResult_t post_all(const q::RingProducer& ring, std::uint32_t thread, const QueueCase& what,
                     const q::WaitLimits& limits) {
  switch (what.mode) {
    case k::PostMode::kTogether:
      return k::stream_to_ring<Units, k::PostMode::kTogether>(ring, thread, what.records, limits);
    case k::PostMode::kSession:
      return k::stream_to_ring<Units, k::PostMode::kSession>(ring, thread, what.records, limits);
    default:
      return k::stream_to_ring<Units, k::PostMode::kAlone>(ring, thread, what.records, limits);
  }
}

class CpuQueueDevice final : public QueueDevice {
 public:
  ~CpuQueueDevice() override { (void)join(); }
  std::string name() const override { return "cpu"; }
  bool is_gpu() const override { return false; }

  Result<void> set_up(std::uint32_t rings, std::uint32_t log2_depth, std::uint64_t start) override {
    rings_.clear();
    for (std::uint32_t i = 0; i < rings; ++i) {
      auto ring = std::make_unique<CpuRing>();
      ring->units.resize(std::size_t{1} << log2_depth);
      ring->producer = {ring->units.data(), &ring->control, &ring->state,
                        &ring->last_posted, log2_depth,     q::Sharing::kShared};
      ring->state.head = ring->state.cached_consumed = ring->control.consumed = start;
      rings_.push_back(std::move(ring));
    }
    answer_ = 0;
    return {};
  }
  const q::Unit* units(std::uint32_t ring) const override { return rings_[ring]->units.data(); }
  q::ContextControl* control(std::uint32_t ring) const override { return &rings_[ring]->control; }
  std::uint64_t* answer() const override { return &answer_; }

  Result<void> start(const QueueCase& what, std::uint64_t timeout_ns) override {
    const q::WaitLimits limits{timeout_ns, nullptr, nullptr, nullptr};
    results_.assign(what.posters(), ginSuccess);
    for (std::uint32_t t = 0; t < what.posters(); ++t) {
      q::RingProducer ring = rings_[what.own_rings() ? t / what.threads : 0]->producer;
      if (what.own_rings()) ring.sharing = q::Sharing::kExclusive;
      threads_.emplace_back([this, what, ring, t, limits] {
        results_[t] = what.units == 1   ? post_all<1>(ring, t, what, limits)
                      : what.units == 2 ? post_all<2>(ring, t, what, limits)
                                        : post_all<4>(ring, t, what, limits);
      });
    }
    return {};
  }
  Result<void> start_round_trips(std::uint64_t trips, std::uint64_t* took_ns,
                                 std::uint64_t timeout_ns) override {
    const q::WaitLimits limits{timeout_ns, nullptr, nullptr, nullptr};
    results_.assign(1, ginSuccess);
    threads_.emplace_back([=, this] {
      results_[0] = k::ring_round_trips(rings_[0]->producer, &answer_, trips, took_ns, limits);
    });
    return {};
  }
  std::uint64_t* times(std::uint64_t trips) override {
    times_.assign(trips, 0);
    return times_.data();
  }
  Result<void> join() override {
    for (std::thread& t : threads_) t.join();
    threads_.clear();
    for (std::size_t t = 0; t < results_.size(); ++t) {
      if (results_[t] == ginSuccess) continue;
      return Error{results_[t], "poster " + std::to_string(t) + " ended with code " +
                                    std::to_string(results_[t])};
    }
    return {};
  }

 private:
  std::vector<std::unique_ptr<CpuRing>> rings_;
  std::vector<std::thread> threads_;
  std::vector<ginResult_t> results_;
  std::vector<std::uint64_t> times_;
  mutable std::uint64_t answer_ = 0;
};

}  // namespace

std::unique_ptr<QueueDevice> make_cpu_queue_device() { return std::make_unique<CpuQueueDevice>(); }

}  // namespace gind::perf
