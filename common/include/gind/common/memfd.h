// SPDX-License-Identifier: Apache-2.0
// Shared memory by memfd: creation with seals, checks of one that somebody else made, mapping.
#pragma once

#include "gind/common/fd.h"
#include "gind/common/result.h"

#include <cstdint>
#include <memory>
#include <string>

namespace gind {

// A new memfd of `bytes` zeroed bytes, its pages allocated to the caller and its size sealed
// against shrinking and growing.
Result<Fd> create_memfd(const std::string& name, std::uint64_t bytes);

// A writable shared mapping of a memfd, unmapped on destruction.
class Mapping {
 public:
  static Result<Mapping> map(int fd, std::uint64_t offset, std::uint64_t bytes);
  Mapping();
  Mapping(Mapping&&) noexcept;
  Mapping& operator=(Mapping&&) noexcept;
  ~Mapping();
  void* data() const;
  std::uint64_t size() const;

 private:
  struct State;  // Boost.Interprocess's mapped_region
  explicit Mapping(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What gind demands of a memfd that a client brings: it is one, of at least `min_bytes` (exactly,
// when `exact`), sealed against shrinking and growing, every page of [offset, offset+bytes) already
// allocated by the client, so that its cgroup is charged and not gind's.
struct MemfdDemand {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool exact = false;  // the file is exactly `offset + bytes` long
};
// Checks the file, not the pages; returns its size.
Result<std::uint64_t> check_memfd(int fd, const MemfdDemand& demand);
// Checks that every page of a mapping is present (the first missing one is named), then populates
// the page tables with an error code instead of a SIGBUS.
Result<void> check_populated(const Mapping& mapping);
// After both sides have mapped it: no further writable mapping, no hole punch, no more seals.
Result<void> seal_for_good(int fd);

}  // namespace gind
