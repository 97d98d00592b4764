// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/config/config.h"
#include "gind/transports/transport.h"

#include <memory>

namespace gind {

struct Transports {
  std::unique_ptr<Transport> plain_fabric;  // below the adversary (debug.adversary_seed), if any
  std::unique_ptr<Transport> plain_loopback;
  std::unique_ptr<Transport> fabric;  // null when transport.kind is "loopback"
  std::unique_ptr<Transport> loopback;
};

// Undoes what fabric libraries did to the process before main(); call first there.
void prepare_process();

// Opens what the configuration names, or says what is missing; never something else.
Result<Transports> open_transports(const Config& config);

}  // namespace gind
