// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/config/config.h"
#include "daemon/control/handle_pool.h"
#include "daemon/metrics/counters.h"
#include "daemon/peers/peer_network.h"
#include "daemon/proxy/proxy_thread.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace gind {

class LocalRank;
class LocalCommunicator;

// What the parts of the control thread share.  Everything here is that thread's, but `proxies`,
// which take commands, and `counters`, which are atomics.
struct Node {
  Config config;
  boost::asio::io_context& io;
  Transport* fabric = nullptr;  // null when transport.kind is "loopback"
  Transport* loopback = nullptr;
  std::vector<std::unique_ptr<ProxyThread>> proxies;
  std::unique_ptr<PeerNetwork> peers;
  ControlCounters counters;
  std::uint64_t instance = 0;
  HandlePool handles;
  FlowPool flows;
  std::map<std::uint64_t, LocalRank*> ranks;  // by view id
  std::map<const Membership*, std::weak_ptr<LocalCommunicator>> communicators;
  // Ranks whose memory could not be proven quiet in time: kept until it is, never reused.
  std::map<std::uint64_t, std::shared_ptr<LocalRank>> quarantine;
  std::uint64_t next_view_id = 1;

  bool local_by_loopback() const {
    return config.transport.local == "loopback" &&
           (fabric == nullptr || fabric->caps().signal_mode != SignalMode::kAtomic);
  }
};

// Runs `command` on every proxy thread; each must call `finished` there, at once or later; then
// `done` runs on the control thread.
inline void on_all_proxies(
    Node& node,
    const std::function<void(ProxyThread&, std::size_t, std::function<void()>)>& command,
    std::function<void()> done) {
  auto left = std::make_shared<std::atomic<std::size_t>>(node.proxies.size());
  for (std::size_t i = 0; i < node.proxies.size(); ++i) {
    ProxyThread& proxy = *node.proxies[i];
    proxy.send([&node, &proxy, i, command, left, done] {
      command(proxy, i, [&node, left, done] {
        if (left->fetch_sub(1, std::memory_order_acq_rel) == 1) boost::asio::post(node.io, done);
      });
    });
  }
}

}  // namespace gind
