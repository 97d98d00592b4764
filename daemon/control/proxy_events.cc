// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/proxy_events.h"

#include "daemon/control/local_rank.h"

namespace gind {

void ProxyEventsToRanks::context_fault(std::uint64_t view_id, std::uint32_t dev_comm,
                                       std::uint32_t context, ginResult_t code, std::string text) {
  boost::asio::post(node_.io,
                    [&node = node_, view_id, dev_comm, context, code, text = std::move(text)] {
                      const auto found = node.ranks.find(view_id);
                      if (found != node.ranks.end())
                        found->second->context_fault(dev_comm, context, code, text);
                    });
}

void ProxyEventsToRanks::peer_fault(std::uint64_t view_id, std::uint32_t peer, ginResult_t code,
                                    std::string text) {
  boost::asio::post(node_.io, [&node = node_, view_id, peer, code, text = std::move(text)] {
    const auto found = node.ranks.find(view_id);
    if (found != node.ranks.end()) found->second->peer_fault(peer, code, text);
  });
}

}  // namespace gind
