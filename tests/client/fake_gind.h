// SPDX-License-Identifier: Apache-2.0
// A gind of one thread that speaks the client protocol and does nothing else: tests look into the
// segments it was given and play the proxy themselves.
#pragma once

#include "gin/gin.h"
#include "gin/queues/consumer.h"
#include "gin/queues/segment.h"
#include "gind/common/fd.h"
#include "gind/common/memfd.h"
#include "gind/protocol/client.h"
#include "gind/protocol/packet_socket.h"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace gind::test {

struct FakeOptions {
  std::uint16_t protocol_version = protocol::kClientVersion;
  std::uint32_t segment_version = gin::queues::kSegmentVersion;  // in the hello
  std::uint32_t header_version = gin::queues::kSegmentVersion;   // in the segment
  protocol::MessageType silent = protocol::MessageType::kError;  // never answers this
  protocol::MessageType refuse = protocol::MessageType::kError;  // answers this with an error
  std::uint64_t rendezvous_ns = 1'000'000'000;
  std::uint64_t ring_start = 0;
  std::uint64_t word_start = 0;  // of signals and counters, set before the reply
  std::vector<std::uint16_t> node_of_rank;
};

// A segment as gind sees it.
struct FakeSegment {
  FakeSegment(Mapping m, const gin::queues::SegmentShape& s, std::uint64_t start);
  gin::queues::RingConsumer& ring(std::uint32_t context) { return rings[context]; }
  // The next record, waiting for it for a while; kNone when there is none.
  gin::queues::Descriptor next(std::uint32_t context = 0);
  // Returns the credit of what was read, and says that all of it is complete.
  void complete(std::uint32_t context = 0);

  Mapping mapping;
  gin::queues::SegmentShape shape;
  gin::queues::SegmentView view;
  std::vector<gin::queues::RingConsumer> rings;
};

class FakeGind {
 public:
  explicit FakeGind(const FakeOptions& options = {});
  ~FakeGind() { stop(); }
  void stop();  // closes every connection, as a gind that dies

  const std::string& path() const { return path_; }
  // The newest segment; waits for it.
  FakeSegment& segment();
  void send_event(ginResult_t code, int peer, std::uint32_t dev_comm, int context,
                  const std::string& text);
  int connections();
  std::vector<protocol::MessageType> received();
  protocol::WindowRegister last_window();

 private:
  struct Client {
    Fd socket;
    std::uint32_t windows = 0;
    std::uint32_t dev_comms = 0;
    std::int32_t nranks = 1;
  };

  void run();
  bool serve(Client& client);  // false: hang up
  void answer(Client& client, protocol::MessageType type, protocol::Packet& packet);
  void reply(Client& client, std::span<const std::byte> bytes);
  template <typename M>
  void reply_message(Client& client, M message) {
    message.header.version = options_.protocol_version;
    reply(client, protocol::as_bytes(message));
  }
  void make_segment(Client& client, protocol::Packet& packet, std::uint32_t request);

  FakeOptions options_;
  std::string folder_;
  std::string path_;
  Fd listener_;
  Fd wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Client> clients_;
  std::vector<std::unique_ptr<FakeSegment>> segments_;
  std::vector<protocol::MessageType> received_;
  protocol::WindowRegister last_window_{};
  std::thread thread_;
};

// A communicator over a fake gind, destroyed with it.
struct TestComm {
  explicit TestComm(int nranks = 1, int rank = 0);
  ~TestComm() {
    if (comm != nullptr) ginCommDestroy(comm);
  }
  TestComm(const TestComm&) = delete;
  TestComm& operator=(const TestComm&) = delete;
  // A device communicator of small rings.
  ginDevComm_t device(ginSharing_t sharing = ginSharingShared, std::int64_t timeout_ns = -1,
                      int contexts = 2);
  // A registered window of `bytes` bytes in memory of its own.
  ginWindow_t window(std::size_t bytes, void** memory = nullptr);
  ginComm_t comm = nullptr;
};

// True when text is in this thread's last error.
bool last_error_has(const std::string& text);
int count_open_fds();
int count_threads();

}  // namespace gind::test
