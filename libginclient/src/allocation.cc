// SPDX-License-Identifier: Apache-2.0
#include "allocation.h"

#include "gin/queues/descriptor.h"

#include <cstdio>

namespace gind::client {
namespace {

std::string hex(std::uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

std::string range(std::uint64_t address, std::uint64_t bytes) {
  return hex(address) + " (" + std::to_string(bytes) + " bytes)";
}

}  // namespace

Result<void*> AllocationTable::allocate(std::uint64_t bytes, const std::shared_ptr<Gpu>& gpu) {
  if (bytes == 0 || bytes > gin::queues::kMaxBytes) {
    return Error{ginInvalidArgument, "bytes is " + std::to_string(bytes) + ", expected 1 .. " +
                                         std::to_string(gin::queues::kMaxBytes)};
  }
  const std::uint64_t whole_pages = gin::queues::align_up(bytes, gin::queues::kPage);
  auto memfd = create_memfd("gin-memory", whole_pages);
  if (!memfd) return memfd.error();
  auto mapping = Mapping::map(memfd.value().get(), 0, whole_pages);
  if (!mapping) return mapping.error();
  void* ptr = mapping.value().data();
  Allocation made;
  made.memfd = std::move(memfd).value();
  made.mapping = std::move(mapping).value();
  made.bytes = bytes;
  if (gpu != nullptr) {
    if (auto mapped = map_into(*gpu, &made); !mapped) return mapped.error();
  }
  by_address_.emplace(reinterpret_cast<std::uint64_t>(ptr), std::move(made));
  return ptr;
}

Result<void> AllocationTable::map_into(Gpu& gpu, Allocation* allocation) {
  const auto host = reinterpret_cast<std::uint64_t>(allocation->mapping.data());
  auto mapped = gpu.map(allocation->mapping.data(), allocation->mapping.size());
  if (!mapped) return mapped.error();
  if (mapped.value().device_address() != host) {
    return Error{ginNotSupported, "GPU " + std::to_string(gpu.ordinal()) +
                                      " sees host memory at another address than the host: " +
                                      hex(mapped.value().device_address()) + ", not " + hex(host)};
  }
  allocation->gpu = std::move(mapped).value();
  return {};
}

Result<void> AllocationTable::map_all(const std::shared_ptr<Gpu>& gpu) {
  for (auto& [address, allocation] : by_address_) {
    if (allocation.gpu) continue;
    if (auto mapped = map_into(*gpu, &allocation); !mapped) return mapped;
  }
  return {};
}

Result<Allocation*> AllocationTable::removable(void* ptr) {
  const auto address = reinterpret_cast<std::uint64_t>(ptr);
  const auto it = by_address_.find(address);
  if (it == by_address_.end()) {
    return Error{ginInvalidArgument,
                 hex(address) + " is not what ginMemAlloc of this communicator returned; " +
                     nearest(address)};
  }
  if (it->second.windows != 0) {
    return Error{ginInvalidUsage, std::to_string(it->second.windows) + " windows still lie in " +
                                      range(address, it->second.bytes) + "; deregister them first"};
  }
  return &it->second;
}

void AllocationTable::remove(void* ptr) { by_address_.erase(reinterpret_cast<std::uint64_t>(ptr)); }

Result<AllocationTable::Place> AllocationTable::find(const void* ptr, std::uint64_t bytes) {
  const auto address = reinterpret_cast<std::uint64_t>(ptr);
  auto it = by_address_.upper_bound(address);
  if (it != by_address_.begin()) {
    --it;
    const std::uint64_t offset = address - it->first;
    if (bytes <= it->second.bytes && offset <= it->second.bytes - bytes) {
      return Place{&it->second, offset};
    }
  }
  return Error{ginInvalidArgument, range(address, bytes) +
                                       " does not lie in one ginMemAlloc allocation of this "
                                       "communicator; " +
                                       nearest(address)};
}

std::string AllocationTable::nearest(std::uint64_t address) const {
  if (by_address_.empty()) return "it has none";
  auto best = by_address_.upper_bound(address);
  if (best != by_address_.begin()) {
    const auto below = std::prev(best);
    const auto gap_below = address - below->first;
    if (best == by_address_.end() || gap_below <= best->first - address) best = below;
  }
  return "the nearest is " + range(best->first, best->second.bytes);
}

}  // namespace gind::client
