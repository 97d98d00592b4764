// SPDX-License-Identifier: Apache-2.0
// Zeroed anonymous memory of whole pages, given back on destruction.
#pragma once

#include "gind/common/result.h"

#include <cstdint>

namespace gind::client {

class PrivateMemory {
 public:
  // bytes: rounded up to whole pages.
  static Result<PrivateMemory> allocate(std::uint64_t bytes);
  PrivateMemory() = default;
  PrivateMemory(PrivateMemory&& other) noexcept;
  PrivateMemory& operator=(PrivateMemory&& other) noexcept;
  ~PrivateMemory();
  char* data() const { return data_; }
  std::uint64_t size() const { return bytes_; }

 private:
  char* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace gind::client
