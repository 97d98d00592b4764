// SPDX-License-Identifier: Apache-2.0
#include "comm_words.h"

#include "gin/queues/platform.h"

#include <sys/mman.h>

#include <atomic>
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

// Release: pairs with nothing but the value; waits read both words relaxed.
void CommWords::latch_error(std::uint64_t word) {
  std::uint64_t none = 0;
  std::atomic_ref<std::uint64_t>(words_->error)
      .compare_exchange_strong(none, word, std::memory_order_release, std::memory_order_relaxed);
}
void CommWords::set_abort() {
  std::atomic_ref<std::uint32_t>(words_->abort).store(1, std::memory_order_release);
}

void CommWords::leave_to_parent() {
  ::mmap(words_, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
         0);
}

}  // namespace gind::client
