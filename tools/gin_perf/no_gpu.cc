// SPDX-License-Identifier: Apache-2.0
// Takes the place of the .cu files in a build without the CUDA parts.
#include "tools/gin_perf/player.h"
#include "tools/gin_perf/queue/device.h"

namespace gind::perf {
namespace {

Error no_gpu() {
  return {ginNotSupported,
          "--device gpu: this gin-perf was built without the CUDA parts (GIND_CUDA)"};
}

}  // namespace

Result<std::unique_ptr<QueueDevice>> make_gpu_queue_device(int) { return no_gpu(); }
Result<std::unique_ptr<Player>> make_gpu_player(int) { return no_gpu(); }

}  // namespace gind::perf
