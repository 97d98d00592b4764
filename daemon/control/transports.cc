// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/transports.h"

#include "daemon/log/log.h"
#include "daemon/proxy/record.h"
#include "gind/transports/adversary.h"
#include "gind/transports/loopback.h"
#ifdef GIND_HAVE_OFI
#include "gind/transports/ofi.h"
#endif

#include <fmt/format.h>

namespace gind {

namespace {

// What gind builds on; a fabric without it is refused here and not met later.
Result<void> check_caps(const TransportCaps& caps) {
  if (caps.inline_bytes < sizeof(WireRecord)) {
    return Error{ginNotSupported,
                 fmt::format("provider {} takes {} bytes inline, gind needs {} for its records",
                             caps.provider, caps.inline_bytes, sizeof(WireRecord))};
  }
  if (caps.signal_mode == SignalMode::kAtomic && !caps.ordered_sends) {
    return Error{ginNotSupported,
                 fmt::format("signal mode \"atomic\" on provider {}: it does not keep sends behind "
                             "writes, which gind's fences need",
                             caps.provider)};
  }
  return {};
}

#ifdef GIND_HAVE_OFI
Result<std::unique_ptr<Transport>> open_fabric(const Config& config) {
  OfiOptions options;
  options.provider = config.transport.provider;
  options.device = config.transport.device;
  options.address = config.transport.address;
  options.signal_mode = config.transport.signal_mode;
  return make_ofi_transport(options);
}
#else
Result<std::unique_ptr<Transport>> open_fabric(const Config&) {
  return Error{ginNotSupported,
               "transport.kind \"ofi\": this gind was built without libfabric (GIND_OFI=OFF)"};
}
#endif

}  // namespace

void prepare_process() {
#ifdef GIND_HAVE_OFI
  prepare_process_for_ofi();
#endif
}

namespace {

void add_adversary(std::uint64_t seed, Transports& transports) {
  log_warning(
      fmt::format("debug.adversary_seed = {}: operations are reordered and delayed on "
                  "purpose; for tests only",
                  seed));
  const auto wrap = [](std::unique_ptr<Transport>& plain, std::unique_ptr<Transport>& wrapped,
                       std::uint64_t own_seed) {
    plain = std::move(wrapped);
    AdversaryOptions options;
    options.seed = own_seed;
    options.mode = plain->caps().signal_mode;
    wrapped = make_adversary_transport(*plain, options);
  };
  if (transports.fabric) wrap(transports.plain_fabric, transports.fabric, seed);
  wrap(transports.plain_loopback, transports.loopback, ~seed);
}

}  // namespace

Result<Transports> open_transports(const Config& config) {
  Transports made;
  made.loopback = make_loopback_transport();
  if (config.transport.kind != "loopback") {
    auto fabric = open_fabric(config);
    if (!fabric) return fabric.error();
    if (const auto fine = check_caps(fabric.value()->caps()); !fine) return fine.error();
    made.fabric = std::move(fabric).value();
  }
  if (config.debug.adversary_seed != 0) add_adversary(config.debug.adversary_seed, made);
  return made;
}

}  // namespace gind
