// SPDX-License-Identifier: Apache-2.0
// The fabrics and layouts of ranks that the operations are tested on.
#pragma once

#include "cluster.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gind::test {

struct FabricCase {
  const char* name;
  std::string provider;
  std::vector<int> ranks;  // on each node
  std::vector<std::string> set;
};

inline ClusterOptions cluster_of(const FabricCase& c) {
  return {.nodes = static_cast<int>(c.ranks.size()),
          .provider = c.provider,
          .namespaces = false,
          .set = c.set};
}

inline std::vector<FabricCase> all_fabrics() {
  return {{"Tcp", "tcp;ofi_rxm", {1, 1}, {}},
          {"TcpSequence", "tcp;ofi_rxm", {1, 1}, {"transport.signal_mode=sequence"}},
          {"TcpMixed", "tcp;ofi_rxm", {2, 1}, {"proxy.piece_bytes=4KiB"}},
          {"TcpTwoProxies", "tcp;ofi_rxm", {2, 2}, {"proxy.threads=2"}},
          {"SocketsAtomic", "sockets", {1, 1}, {"transport.signal_mode=atomic"}},
          {"Shm", "shm", {1, 1}, {}},
          {"Loopback", "loopback", {3}, {}},
          {"LoopbackTwoProxies", "loopback", {2}, {"proxy.threads=2"}},
          {"TcpSequenceAdversary",
           "tcp;ofi_rxm",
           {2, 1},
           {"transport.signal_mode=sequence", "debug.adversary_seed=3"}}};
}

inline std::string fabric_name(const testing::TestParamInfo<FabricCase>& info) {
  return info.param.name;
}

}  // namespace gind::test
