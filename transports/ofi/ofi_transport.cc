// SPDX-License-Identifier: Apache-2.0
#include "gind/transports/ofi.h"
#include "ofi_domain.h"
#include "ofi_endpoint.h"
#include "provider.h"
#include "signal_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <optional>

namespace gind {
namespace {

class OfiTransport final : public Transport {
 public:
  OfiTransport(std::shared_ptr<OfiDomain> domain, TransportCaps caps)
      : domain_(std::move(domain)), caps_(std::move(caps)) {}

  const TransportCaps& caps() const override { return caps_; }
  Result<std::unique_ptr<MemoryRegion>> register_memory(void* address, std::uint64_t bytes,
                                                        std::uint32_t access) override {
    return OfiRegion::create(domain_, address, bytes, access);
  }
  Result<std::unique_ptr<Endpoint>> open_endpoint() override { return OfiEndpoint::open(domain_); }

 private:
  std::shared_ptr<OfiDomain> domain_;
  TransportCaps caps_;
};

struct Choice {
  InfoPtr info;
  SignalMode mode;
};

Result<std::optional<SignalMode>> wanted_mode(const std::string& text) {
  if (text.empty() || text == "auto") return std::optional<SignalMode>();
  for (const SignalMode mode : {SignalMode::kRecord, SignalMode::kAtomic, SignalMode::kSequence})
    if (signal_mode_name(mode) == text) return std::optional<SignalMode>(mode);
  return Error{
      ginInvalidArgument,
      fmt::format("libfabric: signal_mode \"{}\"; expected auto, record, atomic or sequence",
                  text)};
}

// The same provider and device with atomics, if it has them; atomics are asked for only where
// they are used, since a provider may pay for them with order or speed.
Result<InfoPtr> with_atomics(const OfiOptions& options, const fi_info& chosen) {
  OfiOptions same = options;
  same.provider = chosen.fabric_attr->prov_name;
  same.device = chosen.domain_attr->name;
  return select_provider(same, true);
}

Result<Choice> choose(const OfiOptions& options) {
  auto wanted = wanted_mode(options.signal_mode);
  if (!wanted) return wanted.error();
  auto plain = select_provider(options, false);
  if (!plain) return plain.error();
  InfoPtr info = std::move(plain).value();
  std::string lacks;
  for (const SignalMode mode : {SignalMode::kRecord, SignalMode::kAtomic, SignalMode::kSequence}) {
    if (wanted.value().value_or(mode) != mode) continue;
    InfoPtr candidate(fi_dupinfo(info.get()));
    std::optional<std::string> lack;
    if (!candidate) return Error{ginSystemError, "libfabric: fi_dupinfo: out of memory"};
    if (mode == SignalMode::kAtomic) {
      auto atomic = with_atomics(options, *info);
      if (atomic)
        candidate = std::move(atomic).value();
      else
        lack = "it has no atomics";
    }
    if (!lack) lack = lacks_for_signal_mode(*candidate, mode);
    if (!lack) return Choice{std::move(candidate), mode};
    lacks += fmt::format("{}{}: {}", lacks.empty() ? "" : "; ", signal_mode_name(mode), *lack);
  }
  return Error{ginNotSupported,
               fmt::format("libfabric: provider {} on {} cannot carry signals in mode {}: {}",
                           info->fabric_attr->prov_name, info->domain_attr->name,
                           options.signal_mode, lacks)};
}

TransportCaps caps_of(const OfiDomain& domain, SignalMode mode) {
  const fi_info& info = *domain.info;
  TransportCaps caps;
  caps.name = "ofi";
  caps.provider = domain.provider();
  caps.ordered_sends = orders_sends(info);
  caps.atomics = domain.atomics;
  caps.ordered_atomics = domain.atomics && orders_atomics(info);
  caps.immediate_bytes =
      static_cast<std::uint32_t>(std::min<std::size_t>(info.domain_attr->cq_data_size, 4));
  caps.inline_bytes = std::max(kMaxSendBytes, domain.inject_write);
  caps.max_write_bytes = domain.max_write;
  caps.delivery_complete = offers_delivery_complete(info);
  caps.waitable = domain.wait_fd;
  caps.signal_mode = mode;
  return caps;
}

}  // namespace

Result<std::unique_ptr<Transport>> make_ofi_transport(const OfiOptions& options) {
  auto choice = choose(options);
  if (!choice) return choice.error();
  const SignalMode mode = choice.value().mode;
  auto domain = OfiDomain::open(options, std::move(choice.value().info));
  if (!domain) return domain.error();
  OfiDomain& d = *domain.value();
  // A larger write would not be ordered before the atomic behind it.
  if (mode == SignalMode::kAtomic)
    d.max_write = std::min<std::uint64_t>(d.max_write, d.info->ep_attr->max_order_waw_size);
  return std::unique_ptr<Transport>(
      std::make_unique<OfiTransport>(domain.value(), caps_of(d, mode)));
}

void prepare_process_for_ofi() {
  ::setenv("FI_MR_CACHE_MONITOR", "disabled", 0);
  for (const int s : {SIGINT, SIGILL, SIGABRT, SIGBUS, SIGSEGV, SIGTERM}) {
    struct sigaction now {};
    // What was ignored on purpose by the parent stays so.
    if (::sigaction(s, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) ::signal(s, SIG_DFL);
  }
}

std::string ofi_version() {
  const std::uint32_t version = fi_version();
  return fmt::format("libfabric {}.{}", FI_MAJOR(version), FI_MINOR(version));
}

}  // namespace gind
