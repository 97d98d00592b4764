// SPDX-License-Identifier: Apache-2.0
// The memory of ginMemAlloc: memfds shared with gind.
#pragma once

#include "gind/common/fd.h"
#include "gind/common/memfd.h"
#include "gind/common/result.h"
#include "gpu/gpu.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace gind::client {

struct Allocation {
  Fd memfd;
  Mapping mapping;
  std::uint64_t bytes = 0;    // as asked for
  std::uint32_t windows = 0;  // registered in it
  bool shared = false;        // gind has been given the memfd
  GpuMapping gpu;
};

// One communicator's allocations, by address.  Not thread safe.
class AllocationTable {
 public:
  // With a GPU, the memory is mapped into it.
  Result<void*> allocate(std::uint64_t bytes, const std::shared_ptr<Gpu>& gpu);
  // Maps what is not mapped yet.
  Result<void> map_all(const std::shared_ptr<Gpu>& gpu);
  // The allocation that begins at ptr, when no window lies in it.
  Result<Allocation*> removable(void* ptr);
  void remove(void* ptr);

  struct Place {
    Allocation* allocation = nullptr;
    std::uint64_t offset = 0;
  };
  // The allocation that [ptr, ptr+bytes) lies in.
  Result<Place> find(const void* ptr, std::uint64_t bytes);

 private:
  static Result<void> map_into(Gpu& gpu, Allocation* allocation);
  std::string nearest(std::uint64_t address) const;

  std::map<std::uint64_t, Allocation> by_address_;
};

}  // namespace gind::client
