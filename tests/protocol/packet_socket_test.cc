// SPDX-License-Identifier: Apache-2.0
#include "gind/protocol/packet_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <vector>

namespace gind::protocol {
namespace {

struct Pair {
  Fd a;
  Fd b;
};

Pair socket_pair() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

Fd any_fd() { return Fd(::memfd_create("t", MFD_CLOEXEC)); }

int open_fds() {
  int n = 0;
  for (int fd = 0; fd < 256; ++fd) n += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return n;
}

template <typename M>
Packet packet_of(const M& message) {
  const auto bytes = as_bytes(message);
  Packet p;
  p.bytes.assign(bytes.begin(), bytes.end());
  return p;
}

void send_with_fds(int socket, const std::vector<int>& fds) {
  auto m = make_message<WindowRegister>(MessageType::kWindowRegister, 1);
  iovec part{&m, sizeof m};
  alignas(cmsghdr) char control[256] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_LEN(fds.size() * sizeof(int));
  cmsghdr* c = CMSG_FIRSTHDR(&message);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = message.msg_controllen;
  std::memcpy(CMSG_DATA(c), fds.data(), fds.size() * sizeof(int));
  ASSERT_GT(::sendmsg(socket, &message, MSG_NOSIGNAL), 0);
}

TEST(PacketSocket, CarriesAMessageWithItsFdCloseOnExec) {
  Pair s = socket_pair();
  Fd fd = any_fd();
  auto m = make_message<WindowRegister>(MessageType::kWindowRegister, 7);
  m.bytes = 123;
  ASSERT_TRUE(send_packet(s.a.get(), as_bytes(m), fd.get()));
  Packet p;
  auto got = receive_packet(s.b.get(), &p);
  ASSERT_TRUE(got);
  ASSERT_EQ(got.value(), ReceiveStatus::kPacket);
  ASSERT_EQ(p.fds.size(), 1u);
  EXPECT_NE(::fcntl(p.fds[0].get(), F_GETFD) & FD_CLOEXEC, 0);
  auto type = check_packet(p);
  ASSERT_TRUE(type) << type.error().message;
  EXPECT_EQ(type.value(), MessageType::kWindowRegister);
  auto parsed = parse<WindowRegister>(p);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed.value().bytes, 123u);
  EXPECT_EQ(parsed.value().header.request_id, 7u);
}

TEST(PacketSocket, TellsNothingFromClosed) {
  Pair s = socket_pair();
  Packet p;
  auto got = receive_packet(s.b.get(), &p);
  ASSERT_TRUE(got);
  EXPECT_EQ(got.value(), ReceiveStatus::kNothing);
  s.a.reset();
  got = receive_packet(s.b.get(), &p);
  ASSERT_TRUE(got);
  EXPECT_EQ(got.value(), ReceiveStatus::kClosed);
}

TEST(PacketSocket, SendingToAGonePeerIsAnErrorWithoutASignal) {
  Pair s = socket_pair();
  s.b.reset();
  const auto m = make_message<Goodbye>(MessageType::kGoodbye, 1);
  auto sent = send_packet(s.a.get(), as_bytes(m));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ginDaemonLost) << sent.error().message;
}

TEST(PacketSocket, FullSocketIsBackPressure) {
  Pair s = socket_pair();
  const auto m = make_message<Goodbye>(MessageType::kGoodbye, 1);
  Result<void> sent;
  for (int i = 0; i < 100'000 && sent.ok(); ++i) sent = send_packet(s.a.get(), as_bytes(m));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ginLimitExceeded) << sent.error().message;
}

TEST(PacketSocket, MoreFdsThanAllowedAreAllClosed) {
  for (const int count : {2, 3, 8}) {
    Pair s = socket_pair();
    Fd fd = any_fd();
    const int before = open_fds();
    send_with_fds(s.a.get(), std::vector<int>(static_cast<std::size_t>(count), fd.get()));
    Packet p;
    auto got = receive_packet(s.b.get(), &p);
    ASSERT_FALSE(got) << count;
    EXPECT_TRUE(p.fds.empty());
    EXPECT_EQ(open_fds(), before) << count;
  }
}

TEST(PacketSocket, TooLongPacketIsRefusedAndItsFdClosed) {
  Pair s = socket_pair();
  Fd fd = any_fd();
  const int before = open_fds();
  const std::vector<std::byte> bytes(kMaxClientMessage + 1);
  ASSERT_TRUE(send_packet(s.a.get(), bytes, fd.get()));
  Packet p;
  auto got = receive_packet(s.b.get(), &p);
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().message.find(std::to_string(kMaxClientMessage)), std::string::npos);
  EXPECT_EQ(open_fds(), before);
}

TEST(PacketSocket, FdsOfADroppedPacketAreClosed) {
  Pair s = socket_pair();
  const int before = open_fds();
  {
    Fd fd = any_fd();
    send_with_fds(s.a.get(), {fd.get()});
    Packet p;
    auto got = receive_packet(s.b.get(), &p);
    ASSERT_TRUE(got);
    ASSERT_EQ(p.fds.size(), 1u);
  }
  EXPECT_EQ(open_fds(), before);
}

TEST(CheckPacket, OtherVersionNamesBoth) {
  auto m = make_message<Hello>(MessageType::kHello, 1);
  m.header.version = 77;
  auto checked = check_packet(packet_of(m));
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ginVersionMismatch);
  EXPECT_NE(checked.error().message.find("77"), std::string::npos);
  EXPECT_NE(checked.error().message.find("version " + std::to_string(kClientVersion)),
            std::string::npos);
}

TEST(CheckPacket, RefusesWrongMagicSizeAndType) {
  auto m = make_message<Hello>(MessageType::kHello, 1);
  EXPECT_TRUE(check_packet(packet_of(m)));
  m.header.magic ^= 1;
  EXPECT_FALSE(check_packet(packet_of(m)));
  m = make_message<Hello>(MessageType::kHello, 1);
  m.header.size += 1;
  EXPECT_FALSE(check_packet(packet_of(m)));
  m = make_message<Hello>(MessageType::kHello, 1);
  m.header.type = 9999;
  auto unknown = check_packet(packet_of(m));
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("9999"), std::string::npos);
}

TEST(CheckPacket, DemandsTheFdsOfTheType) {
  const auto m = make_message<DevCommCreate>(MessageType::kDevCommCreate, 1);
  Packet without = packet_of(m);
  auto checked = check_packet(without);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("0 fds, expected 1"), std::string::npos)
      << checked.error().message;
  Packet with = packet_of(make_message<Hello>(MessageType::kHello, 1));
  with.fds.push_back(any_fd());
  EXPECT_FALSE(check_packet(with));
}

TEST(CheckPacket, ParseRefusesTrailingAndMissingBytes) {
  Packet p = packet_of(make_message<CommInit>(MessageType::kCommInit, 1));
  EXPECT_TRUE(parse<CommInit>(p));
  p.bytes.push_back(std::byte{0});
  auto longer = parse<CommInit>(p);
  ASSERT_FALSE(longer);
  EXPECT_NE(longer.error().message.find(std::to_string(sizeof(CommInit) + 1)), std::string::npos);
  p.bytes.resize(sizeof(CommInit) - 1);
  EXPECT_FALSE(parse<CommInit>(p));
}

// Random and mutated packets: whatever is accepted must be whole and say so itself.
TEST(CheckPacket, FuzzAcceptsOnlyWholeMessages) {
  std::mt19937_64 random(2024);
  int accepted = 0;
  for (int round = 0; round < 200'000; ++round) {
    auto m = make_message<ErrorReply>(static_cast<MessageType>(random() % 30), 3);
    Packet p = packet_of(m);
    p.bytes.resize(random() % 4 == 0 ? random() % (sizeof m + 64) : sizeof m);
    const auto flips = random() % 4;
    for (std::uint64_t i = 0; i < flips && !p.bytes.empty(); ++i) {
      const std::size_t reach = random() % 2 == 0 ? sizeof(MessageHeader) : p.bytes.size();
      p.bytes[random() % std::min(reach, p.bytes.size())] ^= std::byte{1} << (random() % 8);
    }
    auto checked = check_packet(p);
    if (!checked) {
      EXPECT_FALSE(checked.error().message.empty());
      continue;
    }
    ++accepted;
    MessageHeader h{};
    ASSERT_GE(p.bytes.size(), sizeof h);
    std::memcpy(&h, p.bytes.data(), sizeof h);
    ASSERT_EQ(h.magic, kClientMagic);
    ASSERT_EQ(h.version, kClientVersion);
    ASSERT_EQ(h.size, p.bytes.size());
    ASSERT_EQ(fds_of(checked.value()), 0);
    ASSERT_EQ(parse<ErrorReply>(p).ok(), p.bytes.size() == sizeof(ErrorReply));
    ASSERT_EQ(parse<Hello>(p).ok(), p.bytes.size() == sizeof(Hello));
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace gind::protocol
