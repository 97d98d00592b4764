// SPDX-License-Identifier: Apache-2.0
// One packet with fds over a SOCK_SEQPACKET socket.
#pragma once

#include "gind/common/fd.h"
#include "gind/common/result.h"
#include "gind/protocol/client.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace gind::protocol {

struct Packet {
  std::vector<std::byte> bytes;
  std::vector<Fd> fds;
};

inline constexpr int kMaxFds = 1;  // of any message

// Sends one packet, with an fd when `fd` >= 0.  A non-blocking socket that is full gives
// ginLimitExceeded; a gone peer ginDaemonLost.  Never raises SIGPIPE.
Result<void> send_packet(int socket, std::span<const std::byte> bytes, int fd = -1);

enum class ReceiveStatus { kPacket, kNothing, kClosed };

// Receives one packet without blocking on a non-blocking socket.  A packet longer than
// kMaxClientMessage, or with more fds than kMaxFds (MSG_CTRUNC), is an error: its fds are closed
// and the connection must be dropped.  Fds arrive close-on-exec.
Result<ReceiveStatus> receive_packet(int socket, Packet* packet);

// Checks a packet's header against its length, the magic and the version, and that it carries as
// many fds as its type demands.  Returns the type.
Result<MessageType> check_packet(const Packet& packet);

// The message in a checked packet, or an error when the size is not exactly M's.
template <typename M>
Result<M> parse(const Packet& packet) {
  if (packet.bytes.size() != sizeof(M)) {
    MessageHeader header{};
    std::memcpy(&header, packet.bytes.data(),
                packet.bytes.size() < sizeof header ? packet.bytes.size() : sizeof header);
    return Error{ginInvalidArgument, "message type " + std::to_string(header.type) + " has " +
                                         std::to_string(packet.bytes.size()) + " bytes, expected " +
                                         std::to_string(sizeof(M))};
  }
  M m;
  std::memcpy(static_cast<void*>(&m), packet.bytes.data(), sizeof m);
  return m;
}

template <typename M>
std::span<const std::byte> as_bytes(const M& message) {
  return {reinterpret_cast<const std::byte*>(&message), sizeof message};
}

}  // namespace gind::protocol
