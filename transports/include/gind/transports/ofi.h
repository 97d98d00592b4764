// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gind/transports/transport.h"

#include <chrono>

namespace gind {

struct OfiOptions {
  std::string provider = "auto";  // "auto", or a provider by libfabric's name: "tcp;ofi_rxm", "shm"
  std::string device = "auto";    // libfabric domain name, e.g. "eth0"; "auto": the first
  std::string address;  // local IP address to bind (tcp, udp, verbs); empty: the provider's choice
  std::string signal_mode = "auto";   // "auto", "record", "atomic", "sequence"
  std::uint32_t receive_depth = 512;  // posted receives per endpoint
  // A peer that takes no request for so long while none is outstanding is unreachable: further
  // requests to it fail.  (Connections are made by the first request.)
  std::chrono::milliseconds connect_timeout{10000};
};

// Fails, naming what was asked for and what libfabric offers, when the provider or the device is
// not there, or lacks what gind needs; never falls back to another one.
Result<std::unique_ptr<Transport>> make_ofi_transport(const OfiOptions& options);

// Makes libfabric fit for a service; call first in main(), before threads and signal handlers.
// Signals that a library linked by libfabric (libinfinipath) has taken before main() get their
// default action back, and, where the environment does not say otherwise, there is no
// memory-registration cache: gind registers explicitly, and the cache patches munmap.  Not thread
// safe.
void prepare_process_for_ofi();

// "libfabric 1.17": the version at run time.
std::string ofi_version();

}  // namespace gind
