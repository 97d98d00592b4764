// SPDX-License-Identifier: Apache-2.0
// The functions of the CUDA driver that are used, looked up in the running process.
#pragma once

#include "gind/common/result.h"

#include <cuda.h>

namespace gind::client {

struct CudaDriver {
  CUresult (*get_error_string)(CUresult, const char**);
  CUresult (*ctx_get_current)(CUcontext*);
  CUresult (*ctx_get_device)(CUdevice*);
  CUresult (*ctx_push_current)(CUcontext);
  CUresult (*ctx_pop_current)(CUcontext*);
  CUresult (*mem_host_register)(void*, size_t, unsigned);
  CUresult (*mem_host_unregister)(void*);
  CUresult (*mem_host_get_device_pointer)(CUdeviceptr*, void*, unsigned);
  CUresult (*mem_alloc)(CUdeviceptr*, size_t);
  CUresult (*mem_free)(CUdeviceptr);
  CUresult (*memset_d8_async)(CUdeviceptr, unsigned char, size_t, CUstream);
  CUresult (*memcpy_h_to_d_async)(CUdeviceptr, const void*, size_t, CUstream);
  CUresult (*stream_create)(CUstream*, unsigned);
  CUresult (*stream_destroy)(CUstream);
  CUresult (*stream_synchronize)(CUstream);
  CUresult (*stream_query)(CUstream);
  CUresult (*thread_exchange_stream_capture_mode)(CUstreamCaptureMode*);

  // Null where this process has not loaded a driver.  Errors: ginUnhandledCudaError (a function is
  // missing: an older driver).
  static Result<const CudaDriver*> loaded();

  // "what: text of the error"; success is no error.
  Result<void> check(CUresult result, const std::string& what) const;
};

}  // namespace gind::client
