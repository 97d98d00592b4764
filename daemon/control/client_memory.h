// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gind/common/fd.h"
#include "gind/common/memfd.h"
#include "gind/common/result.h"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

namespace gind {

// gind's mappings of the memfds that one client brought, each mapped once however many windows lie
// in it: after the first registration it is sealed, and no other writable mapping can be made.
class ClientMemory {
 public:
  struct Memory {
    Fd fd;
    Mapping mapping;
    bool sealed = false;
    std::uint32_t windows = 0;
  };

  // The mapping of `fd`, checked: a sealed, populated memfd that holds [offset, offset + bytes).
  Result<std::shared_ptr<Memory>> map(Fd fd, std::uint64_t offset, std::uint64_t bytes);
  // The client has freed its allocation (by inode); false while windows lie in it.
  bool forget(std::uint64_t inode);
  std::uint64_t mapped_bytes() const;

 private:
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::shared_ptr<Memory>> by_file_;
};

}  // namespace gind
