// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gind/common/result.h"

#include <string>

namespace gind::peers {

// What other nodes shall dial: `advertise` when set, else `listen`, else, when that is a wildcard,
// the source address of the default route.
Result<std::string> advertised_host(const std::string& listen, const std::string& advertise);

}  // namespace gind::peers
