// SPDX-License-Identifier: Apache-2.0
#include "adversary_endpoint.h"

#include <atomic>

namespace gind {
namespace {

class AdversaryTransport final : public Transport {
 public:
  AdversaryTransport(Transport& inner, const AdversaryOptions& options)
      : inner_(inner), options_(options), caps_(inner.caps()) {
    caps_.provider += ";adversary";
    caps_.signal_mode = options.mode;
    caps_.ordered_sends = options.mode != SignalMode::kSequence;
    caps_.delivery_complete = false;
    caps_.ordered_atomics = options.mode == SignalMode::kAtomic;
  }

  const TransportCaps& caps() const override { return caps_; }
  Result<std::unique_ptr<MemoryRegion>> register_memory(void* address, std::uint64_t bytes,
                                                        std::uint32_t access) override {
    return inner_.register_memory(address, bytes, access);
  }
  Result<std::unique_ptr<Endpoint>> open_endpoint() override {
    return AdversaryEndpoint::open(inner_, options_,
                                   opened_.fetch_add(1, std::memory_order_relaxed));
  }

 private:
  Transport& inner_;
  const AdversaryOptions options_;
  TransportCaps caps_;
  std::atomic<std::uint64_t> opened_{0};
};

}  // namespace

std::unique_ptr<Transport> make_adversary_transport(Transport& inner,
                                                    const AdversaryOptions& options) {
  return std::make_unique<AdversaryTransport>(inner, options);
}

}  // namespace gind
