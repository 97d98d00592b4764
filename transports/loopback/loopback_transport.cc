// SPDX-License-Identifier: Apache-2.0
#include "gind/transports/loopback.h"
#include "loopback/loopback_endpoint.h"
#include "loopback/loopback_region.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace gind {
namespace {

class LoopbackTransport final : public Transport {
 public:
  explicit LoopbackTransport(const LoopbackOptions& options)
      : shared_(std::make_shared<LoopbackShared>()) {
    shared_->options = options;
    shared_->options.queue_depth = std::max<std::uint32_t>(1, options.queue_depth);
    std::random_device random;
    shared_->instance = static_cast<std::uint64_t>(random()) << 32 | random();
    caps_.name = "loopback";
    caps_.provider = "loopback";
    caps_.ordered_sends = true;
    caps_.ordered_atomics = true;
    caps_.atomics = true;
    caps_.immediate_bytes = sizeof(std::uint32_t);
    caps_.inline_bytes = kLoopbackInlineBytes;
    caps_.max_write_bytes = std::uint64_t{1} << 47;
    caps_.delivery_complete = true;
    caps_.waitable = true;
    caps_.signal_mode = SignalMode::kRecord;
  }

  const TransportCaps& caps() const override { return caps_; }

  Result<std::unique_ptr<MemoryRegion>> register_memory(void* address, std::uint64_t bytes,
                                                        std::uint32_t access) override {
    const std::uint64_t base = reinterpret_cast<std::uintptr_t>(address);
    if (base == 0 || bytes == 0 || bytes > UINT64_MAX - base)
      return Error{
          ginInvalidArgument,
          fmt::format("loopback: cannot register {} bytes at {:#x}; a region has an address "
                      "and at least one byte",
                      bytes, base)};
    auto key = shared_->regions.insert(base, bytes, access);
    if (!key) return key.error();
    return std::unique_ptr<MemoryRegion>(
        std::make_unique<LoopbackRegion>(shared_, base, bytes, key.value()));
  }

  Result<std::unique_ptr<Endpoint>> open_endpoint() override {
    return LoopbackEndpoint::open(shared_);
  }

 private:
  std::shared_ptr<LoopbackShared> shared_;
  TransportCaps caps_;
};

}  // namespace

std::unique_ptr<Transport> make_loopback_transport(const LoopbackOptions& options) {
  return std::make_unique<LoopbackTransport>(options);
}

}  // namespace gind
