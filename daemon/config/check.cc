// SPDX-License-Identifier: Apache-2.0
// Rules that join several options.
#include "daemon/config/address.h"
#include "daemon/config/load_internal.h"

namespace gind {

namespace {

void rule(Loading& loading, std::string_view key, const std::string& what) {
  const std::string& origin = loading.result.origins[option_index(*find_option(key))];
  loading.fault(origin, std::string(key) + ": " + what);
}

void check_peer(Loading& loading) {
  const Config::Peer& peer = loading.result.config.peer;
  if (is_loopback_address(peer.listen)) return;
  if (!peer.insecure) {
    rule(loading, "peer.listen",
         "\"" + peer.listen +
             "\" is not a loopback address, and the peer link is not authenticated; use an "
             "address in 127.0.0.0/8 or ::1, or set peer.insecure = true on a network on which "
             "every host is trusted");
  } else {
    loading.result.warnings.push_back(
        "peer.listen \"" + peer.listen +
        "\": the peer link is neither authenticated nor encrypted (peer.insecure = true); any "
        "host that reaches it can take part in communicators");
  }
}

void check_proxy(Loading& loading) {
  const Config::Proxy& proxy = loading.result.config.proxy;
  if (proxy.cpus.empty() || proxy.cpus.size() == proxy.threads) return;
  rule(loading, "proxy.cpus",
       std::to_string(proxy.cpus.size()) +
           " CPUs for proxy.threads = " + std::to_string(proxy.threads) + "; set proxy.threads = " +
           std::to_string(proxy.cpus.size()) + " or list one CPU for each thread");
}

}  // namespace

void check_config_rules(Loading& loading) {
  const Config& config = loading.result.config;
  check_peer(loading);
  check_proxy(loading);
  if (config.defaults.contexts > config.limits.contexts) {
    rule(loading, "defaults.contexts",
         std::to_string(config.defaults.contexts) + " is above limits.contexts = " +
             std::to_string(config.limits.contexts) + "; lower the one or raise the other");
  }
  // Zeroed memory is stale only in even laps: a ring may begin at any of those.
  const std::uint64_t step = 2 * std::uint64_t{config.defaults.ring_units};
  if (config.debug.ring_start % step != 0) {
    rule(loading, "debug.ring_start",
         std::to_string(config.debug.ring_start) + " is not a multiple of " + std::to_string(step) +
             " (twice defaults.ring_units); the next lower one is " +
             std::to_string(config.debug.ring_start / step * step));
  }
}

}  // namespace gind
