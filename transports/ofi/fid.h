// SPDX-License-Identifier: Apache-2.0
// Owners of libfabric objects, and texts of its errors.
#pragma once

#include "gind/common/result.h"

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include <cstdint>
#include <memory>
#include <string>

namespace gind {

// What gind is written against; every libfabric from 1.17 on gives it.
inline constexpr std::uint32_t kOfiApi = FI_VERSION(1, 17);

struct FidCloser {
  template <typename T>
  void operator()(T* object) const {
    fi_close(&object->fid);
  }
};
template <typename T>
using FidPtr = std::unique_ptr<T, FidCloser>;

struct InfoDeleter {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using InfoPtr = std::unique_ptr<fi_info, InfoDeleter>;

// `rc` as libfabric returns it (negative).
inline std::string ofi_text(std::int64_t rc) { return fi_strerror(static_cast<int>(-rc)); }

inline Error ofi_error(const std::string& what, std::int64_t rc) {
  return {ginSystemError, what + ": " + ofi_text(rc)};
}

}  // namespace gind
