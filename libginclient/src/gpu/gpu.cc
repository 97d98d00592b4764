// SPDX-License-Identifier: Apache-2.0
#include "gpu/gpu.h"

#include <utility>

namespace gind::client {

GpuMapping::GpuMapping(std::shared_ptr<Gpu> gpu, void* host, std::uint64_t device)
    : gpu_(std::move(gpu)), host_(host), device_(device) {}
GpuMapping::GpuMapping(GpuMapping&& other) noexcept
    : gpu_(std::move(other.gpu_)), host_(other.host_), device_(other.device_) {}
GpuMapping& GpuMapping::operator=(GpuMapping&& other) noexcept {
  std::swap(gpu_, other.gpu_);
  std::swap(host_, other.host_);
  std::swap(device_, other.device_);
  return *this;
}
GpuMapping::~GpuMapping() {
  if (gpu_ != nullptr) gpu_->unmap(host_);
}

GpuMemory::GpuMemory(std::shared_ptr<Gpu> gpu, std::uint64_t address)
    : gpu_(std::move(gpu)), address_(address) {}
GpuMemory::GpuMemory(GpuMemory&& other) noexcept
    : gpu_(std::move(other.gpu_)), address_(std::exchange(other.address_, 0)) {}
GpuMemory& GpuMemory::operator=(GpuMemory&& other) noexcept {
  std::swap(gpu_, other.gpu_);
  std::swap(address_, other.address_);
  return *this;
}
GpuMemory::~GpuMemory() {
  if (gpu_ != nullptr) gpu_->free(address_);
}

Result<std::shared_ptr<Gpu>> Gpu::current_or_none() {
  auto gpu = current();
  if (!gpu && (gpu.error().code == ginNotSupported || gpu.error().code == ginInvalidUsage)) {
    return std::shared_ptr<Gpu>();
  }
  return gpu;
}

}  // namespace gind::client
