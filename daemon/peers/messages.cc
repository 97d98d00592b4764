// SPDX-License-Identifier: Apache-2.0
#include "daemon/peers/messages.h"

#include "daemon/peers/codec.h"

#include <algorithm>
#include <concepts>

namespace gind::peers {
namespace {

// M is T or const T: the same function reads and writes.
template <typename M, typename T>
concept Is = std::same_as<std::remove_const_t<M>, T>;

template <typename C, Is<NodeInfo> M>
void fields(C& c, M& m) {
  c.number(m.instance, "instance");
  c.text(m.name, kMaxName, "node name");
  c.text(m.transport, 31, "transport");
  c.text(m.provider, 63, "provider");
  c.text(m.signal_mode, 15, "signal mode");
  c.list(m.endpoints, kMaxEndpoints, "endpoints",
         [&](auto& e) { c.bytes(e, kMaxEndpointBytes, "endpoint address"); });
}

template <typename C, typename M>
requires Is<M, Hello> || Is<M, Welcome>
void fields(C& c, M& m) {
  c.number(m.instance, "instance");
  c.text(m.node_name, kMaxName, "node name");
}

template <typename C, Is<Refused> M>
void fields(C& c, M& m) {
  c.code(m.code);
  c.text(m.text, kMaxText, "text");
}

template <typename C, Is<Join> M>
void fields(C& c, M& m) {
  c.number(m.ticket, "ticket");
  c.number(m.comm, "communicator");
  c.raw(m.secret, "secret");
  c.number(m.nranks, "nranks");
  c.number(m.rank, "rank");
  c.text(m.identity, kMaxName, "identity");
  fields(c, m.node);
}

template <typename C, Is<JoinFailed> M>
void fields(C& c, M& m) {
  c.number(m.ticket, "ticket");
  c.code(m.code);
  c.text(m.text, kMaxText, "text");
}

template <typename C, Is<Ready> M>
void fields(C& c, M& m) {
  c.number(m.comm, "communicator");
  c.list(m.joined, kMaxRanks, "joined ranks", [&](auto& j) {
    c.number(j.ticket, "ticket");
    c.number(j.rank, "rank");
  });
  c.number(m.this_node, "this node");
  c.list(m.nodes, kMaxRanks, "nodes", [&](auto& n) { fields(c, n); });
  c.list(m.node_of_rank, kMaxRanks, "node of rank", [&](auto& n) { c.number(n, "node"); });
}

template <typename C, Is<Gather> M>
void fields(C& c, M& m) {
  c.number(m.comm, "communicator");
  c.number(m.rank, "rank");
  c.number(m.sequence, "sequence");
  auto kind = static_cast<std::uint16_t>(m.kind);
  c.number(kind, "kind");
  if constexpr (!std::is_const_v<M>) m.kind = static_cast<CollectiveKind>(kind);
  c.bytes(m.payload, kMaxGatherPayload, "payload");
}

template <typename C, Is<Gathered> M>
void fields(C& c, M& m) {
  c.number(m.comm, "communicator");
  c.number(m.sequence, "sequence");
  c.list(m.payloads, kMaxRanks, "payloads",
         [&](auto& p) { c.bytes(p, kMaxGatherPayload, "payload"); });
}

template <typename C, Is<GatherFailed> M>
void fields(C& c, M& m) {
  c.number(m.comm, "communicator");
  c.number(m.sequence, "sequence");
  c.code(m.code);
  c.text(m.text, kMaxText, "text");
}

template <typename C, Is<Gone> M>
void fields(C& c, M& m) {
  c.number(m.comm, "communicator");
  c.number(m.rank, "rank");
  c.code(m.code);
  c.text(m.reason, kMaxText, "reason");
}

template <typename C, typename M>
requires Is<M, Quiet> || Is<M, Released>
void fields(C& c, M& m) {
  c.number(m.comm, "communicator");
  c.number(m.rank, "rank");
}

template <typename C, Is<Leave> M>
void fields(C& c, M& m) {
  c.number(m.comm, "communicator");
}

constexpr std::size_t kJoinBytes = 8 + 8 + 16 + 4 + 4 + 2 + kMaxName + kMaxNodeInfo;
constexpr std::size_t kReadyBytes = 64 + kMaxRanks * (12 + kMaxNodeInfo + 2);
constexpr std::size_t kGatheredBytes = 64 + kMaxRanks * (2 + kMaxGatherPayload);
static_assert(kReadyBytes <= kMaxBody && kGatheredBytes <= kMaxBody);

struct TypeInfo {
  FrameType type;
  const char* name;
  bool dialler, acceptor;  // who may send it
  std::size_t max_body;
};

// By the index of the message in Message.
constexpr std::array<TypeInfo, std::variant_size_v<Message>> kTypes = {{
    {FrameType::kHello, "HELLO", true, false, 16 + kMaxName},
    {FrameType::kWelcome, "WELCOME", false, true, 16 + kMaxName},
    {FrameType::kRefused, "REFUSED", false, true, 16 + kMaxText},
    {FrameType::kJoin, "JOIN", true, false, kJoinBytes},
    {FrameType::kJoinFailed, "JOIN_FAILED", false, true, 32 + kMaxText},
    {FrameType::kReady, "READY", false, true, kReadyBytes},
    {FrameType::kGather, "GATHER", true, false, 32 + kMaxGatherPayload},
    {FrameType::kGathered, "GATHERED", false, true, kGatheredBytes},
    {FrameType::kGatherFailed, "GATHER_FAILED", false, true, 32 + kMaxText},
    {FrameType::kGone, "GONE", true, true, 32 + kMaxText},
    {FrameType::kQuiet, "QUIET", true, false, 16},
    {FrameType::kReleased, "RELEASED", false, true, 16},
    {FrameType::kLeave, "LEAVE", true, false, 16},
}};

// Values whose range the layout cannot hold; those that need context are the receiver's to check.
template <typename M>
Result<void> check(const M&) {
  return {};
}

template <>
Result<void> check(const Gather& m) {
  const auto kind = static_cast<std::uint16_t>(m.kind);
  if (kind < 1 || kind > 5) {
    return Error{ginInvalidArgument, "kind is " + std::to_string(kind) + ", expected 1 to 5"};
  }
  return {};
}

template <>
Result<void> check(const Join& m) {
  if (m.identity.empty()) return Error{ginInvalidArgument, "identity is empty"};
  return check_node_info(m.node);
}

template <>
Result<void> check(const Ready& m) {
  const bool fits =
      !m.nodes.empty() && m.this_node < m.nodes.size() && !m.node_of_rank.empty() &&
      std::all_of(m.node_of_rank.begin(), m.node_of_rank.end(),
                  [&](std::uint16_t n) { return n < m.nodes.size(); }) &&
      std::all_of(m.joined.begin(), m.joined.end(), [&](const Ready::Joined& j) {
        return j.rank < m.node_of_rank.size() && m.node_of_rank[j.rank] == m.this_node;
      });
  if (!fits) return Error{ginInvalidArgument, "a node or rank is out of its table's range"};
  return {};
}

template <std::size_t I>
Result<Message> decode_as(std::string_view body) {
  std::variant_alternative_t<I, Message> m;
  Reader reader(body);
  fields(reader, m);
  if (auto done = reader.finish(kTypes[I].name); !done) return done.error();
  if (auto good = check(m); !good) return good.error().with_context(kTypes[I].name);
  return Message(std::in_place_index<I>, std::move(m));
}

template <std::size_t... I>
Result<Message> decode_index(std::size_t index, std::string_view body, std::index_sequence<I...>) {
  Result<Message> result = Error{ginInvalidArgument, "unknown message"};
  (void)((index == I ? (result = decode_as<I>(body), true) : false) || ...);
  return result;
}

std::size_t index_of(FrameType type) {
  const auto it =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeInfo& t) { return t.type == type; });
  return static_cast<std::size_t>(it - kTypes.begin());
}

}  // namespace

std::string encode(const Message& message) {
  Writer body;
  std::visit([&](const auto& m) { fields(body, m); }, message);
  const std::string bytes = body.take();
  Writer frame;
  frame.number(kPeerMagic, "magic");
  frame.number(kPeerVersion, "version");
  frame.number(static_cast<std::uint16_t>(kTypes[message.index()].type), "type");
  frame.number(static_cast<std::uint32_t>(bytes.size()), "size");
  frame.number(std::uint32_t{0}, "reserved");
  return frame.take() + bytes;
}

Result<FrameHeader> parse_header(std::string_view header, Side sender) {
  Reader reader(header);
  std::uint32_t magic = 0, reserved = 0;
  std::uint16_t type = 0;
  FrameHeader h;
  reader.number(magic, "magic");
  reader.number(h.version, "version");
  reader.number(type, "type");
  reader.number(h.size, "size");
  reader.number(reserved, "reserved");
  if (auto done = reader.finish("frame header"); !done) return done.error();
  if (magic != kPeerMagic) return Error{ginInvalidArgument, "not gind's peer protocol (bad magic)"};
  if (h.version != kPeerVersion) {
    return Error{ginVersionMismatch, "the other gind speaks peer protocol version " +
                                         std::to_string(h.version) + ", this one version " +
                                         std::to_string(kPeerVersion) +
                                         "; run the same release on all nodes"};
  }
  h.type = static_cast<FrameType>(type);
  const std::size_t index = index_of(h.type);
  if (index == kTypes.size()) {
    return Error{ginInvalidArgument, "unknown message type " + std::to_string(type)};
  }
  const TypeInfo& info = kTypes[index];
  if (!(sender == Side::kDialler ? info.dialler : info.acceptor)) {
    return Error{ginInvalidArgument, std::string(info.name) + " goes the other way only"};
  }
  if (h.size > info.max_body) {
    return Error{ginInvalidArgument, std::string(info.name) + " of " + std::to_string(h.size) +
                                         " bytes, at most " + std::to_string(info.max_body) +
                                         " are allowed"};
  }
  if (reserved != 0) return Error{ginInvalidArgument, "reserved header field is not zero"};
  return h;
}

Result<Message> decode(FrameType type, std::string_view body) {
  return decode_index(index_of(type), body,
                      std::make_index_sequence<std::variant_size_v<Message>>());
}

Result<void> check_node_info(const NodeInfo& info) {
  Writer writer;
  fields(writer, info);
  const std::string bytes = writer.take();
  NodeInfo back;
  Reader reader(bytes);
  fields(reader, back);
  if (auto done = reader.finish("this node's information"); !done) return done.error();
  if (bytes.size() > kMaxNodeInfo) {
    return Error{ginLimitExceeded, "this node's information takes " + std::to_string(bytes.size()) +
                                       " bytes, the peer protocol allows " +
                                       std::to_string(kMaxNodeInfo) +
                                       "; use fewer proxy threads (proxy.threads)"};
  }
  if (back.name != info.name || back.transport != info.transport ||
      back.provider != info.provider || back.signal_mode != info.signal_mode) {
    return Error{ginInvalidArgument,
                 "node name, transport, provider or signal mode is too long for the peer protocol "
                 "or holds control characters (node name: at most " +
                     std::to_string(kMaxName) + " bytes)"};
  }
  return {};
}

}  // namespace gind::peers
