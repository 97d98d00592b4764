// SPDX-License-Identifier: Apache-2.0
// What the sender of one stream does, and where.  A stream is what one rank sends to one rank
// through one context; both sides and the checker compute operation i of it by themselves.  For
// hosts and kernels.
#pragma once

#include "gin/device.cuh"

#include <cstdint>

namespace gind::test::order {

inline constexpr std::uint64_t kWindow = 64;        // operations that are not confirmed, at most
inline constexpr std::uint64_t kSlotBytes = 16384;  // of the largest put
inline constexpr std::uint64_t kSources = 8;        // source buffers of a stream

enum class Kind : std::uint8_t { kPut, kPutValue, kSignal, kFetchAdd, kGet, kQuiet };

// Which word of the receiver an operation adds to.  All but kMixed add 2^(i mod 64): within a
// window that tells exactly whose increments have arrived, and a lost or doubled one shows.
enum class Word : std::uint8_t {
  kStrong,    // a signal, strong
  kMixed,     // a signal, strong; increments and additions mixed
  kVaStrong,  // a word of the window
  kFetched,   // a word of the window that fetchAdd adds to
  kWeak,      // a signal, weak
  kVaWeak,    // a word of the window, weak
  kNone,
};
inline constexpr int kWords = 6;
inline constexpr int kStrongWords = 4;  // the first ones

// How the sender learns that the source of a put may be reused.
enum class Reuse : std::uint8_t { kCounter, kFlush, kRequest };

struct Step {
  Kind kind;
  Word word;
  Reuse reuse;
  std::uint64_t addend;
  std::uint64_t bytes;  // of data that lands in slot i mod kWindow; 0: none
};

GIN_HOST_DEVICE inline std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

struct Stream {
  std::uint64_t seed = 0;
  std::uint32_t source = 0;
  std::uint32_t target = 0;
  std::uint32_t context = 0;

  GIN_HOST_DEVICE std::uint64_t base() const {
    return mix(seed * 0x9e3779b97f4a7c15ULL + (std::uint64_t{source} << 40) +
               (std::uint64_t{target} << 20) + context + 1);
  }
  GIN_HOST_DEVICE Step step(std::uint64_t i) const {
    const std::uint64_t h = mix(base() + i * 0x9e3779b97f4a7c15ULL);
    const auto draw = [h](unsigned shift, unsigned n) { return (h >> shift & 0xffff) % n; };
    Step s{};
    s.word = Word::kNone;
    s.reuse = draw(0, 16) == 0   ? Reuse::kFlush
              : draw(0, 16) < 10 ? Reuse::kCounter
                                 : Reuse::kRequest;
    const auto kind = draw(16, 32);
    s.kind = kind < 18   ? Kind::kPut
             : kind < 22 ? Kind::kPutValue
             : kind < 27 ? Kind::kSignal
             : kind < 29 ? Kind::kFetchAdd
             : kind < 31 ? Kind::kGet
                         : Kind::kQuiet;
    if (s.kind == Kind::kPutValue) s.bytes = 8;
    if (s.kind == Kind::kPut || s.kind == Kind::kGet) {
      const auto size = draw(32, 64);
      s.bytes = size == 0   ? kSlotBytes
                : size < 6  ? 1024 + 8 * draw(40, 384)
                : size < 40 ? 8 + 8 * draw(40, 4)
                            : 40 + 8 * draw(40, 56);
    }
    if (s.kind == Kind::kFetchAdd) s.word = Word::kFetched;
    if (s.kind == Kind::kPut || s.kind == Kind::kPutValue || s.kind == Kind::kSignal) {
      constexpr Word kChoice[8] = {Word::kStrong, Word::kMixed,  Word::kVaStrong, Word::kWeak,
                                   Word::kWeak,   Word::kVaWeak, Word::kNone,     Word::kNone};
      s.word = kChoice[draw(48, s.kind == Kind::kSignal ? 6 : 8)];
    }
    s.addend = s.word == Word::kMixed ? (draw(44, 2) == 0 ? 1 : 1 + draw(44, 1000))
                                      : std::uint64_t{1} << i % 64;
    return s;
  }
  // Word w of operation i's data; never 0, and never that of another operation.
  GIN_HOST_DEVICE std::uint64_t stamp(std::uint64_t i, std::uint64_t w) const {
    return mix(base() ^ (i << 16) ^ w) | 1;
  }
  // Word w of what rank `owner` keeps for gets.
  GIN_HOST_DEVICE static std::uint64_t kept(std::uint64_t seed, std::uint32_t owner,
                                            std::uint64_t w) {
    return mix(seed ^ (std::uint64_t{owner} << 32) ^ w) | 2;
  }
};

// Where things are in every rank's window.
struct Layout {
  std::uint32_t ranks = 0;
  std::uint32_t contexts = 0;

  // As the target: VA words, then slots.  As the source: sources, then where gets and old values
  // come.
  static constexpr std::uint64_t kHeader = 128;
  static constexpr std::uint64_t kArrivals = kHeader + kWindow * kSlotBytes;
  static constexpr std::uint64_t kDeparture = (kSources + 1) * kSlotBytes + 128;

  GIN_HOST_DEVICE std::uint64_t streams() const { return std::uint64_t{ranks} * contexts; }
  GIN_HOST_DEVICE std::uint64_t number(std::uint32_t peer, std::uint32_t context) const {
    return std::uint64_t{context} * ranks + peer;
  }
  GIN_HOST_DEVICE std::uint64_t va(std::uint32_t source, std::uint32_t context, Word word) const {
    const std::uint64_t place = word == Word::kVaStrong ? 0 : word == Word::kFetched ? 64 : 8;
    return number(source, context) * kArrivals + place;
  }
  GIN_HOST_DEVICE std::uint64_t slot(std::uint32_t source, std::uint32_t context,
                                     std::uint64_t i) const {
    return number(source, context) * kArrivals + kHeader + i % kWindow * kSlotBytes;
  }
  GIN_HOST_DEVICE std::uint64_t departure(std::uint32_t target, std::uint32_t context) const {
    return streams() * kArrivals + number(target, context) * kDeparture;
  }
  GIN_HOST_DEVICE std::uint64_t buffer(std::uint32_t target, std::uint32_t context,
                                       std::uint64_t k) const {
    return departure(target, context) + k * kSlotBytes;
  }
  GIN_HOST_DEVICE std::uint64_t landing(std::uint32_t target, std::uint32_t context) const {
    return buffer(target, context, kSources);
  }
  GIN_HOST_DEVICE std::uint64_t old_value(std::uint32_t target, std::uint32_t context) const {
    return landing(target, context) + kSlotBytes;
  }
  GIN_HOST_DEVICE std::uint64_t kept() const { return departure(0, contexts); }
  GIN_HOST_DEVICE std::uint64_t bytes() const { return kept() + kSlotBytes; }

  // Signals of a context, by the rank that adds to them.
  static constexpr std::uint32_t kSignalsOfPeer = 5;
  GIN_HOST_DEVICE static ginSignal_t signal(std::uint32_t peer, Word word) {
    return peer * kSignalsOfPeer + (word == Word::kStrong  ? 0
                                    : word == Word::kMixed ? 1
                                                           : 2);  // else kWeak
  }
  // How many operations a quiet of the context before this one stands behind.
  GIN_HOST_DEVICE static ginSignal_t quiet(std::uint32_t peer) { return peer * kSignalsOfPeer + 3; }
  // How many operations the receiver has confirmed to this rank.
  GIN_HOST_DEVICE static ginSignal_t confirmed(std::uint32_t peer) {
    return peer * kSignalsOfPeer + 4;
  }
  GIN_HOST_DEVICE std::uint32_t signals() const { return ranks * kSignalsOfPeer; }
  GIN_HOST_DEVICE static std::uint32_t counter(std::uint32_t peer, std::uint64_t k) {
    return peer * static_cast<std::uint32_t>(kSources) + static_cast<std::uint32_t>(k);
  }
  GIN_HOST_DEVICE std::uint32_t counters() const {
    return ranks * static_cast<std::uint32_t>(kSources);
  }
};

// What one side of a stream works with.
struct Place {
  ginDevComm_t comm;
  ginWindow_t window;
  Layout layout;
  Stream stream;
  std::uint64_t operations = 0;

  GIN_HOST_DEVICE std::uint64_t* at(std::uint64_t offset) const {
    return reinterpret_cast<std::uint64_t*>(window.base + offset);
  }
};

}  // namespace gind::test::order
