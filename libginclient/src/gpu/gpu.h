// SPDX-License-Identifier: Apache-2.0
// The GPU that an application's thread uses, as far as libginclient needs it: host memory mapped
// into it, memory on it.  The CUDA driver is looked up in the running process and never loaded by
// us, so that the library works where there is none and costs an application without GPU nothing.
#pragma once

#include "gind/common/result.h"

#include <cstdint>
#include <memory>

namespace gind::client {

class Gpu;

// Host memory that kernels of every GPU of the process can reach; unmapped on destruction.
class GpuMapping {
 public:
  GpuMapping() = default;
  GpuMapping(std::shared_ptr<Gpu> gpu, void* host, std::uint64_t device);
  GpuMapping(GpuMapping&& other) noexcept;
  GpuMapping& operator=(GpuMapping&& other) noexcept;
  ~GpuMapping();
  explicit operator bool() const { return gpu_ != nullptr; }
  // What kernels use; the host's own address on all platforms that CUDA 12 and newer support.
  std::uint64_t device_address() const { return device_; }

 private:
  std::shared_ptr<Gpu> gpu_;
  void* host_ = nullptr;
  std::uint64_t device_ = 0;
};

// Zeroed memory of a GPU, given back on destruction.
class GpuMemory {
 public:
  GpuMemory() = default;
  GpuMemory(std::shared_ptr<Gpu> gpu, std::uint64_t address);
  GpuMemory(GpuMemory&& other) noexcept;
  GpuMemory& operator=(GpuMemory&& other) noexcept;
  ~GpuMemory();
  std::uint64_t address() const { return address_; }

 private:
  std::shared_ptr<Gpu> gpu_;
  std::uint64_t address_ = 0;
};

// One CUDA context.  Thread safe; no call waits for kernels of the application, nor uses its
// streams, and none disturbs a stream capture.
class Gpu : public std::enable_shared_from_this<Gpu> {
 public:
  // That of the calling thread's current CUDA context.  Errors: ginNotSupported (built without the
  // CUDA parts), ginInvalidUsage (this thread has no current context), ginUnhandledCudaError.
  static Result<std::shared_ptr<Gpu>> current();
  // The same, null where current() would fail because no CUDA is in use here.
  static Result<std::shared_ptr<Gpu>> current_or_none();
  virtual ~Gpu() = default;

  int ordinal() const { return ordinal_; }

  // [host, host + bytes): whole pages, not mapped yet.
  virtual Result<GpuMapping> map(void* host, std::uint64_t bytes) = 0;
  virtual Result<GpuMemory> allocate(std::uint64_t bytes) = 0;
  // Copies to memory of allocate(), complete on return.
  virtual Result<void> write(std::uint64_t to, const void* from, std::uint64_t bytes) = 0;
  // Fails for good once a kernel has trapped or accessed memory that is not there.
  virtual Result<void> healthy() = 0;

 protected:
  explicit Gpu(int ordinal) : ordinal_(ordinal) {}

 private:
  friend class GpuMapping;
  friend class GpuMemory;
  virtual void unmap(void* host) = 0;
  virtual void free(std::uint64_t address) = 0;

  int ordinal_;
};

}  // namespace gind::client
