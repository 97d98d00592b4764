// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gind/transports/transport.h"

namespace gind {

struct OfiOptions {
  std::string provider = "auto";  // "auto", or a provider by libfabric's name: "tcp;ofi_rxm", "shm"
  std::string device = "auto";    // libfabric domain name, e.g. "eth0"; "auto": the first
  std::string address;            // local IP address to bind (tcp, udp); empty: the provider's choice
  std::string signal_mode = "auto";  // "auto", "record", "atomic", "sequence"
  std::uint32_t receive_depth = 512;  // posted receives per endpoint
};

// Fails, naming what was asked for and what libfabric offers, when the provider or the device is
// not there, or lacks what gind needs; never falls back to another one.
Result<std::unique_ptr<Transport>> make_ofi_transport(const OfiOptions& options);

// "libfabric 1.17": the version at run time.
std::string ofi_version();

}  // namespace gind
