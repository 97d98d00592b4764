// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/proxy/record.h"
#include "gind/transports/transport.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gind {

// The way from one proxy thread to one remote endpoint: requests are staged here in order and
// handed to the endpoint in batches.  A provider that takes no more leaves them staged, so that
// back-pressure of one peer blocks no other.  Used by its proxy thread only.
class PeerChannel {
 public:
  static constexpr std::uint32_t kStaged = 128;
  // Requests the provider may hold for one peer, so that a stuck one cannot fill its queue.
  static constexpr std::uint32_t kInFlight = 512;
  static constexpr std::uint64_t kInFlightBytes = 16ull << 20;
  // In the queue's place of a request id: an acknowledgement, which no operation waits for; the
  // channel's number is then in the slot's place.
  static constexpr std::uint64_t kAckQueue = 0xffff;

  PeerChannel(Endpoint& endpoint, PeerHandle peer, SignalMode mode, bool local,
              std::uint16_t number)
      : endpoint_(endpoint), peer_(peer), mode_(mode), local_(local), number_(number) {}

  std::uint64_t ack_id(std::uint64_t bytes) const {
    return kAckQueue << 48 | static_cast<std::uint64_t>(number_) << 32 | bytes;
  }
  std::uint16_t number() const { return number_; }

  SignalMode signal_mode() const { return mode_; }
  bool local() const { return local_; }  // stays on this node (loopback)
  PeerHandle peer() const { return peer_; }
  Endpoint& endpoint() const { return endpoint_; }

  // Room for `n` more, with regard to the peer's share of the provider's queue.
  bool has_room(std::uint32_t n) const {
    return tail_ - head_ + n <= kStaged && in_flight_ + (tail_ - head_) + n <= kInFlight &&
           in_flight_bytes_ < kInFlightBytes;
  }
  // An acknowledgement may use the last places, since it frees others.
  bool has_room_for_ack() const { return tail_ - head_ < kStaged; }

  void stage_write(const WorkRequest& request);
  // The payload (at most kMaxSendBytes) is copied.
  void stage_inline(WorkRequest request, const void* payload, std::uint32_t bytes);
  void stage_record(const WireRecord& record, std::uint64_t id);
  void stage_word(const WireRecord& record, const WireWord& word, std::uint64_t id);
  // record.bytes of data behind it.
  void stage_small_put(const WireRecord& record, const void* data, std::uint64_t id);

  // Hands over what is staged; true when anything was taken.
  bool flush();
  bool idle() const { return head_ == tail_; }
  void completed(std::uint64_t bytes) {
    --in_flight_;
    in_flight_bytes_ -= bytes;
  }
  // Takes the staged requests for which `drop(id)` says so out again, in order.
  void purge(const std::function<bool(std::uint64_t id)>& drop);

  std::uint64_t in_flight() const { return in_flight_; }
  bool listed = false;           // is in the proxy's list of channels to flush
  std::uint32_t references = 0;  // contexts that use it

 private:
  using Payload = std::array<std::uint8_t, kMaxSendBytes>;
  struct Staged {
    std::array<WorkRequest, kStaged> request;
    std::array<Payload, kStaged> payload;
  };
  WorkRequest& next();

  Endpoint& endpoint_;
  PeerHandle peer_;
  SignalMode mode_;
  bool local_;
  std::uint16_t number_;
  std::unique_ptr<Staged> staged_ = std::make_unique<Staged>();
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t in_flight_ = 0;
  std::uint64_t in_flight_bytes_ = 0;
};

}  // namespace gind
