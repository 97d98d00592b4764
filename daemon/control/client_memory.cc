// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/client_memory.h"

#include <sys/stat.h>

#include <cerrno>

namespace gind {

Result<std::shared_ptr<ClientMemory::Memory>> ClientMemory::map(Fd fd, std::uint64_t offset,
                                                                std::uint64_t bytes) {
  const auto size = check_memfd(fd.get(), {.offset = offset, .bytes = bytes, .exact = false});
  if (!size) return size.error();
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return system_error("fstat of the window's memfd", errno);
  const auto key = std::make_pair(std::uint64_t{st.st_dev}, std::uint64_t{st.st_ino});
  if (const auto found = by_file_.find(key); found != by_file_.end()) return found->second;
  auto mapping = Mapping::map(fd.get(), 0, size.value());
  if (!mapping) return mapping.error();
  if (const auto populated = check_populated(mapping.value()); !populated) {
    return populated.error();
  }
  auto memory = std::make_shared<Memory>();
  memory->fd = std::move(fd);
  memory->mapping = std::move(mapping).value();
  by_file_.emplace(key, memory);
  return memory;
}

bool ClientMemory::forget(std::uint64_t inode) {
  for (auto it = by_file_.begin(); it != by_file_.end(); ++it) {
    if (it->first.second != inode) continue;
    if (it->second->windows != 0) return false;
    by_file_.erase(it);
    return true;
  }
  return true;
}

std::uint64_t ClientMemory::mapped_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [key, memory] : by_file_) sum += memory->mapping.size();
  return sum;
}

}  // namespace gind
