// SPDX-License-Identifier: Apache-2.0
#include "gind/protocol/packet_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace gind::protocol {
namespace {

// Room for exactly kMaxFds: CMSG_SPACE alone would have padding that holds one more.
constexpr std::size_t kControlBytes = CMSG_LEN(sizeof(int) * kMaxFds);

union ControlBuffer {
  cmsghdr align;
  char bytes[CMSG_SPACE(sizeof(int) * kMaxFds)];
};

void take_fds(msghdr* message, std::vector<Fd>* fds) {
  for (cmsghdr* c = CMSG_FIRSTHDR(message); c != nullptr; c = CMSG_NXTHDR(message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < n; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      fds->emplace_back(fd);
    }
  }
}

bool is_known(MessageType type) {
  switch (type) {
    case MessageType::kError:
    case MessageType::kOk:
    case MessageType::kEvent:
    case MessageType::kHello:
    case MessageType::kHelloReply:
    case MessageType::kGetUniqueId:
    case MessageType::kUniqueId:
    case MessageType::kCommInit:
    case MessageType::kCommReady:
    case MessageType::kWindowRegister:
    case MessageType::kWindowReady:
    case MessageType::kWindowDeregister:
    case MessageType::kDevCommCreate:
    case MessageType::kDevCommReady:
    case MessageType::kDevCommDestroy:
    case MessageType::kCommFinalize:
    case MessageType::kMemoryFree:
    case MessageType::kGoodbye:
    case MessageType::kWindowPeer:
    case MessageType::kWindowPeerReady:
    case MessageType::kWindowMapped:
      return true;
  }
  return false;
}

}  // namespace

Result<void> send_packet(int socket, std::span<const std::byte> bytes, int fd) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ControlBuffer control;
  if (fd >= 0) {
    std::memset(&control, 0, sizeof control);
    message.msg_control = &control;
    message.msg_controllen = CMSG_LEN(sizeof fd);
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent == static_cast<ssize_t>(bytes.size())) return {};
  const int err = sent < 0 ? errno : EMSGSIZE;
  Error error =
      system_error("sending of a packet of " + std::to_string(bytes.size()) + " bytes", err);
  if (err == EAGAIN || err == EWOULDBLOCK) {
    error.code = ginLimitExceeded;
  } else if (err == EPIPE || err == ECONNRESET || err == ENOTCONN) {
    error.code = ginDaemonLost;
  }
  return error;
}

Result<ReceiveStatus> receive_packet(int socket, Packet* packet) {
  packet->fds.clear();
  packet->bytes.resize(kMaxClientMessage);
  iovec part{packet->bytes.data(), packet->bytes.size()};
  ControlBuffer control;
  std::memset(&control, 0, sizeof control);
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = kControlBytes;
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    const int err = errno;
    packet->bytes.clear();
    if (err == EAGAIN || err == EWOULDBLOCK) return ReceiveStatus::kNothing;
    if (err == ECONNRESET || err == ENOTCONN) return ReceiveStatus::kClosed;
    return system_error("receiving of a packet", err);
  }
  packet->bytes.resize(static_cast<std::size_t>(got));
  take_fds(&message, &packet->fds);  // owned from here on, whatever is wrong with the packet
  const auto refuse = [&](const std::string& why) -> Error {
    packet->fds.clear();
    packet->bytes.clear();
    return {ginInvalidArgument, why};
  };
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    return refuse("a packet carries more than " + std::to_string(kMaxFds) + " fd");
  }
  if ((message.msg_flags & MSG_TRUNC) != 0) {
    return refuse("a packet is longer than " + std::to_string(kMaxClientMessage) + " bytes");
  }
  if (got == 0) {  // end of file; an empty packet cannot be told from it
    packet->fds.clear();
    return ReceiveStatus::kClosed;
  }
  return ReceiveStatus::kPacket;
}

Result<MessageType> check_packet(const Packet& packet) {
  MessageHeader header{};
  if (packet.bytes.size() < sizeof header) {
    return Error{ginInvalidArgument, "a packet of " + std::to_string(packet.bytes.size()) +
                                         " bytes is shorter than a header of " +
                                         std::to_string(sizeof header)};
  }
  std::memcpy(&header, packet.bytes.data(), sizeof header);
  if (header.magic != kClientMagic) {
    return Error{ginInvalidArgument, "a packet begins with " + std::to_string(header.magic) +
                                         ", expected the magic " + std::to_string(kClientMagic)};
  }
  // Before the size: another version may have other sizes.
  if (header.version != kClientVersion) {
    return Error{ginVersionMismatch, "the other side speaks client protocol version " +
                                         std::to_string(header.version) + ", this side version " +
                                         std::to_string(kClientVersion) +
                                         "; gind and libginclient must be of the same release"};
  }
  if (header.size != packet.bytes.size()) {
    return Error{ginInvalidArgument, "message type " + std::to_string(header.type) + " says " +
                                         std::to_string(header.size) + " bytes, the packet has " +
                                         std::to_string(packet.bytes.size())};
  }
  const auto type = static_cast<MessageType>(header.type);
  if (!is_known(type)) {
    return Error{ginInvalidArgument, "message type " + std::to_string(header.type) + " is unknown"};
  }
  if (packet.fds.size() != static_cast<std::size_t>(fds_of(type))) {
    return Error{ginInvalidArgument, "message type " + std::to_string(header.type) + " carries " +
                                         std::to_string(packet.fds.size()) + " fds, expected " +
                                         std::to_string(fds_of(type))};
  }
  return type;
}

}  // namespace gind::protocol
