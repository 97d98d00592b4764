// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/pinned.cuh"
#include "tools/gin_perf/queue/device.h"

#include <vector>

namespace gind::perf {
namespace {

namespace q = gin::queues;
namespace k = gin::kernels;

template <std::uint32_t Units, k::PostMode Mode>
__global__ void stream_kernel(const q::RingProducer* rings, std::uint64_t records,
                              q::WaitLimits limits, unsigned* first_error) {
  const bool own = Mode != k::PostMode::kTogether && Mode != k::PostMode::kAlone;
  const q::RingProducer ring = rings[own ? blockIdx.x : 0];
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  ginResult_t r = ginSuccess;
  if constexpr (Mode == k::PostMode::kWarp) {
    r = k::stream_by_warp<Units>(ring, thread, records, limits);
  } else {
    r = k::stream_to_ring<Units, Mode>(ring, thread, records, limits);
  }
  if (r != ginSuccess) atomicCAS(first_error, 0u, static_cast<unsigned>(r));
}

__global__ void round_trip_kernel(const q::RingProducer* rings, const std::uint64_t* answer,
                                  std::uint64_t trips, std::uint64_t* took_ns, q::WaitLimits limits,
                                  unsigned* first_error) {
  const q::RingProducer ring = rings[0];
  const ginResult_t r = k::ring_round_trips(ring, answer, trips, took_ns, limits);
  if (r != ginSuccess) *first_error = static_cast<unsigned>(r);
}

using Kernel = void (*)(const q::RingProducer*, std::uint64_t, q::WaitLimits, unsigned*);

template <std::uint32_t Units>
Kernel kernel_of(k::PostMode mode) {
  switch (mode) {
    case k::PostMode::kTogether:
      return stream_kernel<Units, k::PostMode::kTogether>;
    case k::PostMode::kAlone:
      return stream_kernel<Units, k::PostMode::kAlone>;
    case k::PostMode::kOwn:
      return stream_kernel<Units, k::PostMode::kOwn>;
    case k::PostMode::kSession:
      return stream_kernel<Units, k::PostMode::kSession>;
    case k::PostMode::kWarp:
      return stream_kernel<Units, k::PostMode::kWarp>;
  }
  return nullptr;
}

class GpuQueueDevice final : public QueueDevice {
 public:
  ~GpuQueueDevice() override { cudaStreamSynchronize(nullptr); }
  std::string name() const override { return name_; }
  bool is_gpu() const override { return true; }

  Result<void> open(int device) {
    cudaDeviceProp properties{};
    if (auto r = checked(cudaSetDevice(device), "--device gpu"); !r) return r;
    if (auto r = checked(cudaGetDeviceProperties(&properties, device), "--device gpu"); !r) {
      return r;
    }
    name_ = properties.name;
    auto e = pinned<unsigned>(1);
    if (!e) return e.error();
    error_ = std::move(e).value();
    auto a = pinned<std::uint64_t>(8);
    if (!a) return a.error();
    answer_ = std::move(a).value();
    return {};
  }

  Result<void> set_up(std::uint32_t rings, std::uint32_t log2_depth, std::uint64_t start) override {
    log2_depth_ = log2_depth;
    *answer_ = 0;
    auto units = pinned<q::Unit>(std::size_t{rings} << log2_depth);
    auto controls = pinned<q::ContextControl>(rings);
    auto states = on_device<q::ProducerState>(rings);
    auto posted = on_device<std::uint64_t>(std::size_t{rings} * 8);
    auto producers = on_device<q::RingProducer>(rings);
    if (!units) return units.error();
    if (!controls) return controls.error();
    if (!states) return states.error();
    if (!posted) return posted.error();
    if (!producers) return producers.error();
    units_ = std::move(units).value();
    controls_ = std::move(controls).value();
    states_ = std::move(states).value();
    posted_ = std::move(posted).value();
    producers_ = std::move(producers).value();
    rings_ = rings;
    std::vector<q::ProducerState> fresh(rings);
    for (std::uint32_t i = 0; i < rings; ++i) {
      fresh[i].head = fresh[i].cached_consumed = controls_.get()[i].consumed = start;
    }
    return checked(
        cudaMemcpy(states_.get(), fresh.data(), rings * sizeof fresh[0], cudaMemcpyHostToDevice),
        "upload");
  }
  const q::Unit* units(std::uint32_t ring) const override {
    return units_.get() + (std::size_t{ring} << log2_depth_);
  }
  q::ContextControl* control(std::uint32_t ring) const override { return controls_.get() + ring; }
  std::uint64_t* answer() const override { return answer_.get(); }

  Result<void> start(const QueueCase& what, std::uint64_t timeout_ns) override {
    if (auto r = upload(what.own_rings() ? q::Sharing::kExclusive : q::Sharing::kShared); !r) {
      return r;
    }
    const Kernel kernel = what.units == 1   ? kernel_of<1>(what.mode)
                          : what.units == 2 ? kernel_of<2>(what.mode)
                                            : kernel_of<4>(what.mode);
    kernel<<<what.blocks, what.threads>>>(producers_.get(), what.records, limits(timeout_ns),
                                          error_.get());
    return checked(cudaGetLastError(), "launch");
  }
  Result<void> start_round_trips(std::uint64_t trips, std::uint64_t* took_ns,
                                 std::uint64_t timeout_ns) override {
    if (auto r = upload(q::Sharing::kExclusive); !r) return r;
    round_trip_kernel<<<1, 1>>>(producers_.get(), answer_.get(), trips, took_ns, limits(timeout_ns),
                                error_.get());
    return checked(cudaGetLastError(), "launch");
  }
  std::uint64_t* times(std::uint64_t trips) override {
    auto t = pinned<std::uint64_t>(trips);
    if (!t) return nullptr;
    times_ = std::move(t).value();
    return times_.get();
  }
  Result<void> join() override {
    // Bounded: every wait of the kernel has a deadline.
    if (auto r = checked(cudaStreamSynchronize(nullptr), "posters"); !r) return r;
    if (*error_ == 0) return {};
    return Error{static_cast<ginResult_t>(*error_),
                 "a poster ended with code " + std::to_string(*error_)};
  }

 private:
  static q::WaitLimits limits(std::uint64_t timeout_ns) {
    return {timeout_ns, nullptr, nullptr, nullptr};
  }
  Result<void> upload(q::Sharing sharing) {
    std::vector<q::RingProducer> list(rings_);
    for (std::uint32_t i = 0; i < rings_; ++i) {
      list[i] = {units_.get() + (std::size_t{i} << log2_depth_),
                 controls_.get() + i,
                 states_.get() + i,
                 posted_.get() + i * 8,
                 log2_depth_,
                 sharing};
    }
    *error_ = 0;
    return checked(cudaMemcpy(producers_.get(), list.data(), list.size() * sizeof list[0],
                              cudaMemcpyHostToDevice),
                   "upload");
  }

  std::string name_;
  std::uint32_t rings_ = 0;
  std::uint32_t log2_depth_ = 0;
  Pinned<unsigned> error_;
  Pinned<std::uint64_t> answer_;
  Pinned<std::uint64_t> times_;
  Pinned<q::Unit> units_;
  Pinned<q::ContextControl> controls_;
  OnDevice<q::ProducerState> states_;
  OnDevice<std::uint64_t> posted_;
  OnDevice<q::RingProducer> producers_;
};

}  // namespace

Result<std::unique_ptr<QueueDevice>> make_gpu_queue_device(int ordinal) {
  auto made = std::make_unique<GpuQueueDevice>();
  if (auto opened = made->open(ordinal); !opened) return opened.error();
  return std::unique_ptr<QueueDevice>(std::move(made));
}

}  // namespace gind::perf
