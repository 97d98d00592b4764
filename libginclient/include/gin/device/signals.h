// SPDX-License-Identifier: Apache-2.0
// Signals (by index and by address), their shadows, and counters.
#pragma once

#include "gin/device/actions.h"
#include "gin/device/coop.h"
#include "gin/device/status.h"
#include "gin/device/words.h"

#include <cstdint>

namespace gin::device {

template <typename Self>
class Signals {
 public:
  // The low `bits` bits (1..64) of what has been added to a signal since its last reset.
  GIN_HOST_DEVICE ginResult_t readSignal(ginSignal_t signal, std::uint64_t* value,
                                         int bits = 64) const {
    const ginResult_t checked = check(ginCoopThread{}, kSignal, signal, bits);
    if (checked == ginSuccess) *value = self().signals_.since_reset(signal, bits);
    return checked;
  }
  // The same; 0 on bad use.
  GIN_HOST_DEVICE std::uint64_t readSignal(ginSignal_t signal, int bits = 64) const {
    std::uint64_t value = 0;
    readSignal(signal, &value, bits);
    return value;
  }

  // Waits until the signal has reached `least`, compared in its low `bits` bits by rolling
  // comparison: the two must be less than 2^(bits-1) apart.  What the signal vouches for is then
  // visible to all threads of the coop.
  template <typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t waitSignal(Coop coop, ginSignal_t signal, std::uint64_t least,
                                         int bits = 64, ginWaitOptions options = {}) const {
    const ginResult_t checked = check(coop, kSignal, signal, bits);
    if (checked != ginSuccess) return checked;
    return self().elect(coop, [&]() -> ginResult_t {
      std::uint64_t seen = 0;
      const ginResult_t waited =
          self().signals_.wait(signal, least, bits, self().limits(options), &seen);
      return self().tell(options, waited, ginWaitKindSignal, -1, signal, 0, least, seen);
    });
  }

  // The signal counts from 0 again, and its shadow is 0.  Nobody may be waiting for it; what
  // arrives at the same time may count before or after.
  GIN_HOST_DEVICE ginResult_t resetSignal(ginSignal_t signal) const {
    const ginResult_t checked = check(ginCoopThread{}, kSignal, signal, 64);
    if (checked != ginSuccess) return checked;
    self().signals_.reset(signal);
    queues::store_relaxed_gpu<std::uint64_t>(&self().signals_.shadows[signal], 0);
    return ginSuccess;
  }

  // Each signal has a shadow, a word of this rank's own that only increaseSignalShadow,
  // waitSignalFollowShadow and resetSignal change, and the caller as it likes.  Null on bad use.
  GIN_HOST_DEVICE std::uint64_t* getSignalShadowPtr(ginSignal_t signal) const {
    const bool fine = check(ginCoopThread{}, kSignal, signal, 64) == ginSuccess;
    return fine ? &self().signals_.shadows[signal] : nullptr;
  }
  GIN_HOST_DEVICE ginResult_t increaseSignalShadow(ginSignal_t signal, std::uint64_t delta) const {
    const ginResult_t checked = check(ginCoopThread{}, kSignal, signal, 64);
    if (checked == ginSuccess) queues::fetch_add_gpu(&self().signals_.shadows[signal], delta);
    return checked;
  }
  // Waits until the signal has reached its shadow.
  template <typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t waitSignalMeetShadow(Coop coop, ginSignal_t signal, int bits = 64,
                                                   ginWaitOptions options = {}) const {
    const ginResult_t checked = check(coop, kSignal, signal, bits);
    if (checked != ginSuccess) return checked;
    return self().elect(coop, [&]() -> ginResult_t {
      const std::uint64_t least = queues::load_relaxed_gpu(&self().signals_.shadows[signal]);
      std::uint64_t seen = 0;
      const ginResult_t waited =
          self().signals_.wait(signal, least, bits, self().limits(options), &seen);
      return self().tell(options, waited, ginWaitKindSignal, -1, signal, 0, least, seen);
    });
  }
  // Waits until the signal is at least `leastDelta` ahead of its shadow, then brings the shadow up
  // to it.  *before: the shadow as it was, *delta: how far it went, both of the low `bits` bits.
  template <typename Coop, typename Uint>
  GIN_HOST_DEVICE ginResult_t waitSignalFollowShadow(Coop coop, ginSignal_t signal, Uint leastDelta,
                                                     Uint* before, Uint* delta, int bits = 64,
                                                     ginWaitOptions options = {}) const {
    const ginResult_t checked = check(coop, kSignal, signal, bits);
    if (checked != ginSuccess) return checked;
    std::uint64_t was = 0;
    std::uint64_t moved = 0;
    const ginResult_t result = self().elect(coop, [&]() -> ginResult_t {
      std::uint64_t* const shadow = &self().signals_.shadows[signal];
      const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
      const std::uint64_t full = queues::load_relaxed_gpu(shadow);
      const std::uint64_t least = full + static_cast<std::uint64_t>(leastDelta);
      std::uint64_t seen = 0;
      const ginResult_t waited =
          self().signals_.wait(signal, least, bits, self().limits(options), &seen);
      was = full & mask;
      if (waited != ginSuccess) {
        return self().tell(options, waited, ginWaitKindSignal, -1, signal, 0, least, seen);
      }
      moved = (seen - full) & mask;
      queues::store_relaxed_gpu(shadow, full + moved);
      return ginSuccess;
    });
    *before = static_cast<Uint>(coop.broadcast(was));
    *delta = static_cast<Uint>(coop.broadcast(moved));
    return result;
  }

  // VA signals: the 8-byte word at `offset` of this rank's part of a window that was registered
  // with GIN_WIN_STRICT_ORDERING.
  GIN_HOST_DEVICE ginResult_t readSignal(const ginWindow_t& window, std::uint64_t offset,
                                         std::uint64_t* value, int bits = 64) const {
    const ginResult_t checked = check_va(ginCoopThread{}, window, offset, bits);
    if (checked == ginSuccess) *value = va(window, offset).since_reset(0, bits);
    return checked;
  }
  // The same; 0 on bad use.
  GIN_HOST_DEVICE std::uint64_t readSignal(const ginWindow_t& window, std::uint64_t offset,
                                           int bits = 64) const {
    std::uint64_t value = 0;
    readSignal(window, offset, &value, bits);
    return value;
  }
  template <typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t waitSignal(Coop coop, const ginWindow_t& window, std::uint64_t offset,
                                         std::uint64_t least, int bits = 64,
                                         ginWaitOptions options = {}) const {
    const ginResult_t checked = check_va(coop, window, offset, bits);
    if (checked != ginSuccess) return checked;
    return self().elect(coop, [&]() -> ginResult_t {
      std::uint64_t seen = 0;
      const ginResult_t waited =
          va(window, offset).wait(0, least, bits, self().limits(options), &seen);
      return self().tell(options, waited, ginWaitKindVASignal, -1, window.id, offset, least, seen);
    });
  }
  // To 0.  Unlike with an index, nothing may arrive meanwhile.  Returns when it is done.
  GIN_HOST_DEVICE ginResult_t resetSignal(const ginWindow_t& window, std::uint64_t offset,
                                          ginWaitOptions options = {}) const {
    const ginResult_t checked = check_va(ginCoopThread{}, window, offset, 64);
    if (checked != ginSuccess) return checked;
    queues::Descriptor d{};
    d.op = queues::Op::kResetVa;
    d.peer = static_cast<std::uint32_t>(self().comm_.rank);
    d.dst_window = window.id - 1;
    d.dst_offset = offset;
    std::uint64_t end = 0;
    const ginResult_t posted =
        self().post(Prepared{queues::encode(d), d.peer, false}, options, &end);
    if (posted != ginSuccess) return posted;
    queues::FlushReport where;
    const ginResult_t done =
        queues::flush_to(self().done_, d.peer, end, self().limits(options), &where);
    return self().tell(options, done, ginWaitKindFlush, static_cast<std::int32_t>(d.peer), 0, 0,
                       where.wanted, where.seen);
  }

  // Counters: as signals, of at most 56 bits.
  GIN_HOST_DEVICE ginResult_t readCounter(ginCounter_t counter, std::uint64_t* value,
                                          int bits = kCounterBits) const {
    const ginResult_t checked = check(ginCoopThread{}, kCounter, counter, bits);
    if (checked == ginSuccess) *value = self().counters_.since_reset(counter, bits);
    return checked;
  }
  GIN_HOST_DEVICE std::uint64_t readCounter(ginCounter_t counter, int bits = kCounterBits) const {
    std::uint64_t value = 0;
    readCounter(counter, &value, bits);
    return value;
  }
  template <typename Coop = ginCoopThread>
  GIN_HOST_DEVICE ginResult_t waitCounter(Coop coop, ginCounter_t counter, std::uint64_t least,
                                          int bits = kCounterBits,
                                          ginWaitOptions options = {}) const {
    const ginResult_t checked = check(coop, kCounter, counter, bits);
    if (checked != ginSuccess) return checked;
    return self().elect(coop, [&]() -> ginResult_t {
      std::uint64_t seen = 0;
      const ginResult_t waited =
          self().counters_.wait(counter, least, bits, self().limits(options), &seen);
      return self().tell(options, waited, ginWaitKindCounter, -1, counter, 0, least, seen);
    });
  }
  GIN_HOST_DEVICE ginResult_t resetCounter(ginCounter_t counter) const {
    const ginResult_t checked = check(ginCoopThread{}, kCounter, counter, kCounterBits);
    if (checked == ginSuccess) self().counters_.reset(counter);
    return checked;
  }

 private:
  static constexpr int kCounterBits = static_cast<int>(queues::kCounterBits);
  static constexpr queues::Field kSignal = queues::Field::kSignal;
  static constexpr queues::Field kCounter = queues::Field::kCounter;

  GIN_HOST_DEVICE const Self& self() const { return static_cast<const Self&>(*this); }

  template <typename Coop>
  GIN_HOST_DEVICE ginResult_t refuse_bits(Coop coop, int bits) const {
    return self().refuse(coop, queues::Field::kBits,
                         static_cast<std::uint64_t>(std::int64_t{bits}));
  }

  template <typename Coop>
  GIN_HOST_DEVICE ginResult_t check(Coop coop, queues::Field which, std::uint32_t index,
                                    int bits) const {
    const bool is_signal = which == kSignal;
    if (!self().exists()) return ginInvalidArgument;
    if (bits < 1 || bits > (is_signal ? 64 : kCounterBits)) return refuse_bits(coop, bits);
    if (index < (is_signal ? self().signals_ : self().counters_).count) return ginSuccess;
    return self().refuse(coop, which, index);
  }

  template <typename Coop>
  GIN_HOST_DEVICE ginResult_t check_va(Coop coop, const ginWindow_t& window, std::uint64_t offset,
                                       int bits) const {
    if (!self().exists()) return ginInvalidArgument;
    if (bits < 1 || bits > 64) return refuse_bits(coop, bits);
    if (window.id == 0 || (window.flags & GIN_WIN_STRICT_ORDERING) == 0) {
      return self().refuse(coop, queues::Field::kVaWindow, std::uint64_t{window.id} - 1);
    }
    if (offset % 8 == 0 && window.bytes >= 8 && offset <= window.bytes - 8) return ginSuccess;
    return self().refuse(coop, queues::Field::kVaOffset, offset);
  }

  // A VA word as the only one of its kind; a reset is gind's, so there is no base.
  GIN_HOST_DEVICE Words va(const ginWindow_t& window, std::uint64_t offset) const {
    return Words{reinterpret_cast<const std::uint64_t*>(window.base + offset), nullptr, nullptr, 1};
  }
};

}  // namespace gin::device
