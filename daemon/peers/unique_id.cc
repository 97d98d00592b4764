// SPDX-License-Identifier: Apache-2.0
#include "daemon/peers/unique_id.h"

#include "daemon/peers/codec.h"
#include "daemon/peers/text.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>

namespace gind::peers {
namespace {

constexpr std::uint32_t kBlobMagic = 0x554e4947;  // "GINU"
constexpr std::uint16_t kBlobVersion = 1;
constexpr std::size_t kChecked = 124;  // bytes before the checksum

// CRC-32 (IEEE 802.3, reflected): the blob travels by hand, through files and scripts.
std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
  }
  return ~crc;
}

Error malformed(const std::string& why) {
  return {ginInvalidArgument, "malformed unique id: " + why +
                                  "; pass all 128 bytes of ginGetUniqueId to every rank unchanged"};
}

}  // namespace

Result<UniqueIdBlob> encode_unique_id(const UniqueId& id) {
  if (id.host.empty() || id.host.size() > kMaxBlobHost) {
    return Error{ginInvalidArgument, "peer.advertise \"" + printable(id.host, 300) + "\" has " +
                                         std::to_string(id.host.size()) + " bytes, expected 1 to " +
                                         std::to_string(kMaxBlobHost) + "; use an IP address"};
  }
  Writer w;
  w.number(kBlobMagic, "magic");
  w.number(kBlobVersion, "version");
  w.number(id.port, "port");
  w.number(id.instance, "instance");
  w.number(id.comm, "communicator");
  w.raw(id.secret, "secret");
  w.number(static_cast<std::uint8_t>(id.host.size()), "host length");
  std::string bytes = w.take() + id.host;
  bytes.resize(kChecked, '\0');
  Writer tail;
  tail.number(crc32(bytes), "checksum");
  bytes += tail.take();
  UniqueIdBlob blob{};
  std::copy(bytes.begin(), bytes.end(), blob.begin());
  return blob;
}

Result<UniqueId> decode_unique_id(const UniqueIdBlob& blob) {
  const std::string_view bytes(reinterpret_cast<const char*>(blob.data()), blob.size());
  UniqueId id;
  std::uint32_t magic = 0, checksum = 0;
  std::uint16_t version = 0;
  std::uint8_t length = 0;
  Reader r(bytes);
  r.number(magic, "magic");
  r.number(version, "version");
  r.number(id.port, "port");
  r.number(id.instance, "instance");
  r.number(id.comm, "communicator");
  r.raw(id.secret, "secret");
  r.number(length, "host length");
  Reader(bytes.substr(kChecked)).number(checksum, "checksum");
  if (magic != kBlobMagic) return malformed("it does not begin with GINU");
  if (version != kBlobVersion) {
    return Error{ginVersionMismatch,
                 "unique id has version " + std::to_string(version) + ", this gind reads version " +
                     std::to_string(kBlobVersion) + "; run the same release on all nodes"};
  }
  if (checksum != crc32(bytes.substr(0, kChecked))) return malformed("its checksum is wrong");
  const std::string_view host = bytes.substr(41, kMaxBlobHost);
  if (length == 0 || length > kMaxBlobHost) {
    return malformed("host length is " + std::to_string(length) + ", expected 1 to " +
                     std::to_string(kMaxBlobHost));
  }
  const bool clean = std::all_of(host.begin() + length, host.end(), [](char c) { return c == 0; });
  id.host = std::string(host.substr(0, length));
  if (!clean || !is_printable(id.host)) return malformed("its host is not text");
  if (id.port == 0) return malformed("its port is 0");
  return id;
}

bool same_secret(const Secret& a, const Secret& b) {
  volatile std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<std::uint8_t>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

Result<void> fill_random(void* data, std::size_t bytes) {
  auto* at = static_cast<std::uint8_t*>(data);
  while (bytes > 0) {
    const ssize_t n = ::getrandom(at, bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return system_error("getrandom", errno);
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return {};
}

}  // namespace gind::peers
