// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/transports.h"

#include "daemon/proxy/record.h"
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

Result<Transports> open_transports(const Config& config) {
  Transports made;
  made.loopback = make_loopback_transport();
  if (config.transport.kind == "loopback") return made;
  auto fabric = open_fabric(config);
  if (!fabric) return fabric.error();
  if (const auto fine = check_caps(fabric.value()->caps()); !fine) return fine.error();
  made.fabric = std::move(fabric).value();
  return made;
}

}  // namespace gind
