// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda_driver.h"
#include "gpu/gpu.h"

#include <map>
#include <mutex>

namespace gind::client {
namespace {

// Makes a context current and lets calls through that a capture of any other thread's stream would
// refuse; both are undone on destruction.
class Entered {
 public:
  Entered(const CudaDriver& driver, CUcontext context) : driver_(driver) {
    result_ = driver.ctx_push_current(context);
    if (result_ == CUDA_SUCCESS) driver.thread_exchange_stream_capture_mode(&mode_);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  ~Entered() {
    if (result_ != CUDA_SUCCESS) return;
    CUcontext left = nullptr;
    driver_.thread_exchange_stream_capture_mode(&mode_);
    driver_.ctx_pop_current(&left);
  }
  CUresult result() const { return result_; }

 private:
  const CudaDriver& driver_;
  CUresult result_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

class CudaGpu final : public Gpu {
 public:
  CudaGpu(const CudaDriver& driver, CUcontext context, int ordinal)
      : Gpu(ordinal), driver_(driver), context_(context) {}
  ~CudaGpu() override {
    const Entered in(driver_, context_);
    if (in.result() == CUDA_SUCCESS && stream_ != nullptr) driver_.stream_destroy(stream_);
  }

  Result<void> open() {
    return run("a stream", [&] { return driver_.stream_create(&stream_, CU_STREAM_NON_BLOCKING); });
  }

  Result<GpuMapping> map(void* host, std::uint64_t bytes) override {
    CUdeviceptr device = 0;
    auto mapped = run("mapping " + std::to_string(bytes) + " bytes of host memory", [&] {
      const CUresult r = driver_.mem_host_register(
          host, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
      if (r != CUDA_SUCCESS) return r;
      const CUresult got = driver_.mem_host_get_device_pointer(&device, host, 0);
      if (got != CUDA_SUCCESS) driver_.mem_host_unregister(host);
      return got;
    });
    if (!mapped) return mapped.error();
    return GpuMapping(shared_from_this(), host, device);
  }

  Result<GpuMemory> allocate(std::uint64_t bytes) override {
    CUdeviceptr at = 0;
    auto made = run(std::to_string(bytes) + " bytes of GPU memory",
                    [&] { return driver_.mem_alloc(&at, bytes); });
    if (!made) return made.error();
    GpuMemory memory(shared_from_this(), at);
    auto zeroed = run("zeroing GPU memory", [&] {
      const CUresult r = driver_.memset_d8_async(at, 0, bytes, stream_);
      return r == CUDA_SUCCESS ? driver_.stream_synchronize(stream_) : r;
    });
    if (!zeroed) return zeroed.error();
    return Result<GpuMemory>(std::move(memory));
  }

  Result<void> write(std::uint64_t to, const void* from, std::uint64_t bytes) override {
    return run("a copy to GPU memory", [&] {
      const CUresult r = driver_.memcpy_h_to_d_async(to, from, bytes, stream_);
      return r == CUDA_SUCCESS ? driver_.stream_synchronize(stream_) : r;
    });
  }

  Result<void> healthy() override {
    return run("a kernel or copy of this process has failed", [&] {
      const CUresult r = driver_.stream_query(stream_);
      return r == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : r;
    });
  }

 private:
  // After a failed kernel, or when the application has destroyed the context, these fail; there is
  // nothing left to give back then.
  void unmap(void* host) override {
    (void)run("unmapping", [&] { return driver_.mem_host_unregister(host); });
  }
  void free(std::uint64_t address) override {
    (void)run("freeing", [&] { return driver_.mem_free(address); });
  }

  template <typename F>
  Result<void> run(const std::string& what, F&& f) {
    const Entered in(driver_, context_);
    const CUresult r = in.result() == CUDA_SUCCESS ? f() : in.result();
    return driver_.check(r, "GPU " + std::to_string(ordinal()) + ": " + what);
  }

  const CudaDriver& driver_;
  CUcontext context_;
  CUstream stream_ = nullptr;
};

}  // namespace

Result<std::shared_ptr<Gpu>> Gpu::current() {
  auto loaded = CudaDriver::loaded();
  if (!loaded) return loaded.error();
  CUcontext context = nullptr;
  CUdevice device = 0;
  const CudaDriver* driver = loaded.value();
  if (driver == nullptr || driver->ctx_get_current(&context) != CUDA_SUCCESS ||
      context == nullptr) {
    return Error{ginInvalidUsage,
                 "this thread has no current CUDA context; call cudaSetDevice before"};
  }
  if (auto r = driver->check(driver->ctx_get_device(&device), "the current CUDA device"); !r) {
    return r.error();
  }
  // One per context, as long as somebody holds it.
  static std::mutex mutex;
  static std::map<CUcontext, std::weak_ptr<Gpu>> known;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Gpu>& slot = known[context];
  if (auto gpu = slot.lock()) return gpu;
  auto made = std::make_shared<CudaGpu>(*driver, context, static_cast<int>(device));
  if (auto opened = made->open(); !opened) return opened.error();
  slot = made;
  return std::shared_ptr<Gpu>(std::move(made));
}

}  // namespace gind::client
