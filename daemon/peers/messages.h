// SPDX-License-Identifier: Apache-2.0
// The messages between two ginds (docs/peer_protocol.md).  "Dialler": the gind that opened the
// connection, a member; "acceptor": the coordinator.
#pragma once

#include "daemon/peers/peer_network.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gind::peers {

inline constexpr std::uint32_t kPeerMagic = 0x504e4947;  // "GINP"
inline constexpr std::uint16_t kPeerVersion = 3;
inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::size_t kMaxBody = 4u << 20;
inline constexpr std::size_t kMaxRanks = 1024;
inline constexpr std::size_t kMaxNodeInfo = 3500;  // bytes, encoded
inline constexpr std::size_t kMaxText = 767;
inline constexpr std::size_t kMaxName = 255;
inline constexpr std::size_t kMaxEndpoints = 64;
inline constexpr std::size_t kMaxEndpointBytes = 512;

using Secret = std::array<std::uint8_t, 16>;

struct Hello {  // dialler, first
  std::uint64_t instance = 0;
  std::string node_name;
};
struct Welcome {  // acceptor's answer
  std::uint64_t instance = 0;
  std::string node_name;
};
struct Refused {  // acceptor, before it closes
  ginResult_t code = ginInternalError;
  std::string text;
};
struct Join {
  std::uint64_t ticket = 0;  // the dialler's name for this join
  std::uint64_t comm = 0;
  Secret secret{};
  std::uint32_t nranks = 0;
  std::uint32_t rank = 0;
  std::string identity;
  NodeInfo node;
};
struct JoinFailed {
  std::uint64_t ticket = 0;
  ginResult_t code = ginInternalError;
  std::string text;
};
struct Ready {  // once per gind and communicator
  struct Joined {
    std::uint64_t ticket = 0;
    std::uint32_t rank = 0;
  };
  std::uint64_t comm = 0;
  std::vector<Joined> joined;  // the ranks of the receiving gind
  std::uint16_t this_node = 0;
  std::vector<NodeInfo> nodes;
  std::vector<std::uint16_t> node_of_rank;
};
struct Gather {
  std::uint64_t comm = 0;
  std::uint32_t rank = 0;
  std::uint64_t sequence = 0;  // the rank's collectives, from 1
  CollectiveKind kind{};
  std::string payload;
};
struct Gathered {
  std::uint64_t comm = 0;
  std::uint64_t sequence = 0;
  std::vector<std::string> payloads;  // by rank
};
struct GatherFailed {
  std::uint64_t comm = 0;
  std::uint64_t sequence = 0;
  ginResult_t code = ginInternalError;
  std::string text;
};
struct Gone {  // both ways
  std::uint64_t comm = 0;
  std::uint32_t rank = 0;
  ginResult_t code = ginSuccess;
  std::string reason;
};
struct Quiet {
  std::uint64_t comm = 0;
  std::uint32_t rank = 0;  // the gone rank
};
struct Released {
  std::uint64_t comm = 0;
  std::uint32_t rank = 0;
};
struct Leave {  // the gind has no part in the communicator any more
  std::uint64_t comm = 0;
};

using Message = std::variant<Hello, Welcome, Refused, Join, JoinFailed, Ready, Gather, Gathered,
                             GatherFailed, Gone, Quiet, Released, Leave>;

enum class FrameType : std::uint16_t {
  kHello = 1,
  kWelcome = 2,
  kRefused = 3,
  kJoin = 10,
  kJoinFailed = 11,
  kReady = 12,
  kGather = 20,
  kGathered = 21,
  kGatherFailed = 22,
  kGone = 23,
  kQuiet = 24,
  kReleased = 25,
  kLeave = 26,
};

struct FrameHeader {
  std::uint16_t version = kPeerVersion;
  FrameType type{};
  std::uint32_t size = 0;  // of the body
};

enum class Side { kDialler, kAcceptor };  // who sent it

// A whole frame.
std::string encode(const Message& message);

// Checks the magic, the version (ginVersionMismatch names both), the type (one that `sender` may
// send) and the size (at most that type's bound).
Result<FrameHeader> parse_header(std::string_view header, Side sender);

// Exact: a short body, trailing bytes, a value out of its range are errors.
Result<Message> decode(FrameType type, std::string_view body);

// Whether this node's own information can be sent.
Result<void> check_node_info(const NodeInfo& info);

}  // namespace gind::peers
