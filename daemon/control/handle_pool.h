// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace gind {

// Handles of device communicators, as peers' records name them: a place and a generation, so that
// a record for one that is gone reaches nothing.  The generation starts at random.
class HandlePool {
 public:
  static constexpr std::uint32_t kPlaces = 1u << 16;

  std::optional<std::uint32_t> take() {
    std::uint32_t place = 0;
    if (!free_.empty()) {
      place = free_.back();
      free_.pop_back();
    } else if (generation_.size() < kPlaces) {
      place = static_cast<std::uint32_t>(generation_.size());
      generation_.push_back(static_cast<std::uint16_t>(std::random_device{}()));
    } else {
      return std::nullopt;
    }
    return static_cast<std::uint32_t>(generation_[place]) << 16 | place;
  }
  void give(std::uint32_t handle) {
    const std::uint32_t place = handle & 0xffff;
    ++generation_[place];
    free_.push_back(place);
  }

 private:
  std::vector<std::uint16_t> generation_;
  std::vector<std::uint32_t> free_;
};

// Ranges of flow ids (16 bits, signal mode "sequence").  First fit.
class FlowPool {
 public:
  static constexpr std::uint32_t kIds = 1u << 16;

  std::optional<std::uint32_t> take(std::uint32_t count) {
    std::uint32_t at = 0;
    for (std::size_t i = 0; i <= used_.size(); ++i) {
      const std::uint32_t end = i < used_.size() ? used_[i].first : kIds;
      if (end - at >= count) {
        used_.insert(used_.begin() + static_cast<std::ptrdiff_t>(i), {at, count});
        return at;
      }
      at = used_[i].first + used_[i].second;
    }
    return std::nullopt;
  }
  void give(std::uint32_t first) {
    std::erase_if(used_, [first](const auto& r) { return r.first == first; });
  }
  std::uint32_t in_use() const {
    std::uint32_t n = 0;
    for (const auto& r : used_) n += r.second;
    return n;
  }

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> used_;  // (first, count), ascending
};

}  // namespace gind
