// SPDX-License-Identifier: Apache-2.0
// What a proxy thread knows of a local rank: its windows and its peers.  One object per (rank,
// proxy thread), changed by commands on that thread only, so that the hot path takes no lock.
#pragma once

#include "gin/queues/descriptor.h"
#include "gind/transports/transport.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gind {

// A rank's share of a window, as the way that leads to it needs it.
struct WindowPart {
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;  // remote address of the first byte
  std::uint64_t key = 0;
};

// One window as one local rank uses it.  Immutable once installed.
struct WindowView {
  char* base = nullptr;  // our own mapping of the rank's part
  std::uint64_t bytes = 0;
  bool strict = false;  // GIN_WIN_STRICT_ORDERING, on all ranks: may hold VA-signal words
  MemoryRegion* fabric = nullptr;
  MemoryRegion* loopback = nullptr;
  std::vector<WindowPart> part;  // by rank
};

struct PeerState {
  bool gone = false;         // no new operation goes there
  bool unreachable = false;  // its gind or the way there is lost: no answer will come
  ginResult_t code = ginSuccess;
  std::string reason;
  std::uint32_t outstanding = 0;  // operations of this rank on this proxy thread
};

struct RankView {
  std::uint64_t id = 0;  // given by the control thread; named in reports to it
  std::uint32_t rank = 0;
  std::uint32_t nranks = 0;
  std::string label;                       // for logs: "comm 1a2b3c4d rank 3"
  std::vector<const WindowView*> windows;  // by index; null: not registered
  std::vector<PeerState> peers;            // by rank
};

}  // namespace gind
