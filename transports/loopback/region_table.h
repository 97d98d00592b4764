// SPDX-License-Identifier: Apache-2.0
// The loopback's registered ranges, found by key without a lock.
#pragma once

#include "gind/common/result.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace gind {

// Any thread may insert, erase and find.  A key is a random generation in the upper 48 bits over
// the slot number, so a stale or guessed key does not match.
class RegionTable {
 public:
  static constexpr std::uint32_t kMaxRegions = 65536;

  RegionTable();
  ~RegionTable();
  RegionTable(const RegionTable&) = delete;
  RegionTable& operator=(const RegionTable&) = delete;

  // The key of the new entry; ginLimitExceeded when kMaxRegions are registered.
  Result<std::uint64_t> insert(std::uint64_t base, std::uint64_t bytes, std::uint32_t access);
  void erase(std::uint64_t key);

  // Null when [address, address+bytes) lies in the region of `key` and it grants all of `access`;
  // otherwise what is wrong, as a static text.
  const char* check(std::uint64_t key, std::uint64_t address, std::uint64_t bytes,
                    std::uint32_t access) const;

 private:
  static constexpr std::uint32_t kChunk = 1024;
  struct Entry {
    std::atomic<std::uint64_t> key{0};  // 0: free
    std::atomic<std::uint64_t> base{0};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint32_t> access{0};
  };
  using Chunk = std::array<Entry, kChunk>;

  Entry* entry(std::uint64_t key) const;

  std::array<std::atomic<Chunk*>, kMaxRegions / kChunk> chunks_{};
  std::mutex mutex_;  // guards what follows: insert and erase only
  std::vector<std::uint32_t> free_;
  std::uint32_t used_ = 0;  // slots ever handed out
};

}  // namespace gind
