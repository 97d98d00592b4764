// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/metrics/counters.h"
#include "daemon/proxy/channel.h"
#include "daemon/proxy/rank_view.h"

#include <cstdint>
#include <string>

namespace gind {

struct ProxyOptions {
  std::uint32_t index = 0;
  int cpu = -1;                         // pinned to it; -1: not pinned
  std::uint32_t burst = 32;             // records taken from one ring a turn
  std::uint64_t burst_bytes = 1 << 20;  // payload started for one ring a turn
  std::uint64_t piece_bytes = 256 << 10;
  std::uint64_t spin_ns = 200'000;
  bool yields = false;  // while it spins without work, for the sake of others on few cores
  std::uint64_t nap_ns = 50'000;
  std::uint64_t operation_timeout_ns = 30'000'000'000;
  std::uint64_t hole_timeout_ns = 5'000'000'000;
};

// What a proxy thread tells the control thread.  Called on the proxy thread; must not block.
class ProxyEvents {
 public:
  virtual ~ProxyEvents() = default;
  // A context was put in error, for good.
  virtual void context_fault(std::uint64_t view_id, std::uint32_t dev_comm, std::uint32_t context,
                             ginResult_t code, std::string text) = 0;
  // Operations of this rank towards `peer` fail from now on.
  virtual void peer_fault(std::uint64_t view_id, std::uint32_t peer, ginResult_t code,
                          std::string text) = 0;
};

// What a context queue needs of its proxy thread.
struct ProxyEnv {
  ProxyOptions options;
  ProxyCounters counters;
  ProxyEvents* events = nullptr;
  std::uint64_t now_ns = 0;  // the clock, read once a turn

  // Puts a channel on the list of those to flush at the end of the turn.
  void mark(PeerChannel& channel) {
    if (channel.listed) return;
    channel.listed = true;
    to_flush.push_back(&channel);
  }
  std::vector<PeerChannel*> to_flush;

  // Operations to this peer fail from now on; reported to the control thread once.
  struct PeerFailure {
    RankView* view;
    std::uint32_t peer;
    ginResult_t code;
    std::string text;
  };
  std::vector<PeerFailure> failures;  // handled by the proxy thread at the end of the turn
};

}  // namespace gind
