// SPDX-License-Identifier: Apache-2.0
// Messages between a client and its gind over a Unix SOCK_SEQPACKET socket: one message a packet,
// fixed layouts, exact sizes, one connection per communicator.  Fields are little-endian, padding
// is explicit and zero.  Requests carry a request id that the reply repeats; events carry 0.
// A connection has at most one request in progress.
#pragma once

#include "gin/queues/descriptor.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gind::protocol {

inline constexpr std::uint32_t kClientMagic = 0x434e4947;  // "GINC"
inline constexpr std::uint16_t kClientVersion = 2;
inline constexpr std::size_t kTextBytes = 768;
inline constexpr std::size_t kUniqueIdBytes = 128;
inline constexpr std::size_t kMaxClientMessage = 8192;

enum class MessageType : std::uint16_t {
  kError = 1,   // S->C: a request failed
  kOk = 2,      // S->C: a request without a result succeeded
  kEvent = 3,   // S->C: unasked, request_id 0
  kHello = 10,  // C->S, first
  kHelloReply = 11,
  kGetUniqueId = 12,
  kUniqueId = 13,
  kCommInit = 14,
  kCommReady = 15,
  kWindowRegister = 16,  // + 1 fd: the memfd the window lies in
  kWindowReady = 17,
  kWindowDeregister = 18,
  kDevCommCreate = 19,  // + 1 fd: the control segment's memfd
  kDevCommReady = 20,
  kDevCommDestroy = 21,
  kCommFinalize = 22,     // collective; every local operation is complete when it answers
  kMemoryFree = 24,       // the client has freed an allocation that windows lay in
  kGoodbye = 23,          // C->S: the client leaves in order; answered with kOk
  kWindowPeer = 25,       // another rank's part of a window that is not yet kWindowMapped
  kWindowPeerReady = 26,  // + 1 fd: the memfd that it lies in
  kWindowMapped = 27,     // collective: the client has mapped what it wants; then it may be used
};

struct MessageHeader {
  std::uint32_t magic = kClientMagic;
  std::uint16_t version = kClientVersion;
  std::uint16_t type = 0;
  std::uint32_t size = 0;  // of the whole message
  std::uint32_t request_id = 0;
};
static_assert(sizeof(MessageHeader) == 16);

struct ErrorReply {
  MessageHeader header;
  std::uint32_t code;  // ginResult_t
  std::uint32_t reserved;
  char text[kTextBytes];  // zero-terminated
};

struct Event {
  MessageHeader header;
  std::uint32_t code;      // ginResult_t, never ginSuccess
  std::int32_t peer;       // world rank at fault, -1: none
  std::uint32_t dev_comm;  // 0: the communicator as a whole
  std::int32_t context;    // -1: all
  char text[kTextBytes];
};

struct Hello {
  MessageHeader header;
  std::uint32_t segment_version;
  std::uint32_t reserved;
};

struct HelloReply {
  MessageHeader header;
  std::uint32_t segment_version;
  std::uint32_t default_contexts;
  std::uint32_t default_signals;
  std::uint32_t default_counters;
  std::uint32_t default_ring_units;
  std::uint32_t max_outstanding;  // operations per context
  std::uint32_t default_barriers;
  std::uint32_t reserved;
  std::uint64_t default_wait_ns;  // device waits; 0: for ever
  std::uint64_t rendezvous_ns;    // deadline of collective calls
  std::uint64_t instance;         // random per gind process
  char server_version[32];
};

struct GetUniqueId {
  MessageHeader header;
};

struct UniqueIdReply {
  MessageHeader header;
  std::uint8_t id[kUniqueIdBytes];
};

struct CommInit {
  MessageHeader header;
  std::uint8_t id[kUniqueIdBytes];
  std::int32_t nranks;
  std::int32_t rank;
};

struct CommReady {
  MessageHeader header;
  std::int32_t nranks;
  std::int32_t rank;
  std::uint32_t nodes;
  std::uint32_t ordered;  // 1: signal mode is not "sequence"
  std::uint64_t max_put_bytes;
  char transport[32];
  char provider[64];
  char signal_mode[16];
  std::uint16_t node_of_rank[gin::queues::kMaxRanks];  // ranks of equal value share a gind
};

struct WindowRegister {
  MessageHeader header;
  std::uint64_t offset;  // of the window in the memfd
  std::uint64_t bytes;
  std::uint32_t flags;  // GIN_WIN_*
  std::uint32_t reserved;
};

struct WindowReady {
  MessageHeader header;
  std::uint32_t window;  // index, the same on all ranks
  std::uint32_t reserved;
};

struct WindowDeregister {
  MessageHeader header;
  std::uint32_t window;
  std::uint32_t reserved;
};

struct WindowPeer {
  MessageHeader header;
  std::uint32_t window;
  std::int32_t peer;  // world rank, of the same gind
};

struct WindowPeerReady {
  MessageHeader header;
  std::uint64_t offset;  // of the peer's part in the memfd
  std::uint64_t bytes;
};

struct WindowMapped {
  MessageHeader header;
  std::uint32_t window;
  std::uint32_t reserved;
};

struct DevCommCreate {
  MessageHeader header;
  std::uint32_t contexts;
  std::uint32_t signals;
  std::uint32_t counters;
  std::uint32_t ring_units;
};

struct DevCommReady {
  MessageHeader header;
  std::uint32_t dev_comm;  // id within this connection, from 1
  std::uint32_t reserved;
};

struct DevCommDestroy {
  MessageHeader header;
  std::uint32_t dev_comm;
  std::uint32_t reserved;
};

struct CommFinalize {
  MessageHeader header;
};

struct MemoryFree {
  MessageHeader header;
  std::uint64_t inode;  // of the allocation's memfd
};

struct Goodbye {
  MessageHeader header;
};

static_assert(sizeof(CommReady) <= kMaxClientMessage);

// A message with its header filled in.
template <typename M>
M make_message(MessageType type, std::uint32_t request_id) {
  M m;
  std::memset(static_cast<void*>(&m), 0, sizeof m);
  m.header.magic = kClientMagic;
  m.header.version = kClientVersion;
  m.header.type = static_cast<std::uint16_t>(type);
  m.header.size = sizeof m;
  m.header.request_id = request_id;
  return m;
}

// How many fds a message of this type must carry.
constexpr int fds_of(MessageType type) {
  const bool one = type == MessageType::kWindowRegister || type == MessageType::kDevCommCreate ||
                   type == MessageType::kWindowPeerReady;
  return one ? 1 : 0;
}

}  // namespace gind::protocol
