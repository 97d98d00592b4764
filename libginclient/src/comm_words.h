// SPDX-License-Identifier: Apache-2.0
// The words of a communicator that end device waits, on a page of their own that a GPU can be
// given.
#pragma once

#include "gind/common/result.h"

#include <cstdint>

namespace gind::client {

// Shared anonymous memory: of a private page a fork would leave the parent a copy, while a GPU that
// has the page mapped still reads the old one.
class CommWords {
 public:
  static Result<CommWords> make();
  CommWords(CommWords&& other) noexcept;
  CommWords& operator=(CommWords&&) = delete;
  ~CommWords();

  const std::uint64_t* error() const { return &words_->error; }
  const std::uint32_t* abort() const { return &words_->abort; }
  // How many threads of the host wait.
  std::uint32_t* waiting() const { return &words_->waiting; }
  // The first error stays.
  void latch_error(std::uint64_t word);
  void set_abort();
  void* page() const { return words_; }
  static std::uint64_t page_bytes();

  // In a forked child: what it writes from now on is not the parent's.  Async-signal safe.
  void leave_to_parent();

 private:
  struct Words {
    std::uint64_t error;
    std::uint32_t abort;
    std::uint32_t waiting;
  };
  explicit CommWords(Words* words) : words_(words) {}
  Words* words_;
};

}  // namespace gind::client
