// SPDX-License-Identifier: Apache-2.0
#include "gind/transports/transport.h"

namespace gind {

Result<std::unique_ptr<MemoryRegion>> Transport::register_dmabuf(int, std::uint64_t, std::uint64_t,
                                                                 std::uint64_t, std::uint32_t) {
  return Error{ginNotSupported, "the transport " + caps().name + " (" + caps().provider +
                                    ") registers no GPU memory: it takes no dma-buf"};
}

}  // namespace gind
