// SPDX-License-Identifier: Apache-2.0
#include "gind/transports/transport.h"

namespace gind {

std::string_view signal_mode_name(SignalMode mode) {
  switch (mode) {
    case SignalMode::kRecord:
      return "record";
    case SignalMode::kAtomic:
      return "atomic";
    case SignalMode::kSequence:
      return "sequence";
  }
  return "unknown";
}

}  // namespace gind
