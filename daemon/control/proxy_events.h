// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/control/node.h"

namespace gind {

// Carries what proxy threads report over to the control thread, to the rank it is about.
class ProxyEventsToRanks final : public ProxyEvents {
 public:
  explicit ProxyEventsToRanks(Node& node) : node_(node) {}
  void context_fault(std::uint64_t view_id, std::uint32_t dev_comm, std::uint32_t context,
                     ginResult_t code, std::string text) override;
  void peer_fault(std::uint64_t view_id, std::uint32_t peer, ginResult_t code,
                  std::string text) override;

 private:
  Node& node_;
};

}  // namespace gind
