// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/collective_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace gind::perf {
namespace {

namespace k = gin::kernels;
using k::CollectiveKind;
using k::ElementType;

// Floating-point sums of these depend on the order; signed ones do not overflow.
template <typename T>
T input(std::uint64_t seed, int rank, std::uint64_t i) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u +
                    static_cast<std::uint64_t>(rank + 1) * 0x94d049bb133111ebu;
  z = (z ^ (z >> 29)) * 0xff51afd7ed558ccdu;
  z ^= z >> 32;
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(z >> 40) / T{1009} - T{8000};
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(z >> 44) - (1 << 19);  // 1,024 ranks of 20 bits
  } else {
    return static_cast<T>(z);
  }
}

bool slots_are_received(CollectiveKind kind) {
  return kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kAllGather;
}
bool slots_are_sent(CollectiveKind kind) {
  return kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kReduceScatter;
}

template <typename T, typename Op>
T expected(const CollectiveShape& s, int rank, std::uint64_t seed, std::uint64_t i) {
  const std::uint64_t mine = slots_are_sent(s.kind) ? static_cast<std::uint64_t>(rank) : 0;
  if (slots_are_received(s.kind)) {
    return input<T>(seed, static_cast<int>(i / s.count), mine * s.count + i % s.count);
  }
  T value = input<T>(seed, 0, mine * s.count + i);
  for (int r = 1; r < s.ranks; ++r) value = Op{}(value, input<T>(seed, r, mine * s.count + i));
  return value;
}

template <typename T, typename Op>
std::optional<WrongElement> compare(const void* memory, const CollectiveShape& s, int rank,
                                    std::uint64_t seed) {
  const auto* const at = static_cast<const char*>(memory);
  for (std::uint64_t i = 0; i < s.received(); ++i) {
    T got{};
    std::memcpy(&got, at + i * sizeof(T), sizeof(T));
    const T want = expected<T, Op>(s, rank, seed, i);
    if (std::memcmp(&got, &want, sizeof(T)) == 0) continue;
    return WrongElement{i, fmt::format("{}", got), fmt::format("{}", want)};
  }
  return std::nullopt;
}

// Calls f with a value of the element type.
template <typename F>
auto with_type(ElementType type, F f) {
  switch (type) {
    case ElementType::kFloat:
      return f(float{});
    case ElementType::kDouble:
      return f(double{});
    case ElementType::kInt32:
      return f(std::int32_t{});
    case ElementType::kUint64:
      break;
  }
  return f(std::uint64_t{});
}

}  // namespace

std::uint64_t CollectiveShape::element_bytes() const {
  return with_type(type, [](auto element) { return std::uint64_t{sizeof element}; });
}
std::uint64_t CollectiveShape::sent() const {
  return slots_are_sent(kind) ? count * static_cast<std::uint64_t>(ranks) : count;
}
std::uint64_t CollectiveShape::received() const {
  return slots_are_received(kind) ? count * static_cast<std::uint64_t>(ranks) : count;
}
std::uint64_t CollectiveShape::scratch() const {
  const auto n = static_cast<std::uint64_t>(ranks);
  if (kind == CollectiveKind::kReduceScatter) return k::reduce_scatter_scratch(count, n);
  return kind == CollectiveKind::kAllReduce ? k::all_reduce_scratch(count, n) : 0;
}
std::uint64_t CollectiveShape::bytes() const {
  return std::max(sent(), received()) * element_bytes();
}
double CollectiveShape::bus_factor() const {
  const double once = static_cast<double>(ranks - 1) / ranks;
  return kind == CollectiveKind::kAllReduce ? 2 * once : once;
}

CollectiveShape shape_of(CollectiveShape shape, std::uint64_t bytes) {
  const auto parts =
      shape.kind == CollectiveKind::kAllReduce ? 1 : static_cast<std::uint64_t>(shape.ranks);
  shape.count = std::max<std::uint64_t>(1, bytes / shape.element_bytes() / parts);
  return shape;
}

void fill_inputs(void* memory, const CollectiveShape& shape, int rank, std::uint64_t seed) {
  with_type(shape.type, [&](auto element) {
    using T = decltype(element);
    auto* const to = static_cast<T*>(memory);
    for (std::uint64_t i = 0; i < shape.sent(); ++i) to[i] = input<T>(seed, rank, i);
  });
}

std::optional<WrongElement> find_wrong(const void* memory, const CollectiveShape& shape, int rank,
                                       std::uint64_t seed) {
  return with_type(shape.type, [&](auto element) {
    using T = decltype(element);
    return shape.reduction == k::Reduction::kSum ? compare<T, k::Sum>(memory, shape, rank, seed)
                                                 : compare<T, k::Max>(memory, shape, rank, seed);
  });
}

}  // namespace gind::perf
