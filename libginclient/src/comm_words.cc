// SPDX-License-Identifier: Apache-2.0
#include "comm_words.h"

#include "gin/queues/platform.h"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

namespace gind::client {

std::uint64_t CommWords::page_bytes() { return gin::queues::kPage; }

Result<CommWords> CommWords::make() {
  void* p =
      ::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return system_error("a page for the communicator's words", errno);
  return CommWords(static_cast<Words*>(p));
}
CommWords::CommWords(CommWords&& other) noexcept : words_(std::exchange(other.words_, nullptr)) {}
CommWords::~CommWords() {
  if (words_ != nullptr) ::munmap(words_, page_bytes());
}

void CommWords::leave_to_parent() {
  ::mmap(words_, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
         0);
}

}  // namespace gind::client
