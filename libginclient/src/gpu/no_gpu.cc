// SPDX-License-Identifier: Apache-2.0
// Takes the place of cuda_gpu.cc in a build without the CUDA parts.
#include "gpu/gpu.h"

namespace gind::client {

Result<std::shared_ptr<Gpu>> Gpu::current() {
  return Error{ginNotSupported, "this libginclient was built without the CUDA parts (GIND_CUDA)"};
}

}  // namespace gind::client
