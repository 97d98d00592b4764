// SPDX-License-Identifier: Apache-2.0
#include "private_memory.h"

#include "gin/queues/platform.h"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

namespace gind::client {

Result<PrivateMemory> PrivateMemory::allocate(std::uint64_t bytes) {
  bytes = gin::queues::align_up(bytes, gin::queues::kPage);
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    return system_error("allocation of " + std::to_string(bytes) + " bytes", errno);
  }
  PrivateMemory m;
  m.data_ = static_cast<char*>(p);
  m.bytes_ = bytes;
  return m;
}
PrivateMemory::PrivateMemory(PrivateMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
PrivateMemory& PrivateMemory::operator=(PrivateMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
PrivateMemory::~PrivateMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace gind::client
