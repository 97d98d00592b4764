// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/exit_code.h"

namespace gind::perf {

ExitCode exit_code_of(ginResult_t result) {
  switch (result) {
    case ginSuccess:
      return kOk;
    case ginDaemonLost:
      return kUnreachable;
    case ginVersionMismatch:
      return kVersion;
    default:
      return kFailure;
  }
}

}  // namespace gind::perf
