// SPDX-License-Identifier: Apache-2.0
// Another local rank's part of a window, mapped here for loads and stores.
#pragma once

#include "connection.h"
#include "gind/common/memfd.h"
#include "gind/common/result.h"
#include "gpu/gpu.h"

#include <chrono>
#include <cstdint>

namespace gind::client {

class PeerPart {
 public:
  // Asks gind for it until the peer is so far.
  static Result<PeerPart> fetch(Connection& connection, std::uint32_t window, int rank,
                                std::chrono::steady_clock::time_point deadline);
  // Kernels reach it, too, at the same address.
  Result<void> map_into(Gpu& gpu);
  // Null when it has no bytes.
  void* data() const;

 private:
  Mapping mapping_;
  GpuMapping gpu_;
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace gind::client
