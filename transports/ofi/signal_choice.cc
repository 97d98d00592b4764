// SPDX-License-Identifier: Apache-2.0
#include "signal_choice.h"

#include <fmt/format.h>

#include <string_view>

namespace gind {
namespace {

// A put is cut to pieces of max_write_bytes, so any sensible bound covers it.
constexpr std::uint64_t kLeastOrderedWrite = 4096;

// It states a wide order but completes, and places, out of order on a reordering network.
bool unordered_by_name(const fi_info& info) {
  return std::string_view(info.fabric_attr->prov_name).find("ofi_rxd") != std::string_view::npos;
}

bool both_state(const fi_info& info, std::uint64_t order) {
  return (info.tx_attr->msg_order & order) == order && (info.rx_attr->msg_order & order) == order;
}

}  // namespace

bool orders_sends(const fi_info& info) {
  return !unordered_by_name(info) && both_state(info, FI_ORDER_SAW | FI_ORDER_SAS);
}

// FI_ORDER_RMA_WAW and FI_ORDER_ATOMIC_WAW alone say nothing of an atomic after a write.
bool orders_atomics(const fi_info& info) {
  return !unordered_by_name(info) && both_state(info, FI_ORDER_WAW) &&
         info.ep_attr->max_order_waw_size >= kLeastOrderedWrite;
}

std::optional<std::string> lacks_for_signal_mode(const fi_info& info, SignalMode mode) {
  switch (mode) {
    case SignalMode::kRecord:
      if (unordered_by_name(info)) return "ofi_rxd is treated as unordered";
      if (!orders_sends(info))
        return "its message order lacks send-after-write or send-after-send "
               "(FI_ORDER_SAW, FI_ORDER_SAS, on both sides)";
      return std::nullopt;
    case SignalMode::kAtomic:
      if (!(info.caps & FI_ATOMIC)) return "it has no atomics";
      if (unordered_by_name(info)) return "ofi_rxd is treated as unordered";
      if (!orders_atomics(info))
        return fmt::format(
            "its message order lacks FI_ORDER_WAW on both sides for writes of {} bytes "
            "(max_order_waw_size {})",
            kLeastOrderedWrite, info.ep_attr->max_order_waw_size);
      return std::nullopt;
    case SignalMode::kSequence:
      if (info.domain_attr->cq_data_size < sizeof(std::uint32_t))
        return fmt::format("its remote completion data has {} bytes, at least 4 are needed",
                           info.domain_attr->cq_data_size);
      return std::nullopt;
  }
  return "the mode is unknown";
}

}  // namespace gind
