// SPDX-License-Identifier: Apache-2.0
// Takes the place of gpu_device.cu in a build without the CUDA parts.
#include "tools/gin_perf/queue/device.h"

namespace gind::perf {

Result<std::unique_ptr<QueueDevice>> make_gpu_queue_device() {
  return Error{ginNotSupported,
               "--device gpu: this gin-perf was built without the CUDA parts (GIND_CUDA)"};
}

}  // namespace gind::perf
