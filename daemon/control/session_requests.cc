// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/session.h"
#include "daemon/control/version.h"
#include "daemon/log/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace gind {

using protocol::MessageType;
using protocol::Packet;

namespace {

std::uint32_t request_id(const Packet& packet) {
  protocol::MessageHeader header;
  std::memcpy(static_cast<void*>(&header), packet.bytes.data(), sizeof header);
  return header.request_id;
}

template <std::size_t N>
void copy_name(char (&to)[N], std::string_view text) {
  const std::size_t n = std::min(text.size(), N - 1);
  std::memcpy(to, text.data(), n);
  to[n] = '\0';
}

const char* type_name(MessageType type) {
  switch (type) {
    case MessageType::kHello:
      return "hello";
    case MessageType::kGetUniqueId:
      return "get unique id";
    case MessageType::kCommInit:
      return "comm init";
    case MessageType::kWindowRegister:
      return "window register";
    case MessageType::kWindowDeregister:
      return "window deregister";
    case MessageType::kWindowPeer:
      return "window peer";
    case MessageType::kWindowMapped:
      return "window mapped";
    case MessageType::kDevCommCreate:
      return "device communicator create";
    case MessageType::kDevCommDestroy:
      return "device communicator destroy";
    case MessageType::kCommFinalize:
      return "finalize";
    case MessageType::kMemoryFree:
      return "memory free";
    case MessageType::kGoodbye:
      return "goodbye";
    default:
      return "a message only gind sends";
  }
}

}  // namespace

void Session::handle(MessageType type, Packet packet) {
  const std::uint32_t id = request_id(packet);
  if (id == 0 && type != MessageType::kGoodbye) {
    return violation(
        {ginInvalidUsage, fmt::format("{}: request id 0 is gind's own", type_name(type))});
  }
  if (request_ != 0 && type != MessageType::kGoodbye) {
    return violation({ginInvalidUsage, fmt::format("{}: request {} is still in progress",
                                                   type_name(type), request_)});
  }
  const bool in_order = state_ == State::kHello ? type == MessageType::kHello
                        : state_ == State::kIdle
                            ? type == MessageType::kGetUniqueId || type == MessageType::kCommInit ||
                                  type == MessageType::kGoodbye
                        : state_ == State::kJoined ? type >= MessageType::kWindowRegister
                                                   : type == MessageType::kGoodbye;
  if (!in_order) {
    return violation({ginInvalidUsage, fmt::format("{} is not allowed now", type_name(type))});
  }
  request_ = id;
  switch (type) {
    case MessageType::kHello:
      return on_hello(packet);
    case MessageType::kGetUniqueId:
      return on_unique_id(packet);
    case MessageType::kCommInit:
      return on_comm_init(packet);
    case MessageType::kWindowRegister:
      return on_window_register(std::move(packet));
    case MessageType::kWindowDeregister:
      return on_window_deregister(packet);
    case MessageType::kWindowPeer:
      return on_window_peer(packet);
    case MessageType::kWindowMapped:
      return on_window_mapped(packet);
    case MessageType::kDevCommCreate:
      return on_dev_comm_create(std::move(packet));
    case MessageType::kDevCommDestroy:
      return on_dev_comm_destroy(packet);
    case MessageType::kCommFinalize:
      return on_finalize();
    case MessageType::kMemoryFree:
      return on_memory_free(packet);
    case MessageType::kGoodbye:
      return on_goodbye();
    default:
      return violation({ginInvalidUsage,
                        fmt::format("message type {} is no request", static_cast<unsigned>(type))});
  }
}

void Session::on_hello(const Packet& packet) {
  const auto hello = protocol::parse<protocol::Hello>(packet);
  if (!hello) return violation(hello.error());
  if (hello.value().segment_version != gin::queues::kSegmentVersion) {
    return violation({ginVersionMismatch,
                      fmt::format("the client's segment layout is version {}, gind's is {}: use a "
                                  "libginclient of gind's release",
                                  hello.value().segment_version, gin::queues::kSegmentVersion)});
  }
  state_ = State::kIdle;
  handshake_.cancel();
  auto message = protocol::make_message<protocol::HelloReply>(MessageType::kHelloReply, request_);
  const Config& config = node_.config;
  message.segment_version = gin::queues::kSegmentVersion;
  message.default_contexts = config.defaults.contexts;
  message.default_signals = config.defaults.signals;
  message.default_barriers = config.defaults.barriers;
  message.default_counters = config.defaults.counters;
  message.default_ring_units = config.defaults.ring_units;
  message.max_outstanding = config.limits.outstanding;
  message.default_wait_ns = static_cast<std::uint64_t>(config.defaults.wait.count());
  message.rendezvous_ns = static_cast<std::uint64_t>(config.timeouts.rendezvous.count());
  message.instance = node_.instance;
  copy_name(message.server_version, kVersion);
  reply(message);
}

void Session::on_unique_id(const Packet& packet) {
  if (const auto parsed = protocol::parse<protocol::GetUniqueId>(packet); !parsed) {
    return violation(parsed.error());
  }
  const auto id = node_.peers->create_unique_id();
  if (!id) return reply_error(request_, id.error());
  auto message = protocol::make_message<protocol::UniqueIdReply>(MessageType::kUniqueId, request_);
  static_assert(sizeof message.id == sizeof(UniqueIdBlob));
  std::memcpy(message.id, id.value().data(), sizeof message.id);
  reply(message);
}

void Session::on_comm_init(const Packet& packet) {
  const auto init = protocol::parse<protocol::CommInit>(packet);
  if (!init) return violation(init.error());
  const std::int32_t nranks = init.value().nranks;
  const std::int32_t rank = init.value().rank;
  if (nranks < 1 || nranks > static_cast<std::int32_t>(gin::queues::kMaxRanks)) {
    return reply_error(request_, {ginInvalidArgument, fmt::format("nranks {}: expected 1 to {}",
                                                                  nranks, gin::queues::kMaxRanks)});
  }
  if (rank < 0 || rank >= nranks) {
    return reply_error(request_, {ginInvalidArgument, fmt::format("rank {} of {}: expected 0 to {}",
                                                                  rank, nranks, nranks - 1)});
  }
  UniqueIdBlob blob;
  std::memcpy(blob.data(), init.value().id, blob.size());
  state_ = State::kJoining;
  node_.peers->join(blob, nranks, rank, identity_,
                    [self = shared_from_this(), request = request_,
                     rank](Result<std::shared_ptr<Membership>> membership) {
                      self->on_joined(request, rank, std::move(membership));
                    });
}

void Session::on_joined(std::uint32_t request, std::int32_t rank,
                        Result<std::shared_ptr<Membership>> membership) {
  if (!membership) {
    if (state_ == State::kClosed) return;
    state_ = State::kIdle;
    return reply_error(request, membership.error());
  }
  auto communicator = LocalCommunicator::of(node_, std::move(membership).value());
  std::weak_ptr<Session> weak = weak_from_this();
  rank_ = LocalRank::create(
      communicator, static_cast<std::uint32_t>(rank),
      [weak](const RankEvent& event) {
        if (auto self = weak.lock()) self->send_event(event);
      },
      [self = shared_from_this(), request, rank, communicator] {
        if (self->state_ == State::kClosed) return;
        self->state_ = State::kJoined;
        const Membership& m = communicator->membership();
        auto message =
            protocol::make_message<protocol::CommReady>(MessageType::kCommReady, request);
        message.nranks = m.nranks();
        message.rank = rank;
        message.nodes = static_cast<std::uint32_t>(m.nodes().size());
        const Transport* fabric = self->node_.fabric;
        const TransportCaps& caps =
            fabric != nullptr ? fabric->caps() : self->node_.loopback->caps();
        message.ordered = caps.signal_mode != SignalMode::kSequence;
        message.max_put_bytes = gin::queues::kMaxBytes;
        copy_name(message.transport, caps.name);
        copy_name(message.provider, caps.provider);
        copy_name(message.signal_mode, signal_mode_name(caps.signal_mode));
        std::copy(m.node_of_rank().begin(), m.node_of_rank().end(), message.node_of_rank);
        log_info(fmt::format("{} is rank {} of {} in comm {} ({} nodes)", self->who_, rank,
                             m.nranks(), m.label(), m.nodes().size()));
        self->reply(message);
      });
  if (state_ == State::kClosed) {  // the client went away while the others were awaited
    auto gone = std::move(rank_);
    gone->leave(ginRemoteError, "its process ended while it joined");
  }
}

void Session::on_window_register(Packet packet) {
  const auto message = protocol::parse<protocol::WindowRegister>(packet);
  if (!message) return violation(message.error());
  const auto& m = message.value();
  rank_->register_window(
      std::move(packet.fds[0]), m.offset, m.bytes, m.flags,
      [self = shared_from_this(), request = request_](const Result<std::uint32_t>& index) {
        if (self->state_ == State::kClosed) return;
        if (!index) return self->reply_error(request, index.error());
        auto ready =
            protocol::make_message<protocol::WindowReady>(MessageType::kWindowReady, request);
        ready.window = index.value();
        self->reply(ready);
      });
}

void Session::on_window_deregister(const Packet& packet) {
  const auto message = protocol::parse<protocol::WindowDeregister>(packet);
  if (!message) return violation(message.error());
  rank_->deregister_window(message.value().window, answer(request_));
}

void Session::on_window_peer(const Packet& packet) {
  const auto message = protocol::parse<protocol::WindowPeer>(packet);
  if (!message) return violation(message.error());
  const std::uint32_t request = request_;
  auto memory = rank_->peer_memory(message.value().window, message.value().peer);
  if (!memory) {
    request_ = 0;
    return reply_error(request, memory.error());
  }
  auto ready =
      protocol::make_message<protocol::WindowPeerReady>(MessageType::kWindowPeerReady, request);
  ready.offset = memory.value().offset;
  ready.bytes = memory.value().bytes;
  request_ = 0;
  send({reinterpret_cast<const char*>(&ready), sizeof ready}, std::move(memory.value().fd));
}

void Session::on_window_mapped(const Packet& packet) {
  const auto message = protocol::parse<protocol::WindowMapped>(packet);
  if (!message) return violation(message.error());
  rank_->finish_window(message.value().window, answer(request_));
}

void Session::on_dev_comm_create(Packet packet) {
  const auto message = protocol::parse<protocol::DevCommCreate>(packet);
  if (!message) return violation(message.error());
  gin::queues::SegmentShape shape;
  shape.contexts = message.value().contexts;
  shape.signals = message.value().signals;
  shape.counters = message.value().counters;
  shape.ring_units = message.value().ring_units;
  shape.ranks = rank_->nranks();
  rank_->create_dev_comm(
      shape, std::move(packet.fds[0]),
      [self = shared_from_this(), request = request_](const Result<std::uint32_t>& id) {
        if (self->state_ == State::kClosed) return;
        if (!id) return self->reply_error(request, id.error());
        auto ready =
            protocol::make_message<protocol::DevCommReady>(MessageType::kDevCommReady, request);
        ready.dev_comm = id.value();
        self->reply(ready);
      });
}

void Session::on_dev_comm_destroy(const Packet& packet) {
  const auto message = protocol::parse<protocol::DevCommDestroy>(packet);
  if (!message) return violation(message.error());
  rank_->destroy_dev_comm(message.value().dev_comm, answer(request_));
}

void Session::on_memory_free(const Packet& packet) {
  const auto message = protocol::parse<protocol::MemoryFree>(packet);
  if (!message) return violation(message.error());
  if (!rank_->forget_memory(message.value().inode)) {
    return reply_error(request_, {ginInvalidUsage, "a window still lies in this memory"});
  }
  reply_ok(request_);
}

void Session::on_finalize() { rank_->finalize(answer(request_)); }

void Session::on_goodbye() {
  reply_ok(request_);
  end(ginSuccess, {});
}

}  // namespace gind
