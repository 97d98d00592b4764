// SPDX-License-Identifier: Apache-2.0
// The ring's unit: 16 bytes, written and read whole.  See docs/ring.md.
#pragma once

#include "gin/queues/atomics.h"
#include "gin/queues/platform.h"

#if defined(__x86_64__) && !defined(__CUDA_ARCH__)
#include <emmintrin.h>
#endif

namespace gin::queues {

// Bit 63 of *each* 8-byte half is the parity of the lap; 63 + 63 bits are payload.  With a parity
// bit in both halves a unit is whole and fresh as soon as both match, and that needs no more than
// 8-byte single-copy atomicity: no AVX check, no LSE2 check, and TSan builds run the same format.
struct alignas(16) Unit {
  std::uint64_t lo;
  std::uint64_t hi;
};
static_assert(sizeof(Unit) == 16 && alignof(Unit) == 16);

inline constexpr unsigned kParityShift = 63;
inline constexpr std::uint64_t kParityMask = std::uint64_t{1} << kParityShift;
inline constexpr std::uint64_t kPayloadMask = kParityMask - 1;

// Lap 0 has parity 1, so that zeroed memory is stale for it.
GIN_HOST_DEVICE constexpr std::uint64_t lap_parity(std::uint64_t position, unsigned log2_depth) {
  return ((position >> log2_depth) & 1) ^ 1;
}

GIN_HOST_DEVICE constexpr bool is_fresh(const Unit& u, std::uint64_t parity) {
  return (u.lo >> kParityShift) == parity && (u.hi >> kParityShift) == parity;
}

// Producer side.  Pairs with load_unit's acquire: what the poster released before (its payload)
// is visible to whoever sees the unit fresh.  On the GPU the release is a fence the caller has
// already paid once per coop (fence_release_sys), so the store itself is relaxed: a release per
// store costs 0.7 us for one and 2.5 us for four on an H200 (measured), the relaxed one 0.1 us.
GIN_HOST_DEVICE inline void store_unit(Unit* slot, Unit payload, std::uint64_t parity) {
  const std::uint64_t lo = payload.lo | parity << kParityShift;
  const std::uint64_t hi = payload.hi | parity << kParityShift;
#if defined(__CUDA_ARCH__)
  // One 16-byte store: b128 is the form whose single-copy atomicity PTX states (sm_70 and newer).
  asm volatile(
      "{\n\t.reg .b128 v;\n\tmov.b128 v, {%1, %2};\n\tst.relaxed.sys.b128 [%0], v;\n\t}" ::"l"(
          slot),
      "l"(lo), "l"(hi)
      : "memory");
#else
  store_release_sys(&slot->lo, lo);
  store_release_sys(&slot->hi, hi);
#endif
}

// Consumer side (host).  One load of each half into a local; the caller works on the copy only.
inline Unit load_unit(const Unit* slot) {
#if defined(__x86_64__) && !defined(GIN_TSAN) && !defined(__CUDA_ARCH__)
  __m128i v;
  // One aligned 16-byte load; x86 loads are acquire, the clobber keeps the compiler in line.
  asm volatile("movdqa %1, %0" : "=x"(v) : "m"(*reinterpret_cast<const __m128i*>(slot)) : "memory");
  return Unit{static_cast<std::uint64_t>(_mm_cvtsi128_si64(v)),
              static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(v, v)))};
#else
  Unit u{};
  u.lo = load_acquire_sys(&slot->lo);
  u.hi = load_acquire_sys(&slot->hi);
  return u;
#endif
}

#if defined(__x86_64__) && !defined(GIN_TSAN) && !defined(__CUDA_ARCH__)
// Copies a line of four units, each loaded once, as load_unit does.  Bits 2i and 2i+1 of the result
// are the parities of unit i.
inline std::uint32_t copy_line_of_units(Unit* out, const Unit* line) {
  std::uint32_t parities = 0;
  for (unsigned i = 0; i < 4; ++i) {
    __m128i v;
    asm volatile("movdqa %1, %0"
                 : "=x"(v)
                 : "m"(*reinterpret_cast<const __m128i*>(line + i))
                 : "memory");
    _mm_store_si128(reinterpret_cast<__m128i*>(out + i), v);
    parities |= static_cast<std::uint32_t>(_mm_movemask_pd(_mm_castsi128_pd(v))) << 2 * i;
  }
  return parities;
}
#else
inline std::uint32_t copy_line_of_units(Unit* out, const Unit* line) {
  std::uint32_t parities = 0;
  for (unsigned i = 0; i < 4; ++i) {
    out[i] = load_unit(line + i);
    parities |=
        static_cast<std::uint32_t>(out[i].lo >> kParityShift | (out[i].hi >> kParityShift) << 1)
        << 2 * i;
  }
  return parities;
}
#endif

}  // namespace gin::queues
