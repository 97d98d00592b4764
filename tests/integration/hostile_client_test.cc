// SPDX-License-Identifier: Apache-2.0
// Packets that libginclient never sends: refused with the reason, nothing kept, others served.
#include "cluster.h"
#include "gind/common/fd.h"
#include "gind/protocol/client.h"
#include "gind/protocol/packet_socket.h"
#include "ranks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <thread>

namespace gind::test {
namespace {

using protocol::MessageType;

class RawClient {
 public:
  explicit RawClient(const std::string& socket)
      : fd_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const timeval limit{10, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  template <typename M>
  void send(const M& message, int fd = -1) {
    static_cast<void>(protocol::send_packet(fd_.get(), protocol::as_bytes(message), fd).ok());
  }
  void hello() {
    auto message = protocol::make_message<protocol::Hello>(MessageType::kHello, 1);
    message.segment_version = gin::queues::kSegmentVersion;
    send(message);
    protocol::HelloReply reply{};
    EXPECT_EQ(::recv(fd_.get(), &reply, sizeof reply, 0), ssize_t{sizeof reply});
  }
  void join_alone() {
    send(protocol::make_message<protocol::GetUniqueId>(MessageType::kGetUniqueId, 2));
    protocol::UniqueIdReply id{};
    EXPECT_EQ(::recv(fd_.get(), &id, sizeof id, 0), ssize_t{sizeof id});
    auto init = protocol::make_message<protocol::CommInit>(MessageType::kCommInit, 3);
    std::memcpy(init.id, id.id, sizeof init.id);
    init.nranks = 1;
    send(init);
    protocol::CommReady ready{};
    EXPECT_EQ(::recv(fd_.get(), &ready, sizeof ready, 0), ssize_t{sizeof ready});
  }
  // The error that comes back, or what came instead.
  std::string error() {
    protocol::ErrorReply reply{};
    const ssize_t n = ::recv(fd_.get(), &reply, sizeof reply, 0);
    if (n != ssize_t{sizeof reply}) return "no error reply: " + std::to_string(n);
    if (reply.code == ginSuccess) return "an error reply with the code of success";
    return reply.text;
  }
  bool closed() {
    char byte = 0;
    const ssize_t n = ::recv(fd_.get(), &byte, 1, 0);
    return n == 0 || (n < 0 && errno == ECONNRESET);
  }

 private:
  Fd fd_;
};

int memory_file(std::size_t bytes, unsigned seals) {
  const int fd = ::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  EXPECT_EQ(::ftruncate(fd, static_cast<off_t>(bytes)), 0);
  if (seals != 0) {
    EXPECT_EQ(::fcntl(fd, F_ADD_SEALS, seals), 0);
  }
  return fd;
}

struct Case {
  const char* name;
  bool ends;  // a breach of the protocol ends the connection; a bad value does not
  std::vector<std::string> words;
  std::function<void(RawClient&)> act;
};

protocol::WindowRegister window_of(std::uint64_t offset, std::uint64_t bytes) {
  auto message = protocol::make_message<protocol::WindowRegister>(MessageType::kWindowRegister, 4);
  message.offset = offset;
  message.bytes = bytes;
  return message;
}
constexpr unsigned kSealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::vector<Case> cases() {
  return {
      {"a request before the hello",
       true,
       {"get unique id", "not allowed"},
       [](RawClient& c) {
         c.send(protocol::make_message<protocol::GetUniqueId>(MessageType::kGetUniqueId, 1));
       }},
      {"a second hello",
       true,
       {"hello", "not allowed"},
       [](RawClient& c) {
         c.hello();
         c.send(protocol::make_message<protocol::Hello>(MessageType::kHello, 2));
       }},
      {"a window before joining",
       true,
       {"window register", "not allowed"},
       [](RawClient& c) {
         c.hello();
         const Fd fd(memory_file(4096, kSealed));
         c.send(window_of(0, 4096), fd.get());
       }},
      {"request id 0",
       true,
       {"request id 0"},
       [](RawClient& c) {
         c.hello();
         c.send(protocol::make_message<protocol::GetUniqueId>(MessageType::kGetUniqueId, 0));
       }},
      {"a message that only gind sends",
       true,
       {"not allowed"},
       [](RawClient& c) {
         c.hello();
         c.send(protocol::make_message<protocol::UniqueIdReply>(MessageType::kUniqueId, 2));
       }},
      {"an fd where none belongs",
       true,
       {"fd"},
       [](RawClient& c) {
         c.hello();
         const Fd fd(memory_file(4096, 0));
         c.send(protocol::make_message<protocol::GetUniqueId>(MessageType::kGetUniqueId, 2),
                fd.get());
       }},
      {"a window without its fd",
       true,
       {"fd"},
       [](RawClient& c) {
         c.hello();
         c.join_alone();
         c.send(window_of(0, 4096));
       }},
      {"a rank out of range",
       false,
       {"rank 7 of 2", "0 to 1"},
       [](RawClient& c) {
         c.hello();
         auto init = protocol::make_message<protocol::CommInit>(MessageType::kCommInit, 2);
         init.nranks = 2;
         init.rank = 7;
         c.send(init);
       }},
      {"too many ranks",
       false,
       {"nranks 1025", "1024"},
       [](RawClient& c) {
         c.hello();
         auto init = protocol::make_message<protocol::CommInit>(MessageType::kCommInit, 2);
         init.nranks = 1025;
         c.send(init);
       }},
      {"memory that can shrink",
       false,
       {"seal"},
       [](RawClient& c) {
         c.hello();
         c.join_alone();
         const Fd fd(memory_file(4096, 0));
         c.send(window_of(0, 4096), fd.get());
       }},
      {"a window past its memory",
       false,
       {"8192", "4096"},
       [](RawClient& c) {
         c.hello();
         c.join_alone();
         const Fd fd(memory_file(4096, kSealed));
         c.send(window_of(0, 8192), fd.get());
       }},
      {"a window whose end overflows",
       false,
       {"18446744073709547520"},
       [](RawClient& c) {
         c.hello();
         c.join_alone();
         const Fd fd(memory_file(8192, kSealed));
         c.send(window_of(std::uint64_t{0} - 4096, 8192), fd.get());
       }},
      {"a pipe for memory",
       false,
       {"memfd"},
       [](RawClient& c) {
         c.hello();
         c.join_alone();
         int ends[2];
         ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
         const Fd in(ends[0]);
         const Fd out(ends[1]);
         c.send(window_of(0, 4096), in.get());
       }},
      {"an unknown window",
       false,
       {"window 12345"},
       [](RawClient& c) {
         c.hello();
         c.join_alone();
         auto message =
             protocol::make_message<protocol::WindowDeregister>(MessageType::kWindowDeregister, 4);
         message.window = 12345;
         c.send(message);
       }},
      {"a device communicator of no shape",
       false,
       {"contexts"},
       [](RawClient& c) {
         c.hello();
         c.join_alone();
         const Fd fd(memory_file(4096, kSealed));
         auto message =
             protocol::make_message<protocol::DevCommCreate>(MessageType::kDevCommCreate, 4);
         message.contexts = 0xffffffffu;
         message.signals = 0xffffffffu;
         message.ring_units = 0xffffffffu;
         c.send(message, fd.get());
       }},
  };
}

TEST(HostileClient, IsRefusedWithTheReasonAndKeepsNothing) {
  Cluster cluster({.nodes = 1,
                   .provider = "loopback",
                   .namespaces = false,
                   .set = {"timeouts.teardown=2s", "timeouts.rendezvous=3s"}});
  GindProcess& gind = cluster.node(0);
  const auto serves = [&] {
    return run_ranks(cluster.place({2}), [](Rank& rank) {
      World w = make_world(rank, 4096);
      end_world(w);
    });
  };
  const auto held = [&] {
    return "fds " + std::to_string(gind.open_fds()) + ", memfds " +
           std::to_string(gind.mappings_of("memfd:")) + ", clients " +
           std::to_string(gind.metric("gind_clients"));
  };
  ASSERT_EQ(serves(), "");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const std::string before = held();
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    {
      RawClient client(gind.socket());
      one.act(client);
      const std::string text = client.error();
      for (const auto& word : one.words) EXPECT_NE(text.find(word), std::string::npos) << text;
      if (one.ends) {
        EXPECT_TRUE(client.closed());
      }
    }
    ASSERT_TRUE(gind.running()) << gind.log();
  }
  // Apart from each other: gind still closes the last sample's connection for a moment.
  std::string now = held();
  for (int i = 0; i < 100 && now != before; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    now = held();
  }
  EXPECT_EQ(now, before) << gind.log();
  EXPECT_EQ(serves(), "") << gind.log();
}

}  // namespace
}  // namespace gind::test
