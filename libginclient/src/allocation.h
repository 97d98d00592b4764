// SPDX-License-Identifier: Apache-2.0
// The memory of ginMemAlloc: memfds shared with gind.
#pragma once

#include "gind/common/fd.h"
#include "gind/common/memfd.h"
#include "gind/common/result.h"

#include <cstdint>
#include <map>

namespace gind::client {

struct Allocation {
  Fd memfd;
  Mapping mapping;
  std::uint64_t bytes = 0;    // as asked for
  std::uint32_t windows = 0;  // registered in it
  bool shared = false;        // gind has been given the memfd
};

// One communicator's allocations, by address.  Not thread safe.
class AllocationTable {
 public:
  Result<void*> allocate(std::uint64_t bytes);
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
  std::string nearest(std::uint64_t address) const;

  std::map<std::uint64_t, Allocation> by_address_;
};

}  // namespace gind::client
