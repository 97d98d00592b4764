// SPDX-License-Identifier: Apache-2.0
// Label values of the counters' enums: fixed, small sets.
#pragma once

#include "daemon/metrics/counters.h"

#include <string_view>

namespace gind {

// "put", ...; empty for a slot that is no operation.
std::string_view op_label(std::size_t slot);
std::string_view reject_reason_name(RejectReason reason);
std::string_view fail_reason_name(FailReason reason);

}  // namespace gind
