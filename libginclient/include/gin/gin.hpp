// SPDX-License-Identifier: Apache-2.0
// A thin C++ layer over gin.h: the same calls, with handles that clean up after themselves.  Codes
// are returned, nothing throws.  Destroy what a communicator made before the communicator.
#pragma once

#include "gin/gin.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace gin {

// Owns a communicator.
class Communicator {
 public:
  Communicator() = default;
  Communicator(Communicator&& other) noexcept : comm_(std::exchange(other.comm_, nullptr)) {}
  Communicator& operator=(Communicator&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }
  ~Communicator() {
    if (comm_ != nullptr) ginCommDestroy(comm_);
  }

  // Collective; see ginCommInitRank.  The handle must be empty.
  ginResult_t init(int nranks, const ginUniqueId& id, int rank) {
    return comm_ != nullptr ? ginInvalidUsage : ginCommInitRank(&comm_, nranks, id, rank);
  }
  ginResult_t finalize() { return ginCommFinalize(comm_); }
  ginResult_t abort() { return ginCommAbort(comm_); }
  ginResult_t async_error() const {
    ginResult_t error = ginSuccess;
    const ginResult_t called = ginCommGetAsyncError(comm_, &error);
    return called != ginSuccess ? called : error;
  }
  ginComm_t get() const { return comm_; }

 private:
  ginComm_t comm_ = nullptr;
};

// Owns memory of ginMemAlloc.
class Memory {
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept
      : comm_(other.comm_), ptr_(std::exchange(other.ptr_, nullptr)), bytes_(other.bytes_) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(ptr_, other.ptr_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Memory() {
    if (ptr_ != nullptr) ginMemFree(comm_, ptr_);
  }

  // The handle must be empty.
  ginResult_t allocate(const Communicator& comm, std::size_t bytes,
                       ginMemKind_t kind = ginMemHost) {
    if (ptr_ != nullptr) return ginInvalidUsage;
    comm_ = comm.get();
    bytes_ = bytes;
    return ginMemAlloc(comm_, &ptr_, bytes, kind);
  }
  void* data() const { return ptr_; }
  std::size_t size() const { return ptr_ != nullptr ? bytes_ : 0; }

 private:
  ginComm_t comm_ = nullptr;
  void* ptr_ = nullptr;
  std::size_t bytes_ = 0;
};

// Owns a window's registration.  Deregistration is collective: let all ranks drop theirs in the
// same order, before the memory.
class Window {
 public:
  Window() = default;
  Window(Window&& other) noexcept
      : comm_(other.comm_), window_(std::exchange(other.window_, ginWindow_t{})) {}
  Window& operator=(Window&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(window_, other.window_);
    return *this;
  }
  ~Window() {
    if (window_.id != 0) ginCommWindowDeregister(comm_, window_);
  }

  // Collective.  The handle must be empty.
  ginResult_t enter(const Communicator& comm, void* ptr, std::size_t bytes,
                    unsigned flags = GIN_WIN_DEFAULT) {
    if (window_.id != 0) return ginInvalidUsage;
    comm_ = comm.get();
    return ginCommWindowRegister(comm_, ptr, bytes, &window_, flags);
  }
  ginWindow_t get() const { return window_; }

 private:
  ginComm_t comm_ = nullptr;
  ginWindow_t window_{};
};

// Owns a device communicator.  Its destruction is collective, too.
class DeviceCommunicator {
 public:
  DeviceCommunicator() = default;
  DeviceCommunicator(DeviceCommunicator&& other) noexcept
      : comm_(other.comm_), handle_(std::exchange(other.handle_, ginDevComm_t{})) {}
  DeviceCommunicator& operator=(DeviceCommunicator&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~DeviceCommunicator() {
    if (handle_.segment != nullptr) ginDevCommDestroy(comm_, &handle_);
  }

  // Collective.  The handle must be empty.
  ginResult_t create(const Communicator& comm, const ginDevCommRequirements_t& requirements) {
    if (handle_.segment != nullptr) return ginInvalidUsage;
    comm_ = comm.get();
    return ginDevCommCreate(comm_, &requirements, &handle_);
  }
  ginResult_t create(const Communicator& comm) {
    const ginDevCommRequirements_t requirements = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
    return create(comm, requirements);
  }
  // What kernels take by value.
  const ginDevComm_t& get() const { return handle_; }

 private:
  ginComm_t comm_ = nullptr;
  ginDevComm_t handle_{};
};

}  // namespace gin
