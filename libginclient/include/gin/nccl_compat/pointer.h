// SPDX-License-Identifier: Apache-2.0
// Pointers into windows.  gind has load/store access to the caller's own part only: the LSA team is
// the caller, and pointers to others are null, as NCCL's are to ranks outside the team.
#pragma once

#include "gin/nccl_compat/team.h"
#include "gin/nccl_compat/types.h"

#include <cstddef>
#include <cstdint>

#define GIN_NCCL_NO_MULTIMEM \
  "gind has no multimem; take the path of the kernel that is for ncclDevComm::lsaSize 1"

GIN_HOST_DEVICE inline void* ncclGetLocalPointer(ncclWindow_t w, std::size_t offset) {
  return w.gin.base == nullptr ? nullptr : w.gin.base + offset;
}
GIN_HOST_DEVICE inline void* ncclGetLsaPointer(ncclWindow_t w, std::size_t offset, int peer) {
  return peer == 0 ? ncclGetLocalPointer(w, offset) : nullptr;
}
GIN_HOST_DEVICE inline void* ncclGetPeerPointer(ncclWindow_t w, std::size_t offset, int peer) {
  return peer == w.worldRank ? ncclGetLocalPointer(w, offset) : nullptr;
}
GIN_HOST_DEVICE inline void* ncclGetPeerPointer(ncclWindow_t w, std::size_t offset, ncclTeam team,
                                                int peer) {
  return peer == team.rank ? ncclGetLocalPointer(w, offset) : nullptr;
}
template <typename Window>
GIN_HOST_DEVICE void* ncclGetMultimemPointer(Window, std::size_t, ncclMultimemHandle) {
  static_assert(gin::nccl::kNever<Window>, GIN_NCCL_NO_MULTIMEM);
  return nullptr;
}
template <typename Window>
GIN_HOST_DEVICE void* ncclGetLsaMultimemPointer(Window, std::size_t, ncclDevComm const&) {
  static_assert(gin::nccl::kNever<Window>, GIN_NCCL_NO_MULTIMEM);
  return nullptr;
}

// A place in a window, in elements of T.
template <typename T>
struct ncclSymPtr {
  using ElementType = T;
  ncclWindow_t window;
  std::size_t offset;  // in bytes

  GIN_HOST_DEVICE constexpr ncclSymPtr(ncclWindow_t w = nullptr, std::size_t o = 0)
      : window(w), offset(o) {}
  template <typename U>
  GIN_HOST_DEVICE operator ncclSymPtr<U>() const {
    return {window, offset};
  }
  template <typename Int>
  GIN_HOST_DEVICE ncclSymPtr& operator+=(Int d) {
    offset += static_cast<std::size_t>(d) * sizeof(T);
    return *this;
  }
  template <typename Int>
  GIN_HOST_DEVICE ncclSymPtr& operator-=(Int d) {
    offset -= static_cast<std::size_t>(d) * sizeof(T);
    return *this;
  }

  GIN_HOST_DEVICE T* localPtr() const {
    return static_cast<T*>(ncclGetLocalPointer(window, offset));
  }
  GIN_HOST_DEVICE T* lsaPtr(int peer) const {
    return static_cast<T*>(ncclGetLsaPointer(window, offset, peer));
  }
  GIN_HOST_DEVICE T* peerPtr(int peer) const {
    return static_cast<T*>(ncclGetPeerPointer(window, offset, peer));
  }
  GIN_HOST_DEVICE T* peerPtr(ncclTeam team, int peer) const {
    return static_cast<T*>(ncclGetPeerPointer(window, offset, team, peer));
  }
  template <typename Handle>
  GIN_HOST_DEVICE T* multimemPtr(Handle) const {
    static_assert(gin::nccl::kNever<Handle>, GIN_NCCL_NO_MULTIMEM);
    return nullptr;
  }
  template <typename Comm>
  GIN_HOST_DEVICE T* lsaMultimemPtr(Comm const&) const {
    static_assert(gin::nccl::kNever<Comm>, GIN_NCCL_NO_MULTIMEM);
    return nullptr;
  }
};
template <typename T, typename Int>
GIN_HOST_DEVICE ncclSymPtr<T> operator+(ncclSymPtr<T> p, Int d) {
  return p += d;
}
template <typename T, typename Int>
requires std::is_integral_v<Int> GIN_HOST_DEVICE ncclSymPtr<T>
operator-(ncclSymPtr<T> p, Int d) { return p -= d; }
template <typename T>
GIN_HOST_DEVICE std::ptrdiff_t operator-(ncclSymPtr<T> a, ncclSymPtr<T> b) {
  return (static_cast<std::ptrdiff_t>(a.offset) - static_cast<std::ptrdiff_t>(b.offset)) /
         static_cast<std::ptrdiff_t>(sizeof(T));
}
template <typename T>
GIN_HOST_DEVICE bool operator==(ncclSymPtr<T> a, ncclSymPtr<T> b) {
  return a.window == b.window && a.offset == b.offset;
}

// Buffers of ncclDevResourceRequirements, in comm.resourceWindow.
GIN_HOST_DEVICE inline std::size_t ncclGetResourceBufferOffset(ncclDevResourceHandle_t h) {
  return std::size_t{h} * 128;
}
GIN_HOST_DEVICE inline ncclSymPtr<char> ncclGetResourceBuffer(ncclDevComm const& comm,
                                                              ncclDevResourceHandle h) {
  return {comm.resourceWindow, ncclGetResourceBufferOffset(h)};
}
GIN_HOST_DEVICE inline void* ncclGetResourceBufferLocalPointer(ncclDevComm const& comm,
                                                               ncclDevResourceHandle h) {
  return ncclGetResourceBuffer(comm, h).localPtr();
}
GIN_HOST_DEVICE inline void* ncclGetResourceBufferLsaPointer(ncclDevComm const& comm,
                                                             ncclDevResourceHandle h, int peer) {
  return ncclGetResourceBuffer(comm, h).lsaPtr(peer);
}
GIN_HOST_DEVICE inline void* ncclGetResourceBufferPeerPointer(ncclDevComm const& comm,
                                                              ncclDevResourceHandle h,
                                                              ncclTeam team, int peer) {
  return ncclGetResourceBuffer(comm, h).peerPtr(team, peer);
}
