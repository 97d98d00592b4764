// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loopback/loopback_endpoint.h"

namespace gind {

class LoopbackRegion final : public MemoryRegion {
 public:
  LoopbackRegion(std::shared_ptr<LoopbackShared> shared, std::uint64_t base, std::uint64_t bytes,
                 std::uint64_t key)
      : shared_(std::move(shared)), base_(base), bytes_(bytes), key_(key) {}
  ~LoopbackRegion() override { shared_->regions.erase(key_); }
  LoopbackRegion(const LoopbackRegion&) = delete;
  LoopbackRegion& operator=(const LoopbackRegion&) = delete;

  std::uint64_t remote_address() const override { return base_; }
  std::uint64_t remote_key() const override { return key_; }

  bool covers(const void* address, std::uint64_t bytes) const {
    const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(address) - base_;
    return bytes <= bytes_ && offset <= bytes_ - bytes;
  }

 private:
  std::shared_ptr<LoopbackShared> shared_;
  const std::uint64_t base_;
  const std::uint64_t bytes_;
  const std::uint64_t key_;
};

}  // namespace gind
