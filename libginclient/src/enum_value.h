// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <type_traits>

namespace gind::client {

// The number that a C caller passed as an enumeration.  Any int is possible there, and loading one
// that is no enumerator is undefined in C++.
template <typename E>
int value_of_enum(const E& e) {
  static_assert(std::is_enum_v<E> && sizeof(E) == sizeof(int));
  int value = 0;
  std::memcpy(&value, &e, sizeof value);
  return value;
}

}  // namespace gind::client
