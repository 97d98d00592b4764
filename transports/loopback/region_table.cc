// SPDX-License-Identifier: Apache-2.0
#include "loopback/region_table.h"

#include <fmt/format.h>

#include <random>

namespace gind {

RegionTable::RegionTable() = default;

RegionTable::~RegionTable() {
  for (auto& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
}

RegionTable::Entry* RegionTable::entry(std::uint64_t key) const {
  const auto slot = static_cast<std::uint32_t>(key % kMaxRegions);
  // Pairs with the release store of a new chunk in insert().
  Chunk* chunk = chunks_[slot / kChunk].load(std::memory_order_acquire);
  return chunk ? &(*chunk)[slot % kChunk] : nullptr;
}

Result<std::uint64_t> RegionTable::insert(std::uint64_t base, std::uint64_t bytes,
                                          std::uint32_t access) {
  thread_local std::random_device random;
  const std::lock_guard lock(mutex_);
  std::uint32_t slot = used_;
  if (!free_.empty()) {
    slot = free_.back();
    free_.pop_back();
  } else if (used_ < kMaxRegions) {
    if (used_ % kChunk == 0)
      chunks_[used_ / kChunk].store(new Chunk, std::memory_order_release);  // pairs with entry()
    ++used_;
  } else {
    return Error{ginLimitExceeded,
                 fmt::format("loopback: {} memory regions are registered, which is the limit; "
                             "deregister some first",
                             kMaxRegions)};
  }
  std::uint64_t generation = 0;
  while (generation == 0)
    generation = (static_cast<std::uint64_t>(random()) << 32 | random()) >> 16;
  const std::uint64_t key = generation << 16 | slot;
  Entry& e = *entry(key);
  // Release, pairs with the loads in check(): who sees one of these also sees the key that erase()
  // cleared before.
  e.base.store(base, std::memory_order_release);
  e.bytes.store(bytes, std::memory_order_release);
  e.access.store(access, std::memory_order_release);
  e.key.store(key, std::memory_order_release);  // pairs with the first load in check()
  return key;
}

void RegionTable::erase(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  Entry* e = entry(key);
  if (!e || e->key.load(std::memory_order_relaxed) != key) return;
  e->key.store(0, std::memory_order_relaxed);
  free_.push_back(static_cast<std::uint32_t>(key % kMaxRegions));
}

const char* RegionTable::check(std::uint64_t key, std::uint64_t address, std::uint64_t bytes,
                               std::uint32_t access) const {
  static constexpr const char* kNoRegion = "loopback: the key names no registered memory region";
  const Entry* e = entry(key);
  // Pairs with the release store of the key in insert().
  if (!e || key == 0 || e->key.load(std::memory_order_acquire) != key) return kNoRegion;
  const std::uint64_t base = e->base.load(std::memory_order_acquire);
  const std::uint64_t size = e->bytes.load(std::memory_order_acquire);
  const std::uint32_t granted = e->access.load(std::memory_order_acquire);
  if (e->key.load(std::memory_order_relaxed) != key) return kNoRegion;
  if (bytes > size || address < base || address - base > size - bytes)
    return "loopback: the range is outside the memory region";
  if ((granted & access) != access)
    return "loopback: the memory region was not registered for this kind of access";
  return nullptr;
}

}  // namespace gind
