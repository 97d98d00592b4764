// SPDX-License-Identifier: Apache-2.0
// The signal or counter words of one context, seen through their reset offsets.
#pragma once

#include "gin/queues/completion.h"

#include <cstdint>

namespace gin::device {

struct Words {
  const std::uint64_t* words = nullptr;  // shared; only their applier writes them, never back
  std::uint64_t* bases = nullptr;        // what each word was at its last reset; null: always 0
  std::uint64_t* shadows = nullptr;      // signals only
  std::uint32_t count = 0;

  // What has been added since the last reset.  The acquire pairs with the applier's release of the
  // word (gind or the NIC).
  GIN_HOST_DEVICE std::uint64_t since_reset(std::uint32_t index) const {
    const std::uint64_t word = queues::load_acquire_sys(&words[index]);
    return bases == nullptr ? word : word - queues::load_relaxed_gpu(&bases[index]);
  }
  GIN_HOST_DEVICE std::uint64_t since_reset(std::uint32_t index, int bits) const {
    const std::uint64_t value = since_reset(index);
    return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
  }

  // A reset moves the base: the word itself belongs to its applier.
  GIN_HOST_DEVICE void reset(std::uint32_t index) const {
    queues::store_relaxed_gpu(&bases[index], queues::load_acquire_sys(&words[index]));
  }

  // `seen`: the last value looked at, of all bits.
  GIN_HOST_DEVICE ginResult_t wait(std::uint32_t index, std::uint64_t least, int bits,
                                   const queues::WaitLimits& limits, std::uint64_t* seen) const {
    const auto width = static_cast<unsigned>(bits);
    queues::Waiter waiter(limits, queues::Pace::kBus);
    ginResult_t stop = ginSuccess;
    for (;;) {
      *seen = since_reset(index);
      if (queues::reached(*seen, least, width)) return ginSuccess;
      if (stop != ginSuccess) return stop;  // what arrived at the last moment counted
      stop = waiter.step();
    }
  }
};

}  // namespace gin::device
