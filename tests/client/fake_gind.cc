// SPDX-License-Identifier: Apache-2.0
#include "fake_gind.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace gind::test {
namespace {

namespace q = gin::queues;
using protocol::MessageType;
using protocol::Packet;

void require(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(what);
}

std::uint32_t request_of(const Packet& packet) {
  protocol::MessageHeader header{};
  std::memcpy(&header, packet.bytes.data(), sizeof header);
  return header.request_id;
}

int entries_of(const char* folder) {
  int n = 0;
  for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator(folder)) ++n;
  return n;
}

}  // namespace

FakeSegment::FakeSegment(Mapping m, const q::SegmentShape& s, std::uint64_t start)
    : mapping(std::move(m)), shape(s), view(mapping.data(), q::layout_of(s)) {
  for (std::uint32_t c = 0; c < s.contexts; ++c) {
    rings.emplace_back(view.ring(c), static_cast<std::uint32_t>(std::countr_zero(s.ring_units)),
                       start);
    q::store_release_sys(&view.control(c)->consumed, start);
    q::store_release_sys(&view.control(c)->done_all, start);
  }
}

q::Descriptor FakeSegment::next(std::uint32_t context) {
  q::Unit units[q::kMaxUnits];
  for (int i = 0; i < 2000; ++i) {
    if (const std::uint32_t n = rings[context].copy_out(units); n != 0) {
      q::Descriptor d{};
      if (q::decode(units, n, &d) != q::Field::kNone) throw std::runtime_error("malformed record");
      return d;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

void FakeSegment::complete(std::uint32_t context) {
  const std::uint64_t at = rings[context].position();
  q::store_release_sys(&view.control(context)->consumed, at);
  for (std::uint32_t p = 0; p < shape.ranks; ++p) q::store_release_sys(&view.done(context)[p], at);
  q::store_release_sys(&view.control(context)->done_all, at);
}

FakeGind::FakeGind(const FakeOptions& options) : options_(options) {
  char folder[] = "/tmp/fake-gind-XXXXXX";
  require(::mkdtemp(folder) != nullptr, "mkdtemp");
  folder_ = folder;
  path_ = folder_ + "/gind.sock";
  listener_.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
  require(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0,
          "bind");
  require(::listen(listener_.get(), 16) == 0, "listen");
  wake_.reset(::eventfd(0, EFD_CLOEXEC));
  ::setenv("GIND_SOCKET", path_.c_str(), 1);
  thread_ = std::thread([this] { run(); });
}

void FakeGind::stop() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  require(::write(wake_.get(), &one, sizeof one) == sizeof one, "write");
  thread_.join();
  listener_.reset();
  clients_.clear();
  std::filesystem::remove_all(folder_);
}

void FakeGind::run() {
  for (;;) {
    std::vector<pollfd> fds{{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    {
      const std::lock_guard lock(mutex_);
      for (auto& [fd, client] : clients_) fds.push_back({fd, POLLIN, 0});
    }
    ::poll(fds.data(), fds.size(), -1);
    if (fds[0].revents != 0) return;
    const std::lock_guard lock(mutex_);
    if (fds[1].revents != 0) {
      Fd accepted(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (accepted.valid()) {
        const int fd = accepted.get();
        clients_[fd].socket = std::move(accepted);
      }
    }
    for (std::size_t i = 2; i < fds.size(); ++i) {
      if (fds[i].revents != 0 && !serve(clients_.at(fds[i].fd))) clients_.erase(fds[i].fd);
    }
    changed_.notify_all();
  }
}

bool FakeGind::serve(Client& client) {
  Packet packet;
  auto got = protocol::receive_packet(client.socket.get(), &packet);
  if (!got || got.value() == protocol::ReceiveStatus::kClosed) return false;
  if (got.value() == protocol::ReceiveStatus::kNothing) return true;
  auto type = protocol::check_packet(packet);
  if (!type) return false;
  received_.push_back(type.value());
  if (type.value() == options_.silent) return true;
  if (type.value() == options_.refuse) {
    auto error =
        protocol::make_message<protocol::ErrorReply>(MessageType::kError, request_of(packet));
    error.code = ginLimitExceeded;
    std::strcpy(error.text, "refused by the test: 7 of 7 in use");
    reply_message(client, error);
    return true;
  }
  answer(client, type.value(), packet);
  return true;
}

void FakeGind::answer(Client& client, MessageType type, Packet& packet) {
  const std::uint32_t request = request_of(packet);
  switch (type) {
    case MessageType::kHello: {
      auto m = protocol::make_message<protocol::HelloReply>(MessageType::kHelloReply, request);
      m.segment_version = options_.segment_version;
      m.default_contexts = 4;
      m.default_signals = 64;
      m.default_counters = 64;
      m.default_barriers = 4;
      m.default_ring_units = 4096;
      m.max_outstanding = 1024;
      m.default_wait_ns = 60'000'000'000;
      m.rendezvous_ns = options_.rendezvous_ns;
      return reply_message(client, m);
    }
    case MessageType::kGetUniqueId: {
      auto m = protocol::make_message<protocol::UniqueIdReply>(MessageType::kUniqueId, request);
      std::memset(m.id, 0x5a, sizeof m.id);
      return reply_message(client, m);
    }
    case MessageType::kCommInit: {
      const auto in = protocol::parse<protocol::CommInit>(packet).value();
      client.nranks = in.nranks;
      auto m = protocol::make_message<protocol::CommReady>(MessageType::kCommReady, request);
      m.nranks = in.nranks;
      m.rank = in.rank;
      m.nodes = 1;
      m.ordered = 1;
      m.max_put_bytes = std::uint64_t{1} << 31;
      std::strcpy(m.transport, "loopback");
      std::strcpy(m.provider, "none");
      std::strcpy(m.signal_mode, "record");
      std::copy(options_.node_of_rank.begin(), options_.node_of_rank.end(), m.node_of_rank);
      return reply_message(client, m);
    }
    case MessageType::kWindowRegister: {
      last_window_ = protocol::parse<protocol::WindowRegister>(packet).value();
      const MemfdDemand demand{last_window_.offset, last_window_.bytes, false};
      require(check_memfd(packet.fds.at(0).get(), demand).ok(), "bad memfd");
      auto m = protocol::make_message<protocol::WindowReady>(MessageType::kWindowReady, request);
      m.window = client.windows++;
      return reply_message(client, m);
    }
    case MessageType::kDevCommCreate:
      return make_segment(client, packet, request);
    default:
      return reply_message(
          client, protocol::make_message<protocol::CommFinalize>(MessageType::kOk, request));
  }
}

void FakeGind::make_segment(Client& client, Packet& packet, std::uint32_t request) {
  const auto in = protocol::parse<protocol::DevCommCreate>(packet).value();
  const q::SegmentShape shape{in.contexts, static_cast<std::uint32_t>(client.nranks), in.ring_units,
                              in.signals, in.counters};
  const auto layout = q::layout_of(shape);
  const int fd = packet.fds.at(0).get();
  require(check_memfd(fd, {0, layout.total_bytes, true}).ok(), "bad control memfd");
  auto mapping = Mapping::map(fd, 0, layout.total_bytes);
  require(mapping.ok(), "map");
  require(check_populated(mapping.value()).ok(), "control memfd not populated");
  require(seal_for_good(fd).ok(), "seal");
  auto segment =
      std::make_unique<FakeSegment>(std::move(mapping).value(), shape, options_.ring_start);
  for (std::uint32_t c = 0; c < shape.contexts; ++c) {
    std::fill_n(segment->view.signals(c), shape.signals, options_.word_start);
    std::fill_n(segment->view.counters(c), shape.counters, options_.word_start);
  }
  q::publish_header(segment->view, shape);
  segment->view.header()->version = options_.header_version;
  segments_.push_back(std::move(segment));
  auto m = protocol::make_message<protocol::DevCommReady>(MessageType::kDevCommReady, request);
  m.dev_comm = ++client.dev_comms;
  reply_message(client, m);
}

void FakeGind::reply(Client& client, std::span<const std::byte> bytes) {
  (void)protocol::send_packet(client.socket.get(), bytes);
}

FakeSegment& FakeGind::segment() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::seconds(20), [&] { return !segments_.empty(); });
  return *segments_.at(segments_.size() - 1);
}

void FakeGind::send_event(ginResult_t code, int peer, std::uint32_t dev_comm, int context,
                          const std::string& text) {
  auto m = protocol::make_message<protocol::Event>(MessageType::kEvent, 0);
  m.code = code;
  m.peer = peer;
  m.dev_comm = dev_comm;
  m.context = context;
  std::strncpy(m.text, text.c_str(), sizeof m.text - 1);
  const std::lock_guard lock(mutex_);
  for (auto& [fd, client] : clients_) reply_message(client, m);
}

int FakeGind::connections() {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(clients_.size());
}

std::vector<MessageType> FakeGind::received() {
  const std::lock_guard lock(mutex_);
  return received_;
}

protocol::WindowRegister FakeGind::last_window() {
  const std::lock_guard lock(mutex_);
  return last_window_;
}

TestComm::TestComm(int nranks, int rank) {
  const ginUniqueId id{};
  require(ginCommInitRank(&comm, nranks, id, rank) == ginSuccess, ginGetLastError());
}

ginDevComm_t TestComm::device(ginSharing_t sharing, std::int64_t timeout_ns, int contexts) {
  ginDevCommRequirements_t r = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
  r.contexts = contexts;
  r.signals = 8;
  r.counters = 8;
  r.queueDepth = 64;
  r.sharing = sharing;
  r.timeoutNs = timeout_ns;
  ginDevComm_t d{};
  require(ginDevCommCreate(comm, &r, &d) == ginSuccess, ginGetLastError());
  return d;
}

ginWindow_t TestComm::window(std::size_t bytes, void** memory) {
  void* ptr = nullptr;
  require(ginMemAlloc(comm, &ptr, bytes, ginMemHost) == ginSuccess, ginGetLastError());
  ginWindow_t window{};
  require(ginCommWindowRegister(comm, ptr, bytes, &window, GIN_WIN_DEFAULT) == ginSuccess,
          ginGetLastError());
  if (memory != nullptr) *memory = ptr;
  return window;
}

bool last_error_has(const std::string& text) {
  return std::string(ginGetLastError()).find(text) != std::string::npos;
}

int count_open_fds() { return entries_of("/proc/self/fd"); }
int count_threads() { return entries_of("/proc/self/task"); }

}  // namespace gind::test
