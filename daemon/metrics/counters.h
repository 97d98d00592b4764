// SPDX-License-Identifier: Apache-2.0
// What a proxy thread counts.  Written by that thread alone with relaxed stores, read by the
// exporter at scrape: a scrape touches a hot line once and takes no lock.
#pragma once

#include "gin/queues/descriptor.h"

#include <array>
#include <atomic>
#include <cstdint>

namespace gind {

// Single-writer counter: a plain add, published with a relaxed store.
class HotCounter {
 public:
  void add(std::uint64_t n) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void set(std::uint64_t n) { value_.store(n, std::memory_order_relaxed); }
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Why a descriptor or a context was rejected; the label `reason` of
// gind_descriptors_rejected_total.  Enum and names agree by static_assert in counters.cc.
enum class RejectReason : std::uint8_t {
  kMalformed,  // reserved bits, unknown operation, unit count
  kPeer,
  kWindow,
  kOffset,
  kAlignment,
  kBytes,
  kSignal,
  kCounter,
  kPermission,
  kHole,
  kNotSupported,
  kContextInError,  // drained behind an earlier fault
  kCount_
};

// Why an operation failed after it was accepted; label of gind_operations_failed_total.
enum class FailReason : std::uint8_t { kTransport, kPeerGone, kTimeout, kTeardown, kCount_ };

// Upper bounds of gind_operation_duration_seconds' buckets, in nanoseconds; the last is +Inf.
inline constexpr std::array<std::uint64_t, 24> kDurationBoundsNs = {
    500,        1'000,       2'000,       3'000,       4'000,         6'000,
    8'000,      12'000,      16'000,      24'000,      32'000,        64'000,
    128'000,    256'000,     512'000,     1'000'000,   4'000'000,     16'000'000,
    64'000'000, 128'000'000, 256'000'000, 512'000'000, 1'000'000'000, 30'000'000'000};

struct HotHistogram {
  std::array<HotCounter, kDurationBoundsNs.size() + 1> bucket;
  HotCounter sum_ns;

  void observe(std::uint64_t ns) {
    std::size_t i = 0;
    while (i < kDurationBoundsNs.size() && ns > kDurationBoundsNs[i]) ++i;
    bucket[i].add(1);
    sum_ns.add(ns);
  }
};

inline constexpr std::size_t kOpSlots = 16;  // index: gin::queues::Op

struct alignas(64) ProxyCounters {
  std::array<HotCounter, kOpSlots> descriptors;  // accepted, by operation
  std::array<HotCounter, static_cast<std::size_t>(RejectReason::kCount_)> rejected;
  std::array<HotCounter, static_cast<std::size_t>(FailReason::kCount_)> failed;
  HotCounter bytes_out;                         // payload of puts and values handed to a transport
  HotCounter bytes_in;                          // of gets
  HotCounter bytes_local;                       // the part of it that stayed on this node
  HotCounter signals_applied;                   // by this thread, as the target
  HotCounter records_refused;                   // peers' records that name no signal of ours
  HotCounter outstanding;                       // gauge: operations accepted and not yet complete
  HotCounter backpressure;                      // posts a transport could not take at once
  HotCounter busy_ns;                           // loop turns that found work
  HotCounter idle_ns;                           // turns that found none
  HotCounter sleep_ns;                          // asleep on the fd or napping
  HotCounter cycle_max_ns;                      // gauge: longest turn
  HotCounter loops;                             // turns; the watchdog looks at it
  HotCounter contexts;                          // gauge
  std::array<HotHistogram, kOpSlots> duration;  // descriptor seen to local completion, by operation
};

// What the control thread counts and shows.  Atomics: read by the exporter's thread.
struct ControlCounters {
  std::atomic<std::uint64_t> clients{0};
  std::atomic<std::uint64_t> communicators{0};
  std::atomic<std::uint64_t> windows{0};
  std::atomic<std::uint64_t> pinned_bytes{0};
  std::atomic<std::uint64_t> peers_connected{0};
  std::atomic<std::uint64_t> peers_connecting{0};
  std::atomic<std::uint64_t> peer_link_failures{0};
  std::atomic<std::uint64_t> quarantined_bytes{0};
  std::atomic<std::uint64_t> disconnects_clean{0};
  std::atomic<std::uint64_t> disconnects_died{0};
  std::atomic<std::uint64_t> disconnects_protocol{0};
  std::atomic<std::uint64_t> handshake_rejected_version{0};
  std::atomic<std::uint64_t> handshake_rejected_timeout{0};
  std::atomic<std::uint64_t> handshake_rejected_malformed{0};
  std::atomic<std::uint64_t> handshake_rejected_limit{0};
};

}  // namespace gind
