// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gind/transports/transport.h"

namespace gind {

struct LoopbackOptions {
  std::uint32_t queue_depth = 1024;  // requests that may be outstanding on one endpoint
  bool null_memory = false;  // writes are accepted and completed but not copied (cost benchmarks)
};

// The in-node transport: endpoints of this process only, writes are memcpy by the posting thread.
// Ordered.  Regions are addressed by the mapping's own address and a key; a write outside a
// registered region fails like on a fabric.  add_peer takes an address() of the same Transport.
std::unique_ptr<Transport> make_loopback_transport(const LoopbackOptions& options = {});

}  // namespace gind
