// SPDX-License-Identifier: Apache-2.0
// The unique id's blob: which gind made it, and the secret that lets a rank in.  Layout in
// docs/peer_protocol.md.
#pragma once

#include "daemon/peers/messages.h"
#include "daemon/peers/peer_network.h"

#include <cstdint>
#include <string>

namespace gind::peers {

inline constexpr std::size_t kMaxBlobHost = 83;

struct UniqueId {
  std::string host;
  std::uint16_t port = 0;
  std::uint64_t instance = 0;  // of the gind that made it
  std::uint64_t comm = 0;      // public name of the communicator
  Secret secret{};
};

Result<UniqueIdBlob> encode_unique_id(const UniqueId& id);
Result<UniqueId> decode_unique_id(const UniqueIdBlob& blob);

// Without an early exit at the first difference.
bool same_secret(const Secret& a, const Secret& b);

// getrandom(2).
Result<void> fill_random(void* data, std::size_t bytes);

}  // namespace gind::peers
