// SPDX-License-Identifier: Apache-2.0
#include "peer_part.h"

#include "gin/queues/platform.h"

#include <string>
#include <thread>

namespace gind::client {

Result<PeerPart> PeerPart::fetch(Connection& connection, std::uint32_t window, int rank,
                                 std::chrono::steady_clock::time_point deadline) {
  using protocol::MessageType;
  auto request = protocol::make_message<protocol::WindowPeer>(MessageType::kWindowPeer, 0);
  request.window = window;
  request.peer = rank;
  for (;;) {
    Fd fd;
    auto reply = connection.call_for_fd<protocol::WindowPeerReady>(
        request, MessageType::kWindowPeerReady, kPlainTimeout, &fd);
    if (reply) {
      PeerPart part;
      part.offset_ = reply.value().offset;
      part.bytes_ = reply.value().bytes;
      if (part.bytes_ == 0) return part;
      const std::uint64_t whole =
          gin::queues::align_up(part.offset_ + part.bytes_, gin::queues::kPage);
      auto mapping = Mapping::map(fd.get(), 0, whole);
      if (!mapping) {
        return mapping.error().with_context("the window of rank " + std::to_string(rank));
      }
      part.mapping_ = std::move(mapping).value();
      return part;
    }
    const bool early = reply.error().code == ginInProgress;
    if (!early || std::chrono::steady_clock::now() > deadline) return reply.error();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Result<void> PeerPart::map_into(Gpu& gpu) {
  if (bytes_ == 0 || gpu_) return {};
  auto mapped = gpu.map(mapping_.data(), mapping_.size());
  if (!mapped) return mapped.error();
  if (mapped.value().device_address() != reinterpret_cast<std::uint64_t>(mapping_.data())) {
    return Error{ginNotSupported, "GPU " + std::to_string(gpu.ordinal()) +
                                      " sees a peer's memory at another address than the host"};
  }
  gpu_ = std::move(mapped).value();
  return {};
}

void* PeerPart::data() const {
  return bytes_ == 0 ? nullptr : static_cast<char*>(mapping_.data()) + offset_;
}

}  // namespace gind::client
