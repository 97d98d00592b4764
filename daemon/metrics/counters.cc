// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/counters.h"

#include "daemon/metrics/names.h"

#include <algorithm>

namespace gind {

namespace {

using gin::queues::Op;

constexpr std::array<std::string_view, static_cast<std::size_t>(RejectReason::kCount_)>
    kRejectNames = {"malformed",  "peer",  "window",        "offset",
                    "alignment",  "bytes", "signal",        "counter",
                    "permission", "hole",  "not_supported", "context_in_error"};
constexpr std::array<std::string_view, static_cast<std::size_t>(FailReason::kCount_)> kFailNames = {
    "transport", "peer_gone", "timeout", "teardown"};

// A new enumerator leaves an empty last name.
static_assert(!kRejectNames.back().empty() && !kFailNames.back().empty());
static_assert(static_cast<int>(RejectReason::kContextInError) == kRejectNames.size() - 1);
static_assert(kRejectNames[static_cast<std::size_t>(RejectReason::kHole)] == "hole");
static_assert(kFailNames[static_cast<std::size_t>(FailReason::kTeardown)] == "teardown");

constexpr auto kOpNames = [] {
  std::array<std::string_view, kOpSlots> names{};
  names[static_cast<std::size_t>(Op::kPut)] = "put";
  names[static_cast<std::size_t>(Op::kPutValue)] = "put_value";
  names[static_cast<std::size_t>(Op::kSignal)] = "signal";
  names[static_cast<std::size_t>(Op::kGet)] = "get";
  names[static_cast<std::size_t>(Op::kFetchAdd)] = "fetch_add";
  names[static_cast<std::size_t>(Op::kCompareSwap)] = "compare_swap";
  names[static_cast<std::size_t>(Op::kResetVa)] = "reset_va";
  names[static_cast<std::size_t>(Op::kQuiet)] = "quiet";
  return names;
}();

// Every code that is an operation has a name, and no other has one.
constexpr bool names_fit() {
  for (std::size_t i = 0; i < kOpSlots; ++i) {
    const auto op = static_cast<Op>(i);
    const bool real = gin::queues::base_units(op) != 0 && op != Op::kBadUse;
    if (real == kOpNames[i].empty()) return false;
  }
  return true;
}
static_assert(names_fit());
static_assert(std::is_sorted(kDurationBoundsNs.begin(), kDurationBoundsNs.end()));

}  // namespace

std::string_view op_label(std::size_t slot) { return kOpNames[slot]; }
std::string_view reject_reason_name(RejectReason reason) {
  return kRejectNames[static_cast<std::size_t>(reason)];
}
std::string_view fail_reason_name(FailReason reason) {
  return kFailNames[static_cast<std::size_t>(reason)];
}

}  // namespace gind
