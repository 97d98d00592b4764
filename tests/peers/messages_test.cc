// SPDX-License-Identifier: Apache-2.0
#include "daemon/peers/messages.h"

#include "daemon/peers/unique_id.h"
#include "tests/peers/cluster.h"

#include <gtest/gtest.h>

#include <random>

namespace gind::peers {
namespace {

using test::Cluster;

std::vector<Message> samples() {
  Ready ready;
  ready.comm = 7;
  ready.joined = {{1, 0}, {2, 2}};
  ready.this_node = 0;
  ready.nodes = {Cluster::node_info(0), Cluster::node_info(1)};
  ready.node_of_rank = {0, 1, 0};
  return {Hello{1, "a"},
          Welcome{2, "b"},
          Refused{ginLimitExceeded, "full"},
          Join{1, 2, {3, 4}, 4, 1, "alice", Cluster::node_info(0)},
          JoinFailed{1, ginTimeout, "late"},
          ready,
          Gather{7, 1, 9, CollectiveKind::kFinalize, std::string("\0x\xff", 3)},
          Gathered{7, 9, {"a", "", "ccc"}},
          GatherFailed{7, 9, ginRemoteError, "gone"},
          Gone{7, 2, ginSuccess, "left"},
          Quiet{7, 2},
          Released{7, 2},
          Leave{7}};
}

Result<Message> decode_frame(const std::string& frame) {
  const std::string_view all(frame);
  const auto header = all.substr(0, kHeaderBytes);
  auto parsed = parse_header(header, Side::kDialler);
  if (!parsed) parsed = parse_header(header, Side::kAcceptor);
  if (!parsed) return parsed.error();
  if (parsed.value().size != all.size() - kHeaderBytes) return Error{ginInvalidArgument, "size"};
  return decode(parsed.value().type, all.substr(kHeaderBytes));
}

TEST(PeerMessages, EveryMessageSurvivesTheWire) {
  const auto all = samples();
  ASSERT_EQ(all.size(), std::variant_size_v<Message>);
  for (const auto& message : all) {
    const std::string frame = encode(message);
    const auto back = decode_frame(frame);
    ASSERT_TRUE(back.ok()) << message.index() << ": " << back.error().message;
    EXPECT_EQ(back.value().index(), message.index());
    EXPECT_EQ(encode(back.value()), frame);
  }
}

TEST(PeerMessages, ShortBodiesAndTrailingBytesAreRefused) {
  for (const auto& message : samples()) {
    const std::string frame = encode(message);
    const auto type = parse_header(frame.substr(0, kHeaderBytes), Side::kDialler).ok()
                          ? parse_header(frame.substr(0, kHeaderBytes), Side::kDialler)
                          : parse_header(frame.substr(0, kHeaderBytes), Side::kAcceptor);
    const std::string body = frame.substr(kHeaderBytes);
    for (std::size_t n = 0; n < body.size(); ++n) {
      EXPECT_FALSE(decode(type.value().type, body.substr(0, n)).ok()) << message.index();
    }
    EXPECT_FALSE(decode(type.value().type, body + '\0').ok()) << message.index();
  }
}

TEST(PeerMessages, HeaderFaultsAreNamed) {
  const std::string good = encode(Hello{1, "a"}).substr(0, kHeaderBytes);
  const auto with = [&](std::size_t at, char value) {
    std::string h = good;
    h[at] = value;
    return parse_header(h, Side::kDialler);
  };
  EXPECT_TRUE(parse_header(good, Side::kDialler).ok());
  test::expect_has(with(0, 'X').error().message, {"not gind's peer protocol"});
  EXPECT_EQ(with(4, 9).error().code, ginVersionMismatch);
  test::expect_has(with(4, 9).error().message,
                   {"version 9", "version " + std::to_string(kPeerVersion)});
  test::expect_has(with(6, 99).error().message, {"unknown message type 99"});
  test::expect_has(with(10, 1).error().message, {"HELLO of 655", "at most 271"});
  test::expect_has(with(12, 1).error().message, {"reserved"});
  test::expect_has(parse_header(good, Side::kAcceptor).error().message, {"the other way"});
}

TEST(PeerMessages, ValuesOutOfRangeAreRefused) {
  Ready ready = std::get<Ready>(samples()[5]);
  ready.node_of_rank[1] = 2;
  EXPECT_FALSE(decode_frame(encode(ready)).ok());
  ready = std::get<Ready>(samples()[5]);
  ready.joined[0].rank = 1;  // a rank of the other node
  EXPECT_FALSE(decode_frame(encode(ready)).ok());
  EXPECT_FALSE(decode_frame(encode(Gather{1, 1, 1, static_cast<CollectiveKind>(6), ""})).ok());
  std::string gone = encode(Gone{1, 1, ginSuccess, ""});
  gone[kHeaderBytes + 12] = 99;  // its code
  test::expect_has(decode_frame(gone).error().message, {"code is 99"});
  EXPECT_FALSE(decode_frame(encode(Join{1, 2, {}, 4, 1, "", Cluster::node_info(0)})).ok());
}

TEST(PeerMessages, ControlCharactersNeverTravelInText) {
  const auto sent = decode_frame(encode(Gone{1, 1, ginSuccess, "a\nb\x1b"}));
  ASSERT_TRUE(sent.ok());
  EXPECT_EQ(std::get<Gone>(sent.value()).reason, "a?b?");
  std::string forged = encode(Gone{1, 1, ginSuccess, "a?b"});
  forged[forged.size() - 2] = '\n';
  test::expect_has(decode_frame(forged).error().message, {"reason holds control characters"});
}

TEST(PeerMessages, LargestTablesFitTheirBound) {
  Ready ready;
  Gathered gathered;
  NodeInfo big = Cluster::node_info(0);
  big.name = std::string(kMaxName, 'n');
  while (check_node_info(big).ok()) big.endpoints.push_back(std::vector<std::uint8_t>(64));
  big.endpoints.pop_back();
  for (std::size_t r = 0; r < kMaxRanks; ++r) {
    ready.nodes.push_back(big);
    ready.node_of_rank.push_back(static_cast<std::uint16_t>(r));
    gathered.payloads.emplace_back(kMaxGatherPayload, 'p');
  }
  EXPECT_TRUE(decode_frame(encode(ready)).ok());
  EXPECT_TRUE(decode_frame(encode(gathered)).ok());
}

TEST(PeerMessages, MutatedFramesAreRefusedOrWholeButNeverHarm) {
  std::mt19937 random(20240607);
  const auto all = samples();
  for (int i = 0; i < 40000; ++i) {
    std::string frame = encode(all[random() % all.size()]);
    const int edits = 1 + static_cast<int>(random() % 4);
    for (int e = 0; e < edits && !frame.empty(); ++e) {
      const std::size_t at = random() % frame.size();
      switch (random() % 4) {
        case 0:
          frame[at] = static_cast<char>(random());
          break;
        case 1:
          frame.erase(at, 1 + random() % 8);
          break;
        case 2:
          frame.insert(at, 1 + random() % 8, static_cast<char>(random()));
          break;
        default:
          frame[at] = static_cast<char>(frame[at] ^ (1 << (random() % 8)));
      }
    }
    const auto decoded = decode_frame(frame);
    // What is accepted is exactly what its meaning encodes to: nothing is hidden in it.
    if (decoded) {
      EXPECT_EQ(encode(decoded.value()), frame);
    }
  }
}

TEST(PeerUniqueId, SurvivesTheBlobAndEveryFlippedBitIsFound) {
  UniqueId id;
  id.host = "fd00::1";
  id.port = 9407;
  id.instance = 42;
  id.comm = 43;
  id.secret = {1, 2, 3};
  auto blob = encode_unique_id(id);
  ASSERT_TRUE(blob.ok());
  const auto back = decode_unique_id(blob.value());
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back.value().host, id.host);
  EXPECT_EQ(back.value().port, id.port);
  EXPECT_EQ(back.value().instance, id.instance);
  EXPECT_EQ(back.value().comm, id.comm);
  EXPECT_EQ(back.value().secret, id.secret);
  for (std::size_t bit = 0; bit < 8 * blob.value().size(); ++bit) {
    auto bad = blob.value();
    bad[bit / 8] = static_cast<std::uint8_t>(bad[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(decode_unique_id(bad).ok()) << "bit " << bit;
  }
}

TEST(PeerUniqueId, MalformedBlobsSayWhatIsWrong) {
  test::expect_has(decode_unique_id(UniqueIdBlob{}).error().message,
                   {"malformed unique id", "GINU", "128 bytes"});
  UniqueId id;
  id.port = 1;
  id.host = std::string(84, 'h');
  test::expect_has(encode_unique_id(id).error().message, {"peer.advertise", "84", "1 to 83"});
  id.host = "h";
  auto blob = encode_unique_id(id).value();
  blob[4] = 3;
  EXPECT_EQ(decode_unique_id(blob).error().code, ginVersionMismatch);
  test::expect_has(decode_unique_id(blob).error().message, {"version 3", "version 1"});
}

}  // namespace
}  // namespace gind::peers
