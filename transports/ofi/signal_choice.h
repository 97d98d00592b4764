// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fid.h"
#include "gind/transports/transport.h"

#include <optional>
#include <string>

namespace gind {

// Null when the provider can do the mode as it states its orders; otherwise what it lacks.
// For kAtomic `info` must be an offer that includes FI_ATOMIC.
std::optional<std::string> lacks_for_signal_mode(const fi_info& info, SignalMode mode);

// Stated order, except of providers known to deliver less than they state.
bool orders_sends(const fi_info& info);
bool orders_atomics(const fi_info& info);

}  // namespace gind
