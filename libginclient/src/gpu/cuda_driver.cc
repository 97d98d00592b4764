// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda_driver.h"

#include <dlfcn.h>

#include <mutex>

namespace gind::client {
namespace {

template <typename F>
bool find(void* library, const char* name, F** function, std::string* missing) {
  *function = reinterpret_cast<F*>(::dlsym(library, name));
  if (*function == nullptr && missing->empty()) *missing = name;
  return *function != nullptr;
}

// The name of the first function that is not there, or "".
std::string resolve(void* library, CudaDriver* d) {
  std::string missing;
  find(library, "cuGetErrorString", &d->get_error_string, &missing);
  find(library, "cuCtxGetCurrent", &d->ctx_get_current, &missing);
  find(library, "cuCtxGetDevice", &d->ctx_get_device, &missing);
  find(library, "cuCtxPushCurrent_v2", &d->ctx_push_current, &missing);
  find(library, "cuCtxPopCurrent_v2", &d->ctx_pop_current, &missing);
  find(library, "cuMemHostRegister_v2", &d->mem_host_register, &missing);
  find(library, "cuMemHostUnregister", &d->mem_host_unregister, &missing);
  find(library, "cuMemHostGetDevicePointer_v2", &d->mem_host_get_device_pointer, &missing);
  find(library, "cuMemAlloc_v2", &d->mem_alloc, &missing);
  find(library, "cuMemFree_v2", &d->mem_free, &missing);
  find(library, "cuMemsetD8Async", &d->memset_d8_async, &missing);
  find(library, "cuMemcpyHtoDAsync_v2", &d->memcpy_h_to_d_async, &missing);
  find(library, "cuStreamCreate", &d->stream_create, &missing);
  find(library, "cuStreamDestroy_v2", &d->stream_destroy, &missing);
  find(library, "cuStreamSynchronize", &d->stream_synchronize, &missing);
  find(library, "cuStreamQuery", &d->stream_query, &missing);
  find(library, "cuThreadExchangeStreamCaptureMode", &d->thread_exchange_stream_capture_mode,
       &missing);
  return missing;
}

}  // namespace

Result<const CudaDriver*> CudaDriver::loaded() {
  static std::mutex mutex;
  static CudaDriver driver;
  static bool resolved = false;
  const std::lock_guard lock(mutex);
  if (resolved) return &driver;
  // Without RTLD_NOLOAD a process that uses no GPU would initialise a driver.
  void* library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return static_cast<const CudaDriver*>(nullptr);
  if (const std::string missing = resolve(library, &driver); !missing.empty()) {
    return Error{ginUnhandledCudaError,
                 "the CUDA driver has no " + missing + "; a driver of CUDA 12 or newer is needed"};
  }
  resolved = true;
  return &driver;
}

Result<void> CudaDriver::check(CUresult result, const std::string& what) const {
  if (result == CUDA_SUCCESS) return {};
  const char* text = nullptr;
  get_error_string(result, &text);
  return Error{ginUnhandledCudaError, what + ": " + (text != nullptr ? text : "unknown error") +
                                          " (CUDA error " +
                                          std::to_string(static_cast<int>(result)) + ")"};
}

}  // namespace gind::client
