// SPDX-License-Identifier: Apache-2.0
// Two nodes on one fabric, for the tests of what every transport promises.
#pragma once

#include "gind/transports/loopback.h"
#include "gind/transports/transport.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gind::test {

inline constexpr auto kPatience = std::chrono::seconds(40);  // only ever reached by a failure

// A completion with what it pointed to.
struct Event {
  CompletionKind kind;
  std::uint64_t id;
  std::uint32_t immediate;
  std::vector<std::uint8_t> data;
  ginResult_t code;
  std::string error;
};

struct Node {
  std::shared_ptr<Transport> transport;
  std::unique_ptr<Endpoint> endpoint;
  PeerHandle peer = 0;  // the other node
  std::vector<Event> events;

  void poll();
  std::size_t count(CompletionKind kind) const;
  std::size_t finished() const {
    return count(CompletionKind::kDone) + count(CompletionKind::kFailed);
  }
};

struct Fabric {
  std::string name;
  // The transport of node 0 or 1; null with a reason when it is not on this machine.
  std::function<std::shared_ptr<Transport>(int node, std::string& reason)> make;
  // A write's completion waits for the target, so that what is wrong there fails it.
  bool reports_remote_faults = true;
};

std::vector<Fabric> fabrics();
std::string libfabric_version();  // ofi_version(), empty in a build without it
Fabric ofi_fabric(const std::string& name, const std::string& provider,
                  const std::string& address_prefix, const std::string& signal_mode);
std::string fabric_name(const ::testing::TestParamInfo<Fabric>& info);

// Memory of a node, registered for everything.
struct Buffer {
  Buffer(Transport& transport, std::size_t bytes);
  // Registered for `access` only.
  Buffer(Transport& transport, std::size_t bytes, std::uint32_t access);
  // With the pattern of `seed`; the bytes stay where they are registered.
  void fill(std::uint32_t seed);
  std::vector<std::uint8_t> bytes;
  std::unique_ptr<MemoryRegion> region;
  std::uint64_t at(std::uint64_t offset) const { return region->remote_address() + offset; }
};

WorkRequest write_request(const Buffer& from, std::uint64_t from_offset, const Buffer& to,
                          std::uint64_t to_offset, std::uint64_t bytes, std::uint64_t id);
WorkRequest send_request(const void* data, std::uint32_t bytes, std::uint64_t id);

std::vector<std::uint8_t> pattern(std::size_t bytes, std::uint32_t seed);

class FabricTest : public ::testing::TestWithParam<Fabric> {
 protected:
  void SetUp() override { open(GetParam()); }
  void open(const Fabric& fabric);

  // Posts all of `requests` to the node's peer, polling both while it is full.
  void post_all(Node& node, std::vector<WorkRequest> requests);
  // Polls both nodes until `done`; fails the test after kPatience.
  void until(const std::function<bool()>& done, const char* what);

  Node a, b;
};

}  // namespace gind::test
