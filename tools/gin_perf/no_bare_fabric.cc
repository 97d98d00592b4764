// SPDX-License-Identifier: Apache-2.0
// Takes the place of bare_fabric.cc in a build without libfabric.
#include "tools/gin_perf/bare_fabric.h"

namespace gind::perf {

Result<std::unique_ptr<BareFabric>> BareFabric::open(const Options&) {
  return Error{ginNotSupported, "--baseline: this gin-perf was built without libfabric (GIND_OFI)"};
}

}  // namespace gind::perf
