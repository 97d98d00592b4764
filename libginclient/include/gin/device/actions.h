// SPDX-License-Identifier: Apache-2.0
// What an operation does besides moving data.
#pragma once

#include "gin/dev_comm.h"
#include "gin/queues/descriptor.h"

#include <cstdint>

using ginSignal_t = std::uint32_t;   // index, 0 .. signals per context - 1
using ginCounter_t = std::uint32_t;  // index, 0 .. counters per context - 1

namespace gin::device {

GIN_HOST_DEVICE inline void add_indexed(queues::Descriptor& d, queues::RemoteAction action,
                                        ginSignal_t id, std::uint64_t value) {
  d.action = action;
  d.signal = id;
  d.addend = value;
}
GIN_HOST_DEVICE inline void add_va(queues::Descriptor& d, queues::RemoteAction action,
                                   const ginWindow_t& window, std::uint64_t offset,
                                   std::uint64_t value) {
  d.action = action;
  d.va_window = window.id - 1;  // of the zero handle: an index without encoding, so it is reported
  d.va_offset = offset;
  d.addend = value;
}

}  // namespace gin::device

// No action at the peer.
struct ginNoRemoteAction {
  GIN_HOST_DEVICE void apply(gin::queues::Descriptor&) const {}
};

// Strong: adds `value` to the peer's signal once everything that this context has sent to that peer
// before, data and signals, is visible there.  Inc and Add may be mixed on one signal.
struct ginSignalAdd {
  ginSignal_t id;
  std::uint64_t value;
  GIN_HOST_DEVICE void apply(gin::queues::Descriptor& d) const {
    gin::device::add_indexed(d, gin::queues::RemoteAction::kAddStrong, id, value);
  }
};
struct ginSignalInc {
  ginSignal_t id;
  GIN_HOST_DEVICE void apply(gin::queues::Descriptor& d) const { ginSignalAdd{id, 1}.apply(d); }
};
using ginStrongSignalAdd = ginSignalAdd;
using ginStrongSignalInc = ginSignalInc;

// Weak: vouches only for the put it rides on.
struct ginWeakSignalAdd {
  ginSignal_t id;
  std::uint64_t value;
  GIN_HOST_DEVICE void apply(gin::queues::Descriptor& d) const {
    gin::device::add_indexed(d, gin::queues::RemoteAction::kAddWeak, id, value);
  }
};
struct ginWeakSignalInc {
  ginSignal_t id;
  GIN_HOST_DEVICE void apply(gin::queues::Descriptor& d) const { ginWeakSignalAdd{id, 1}.apply(d); }
};

// The same on the 8-byte word at `offset` (a multiple of 8) of the peer's part of a window that was
// registered with GIN_WIN_STRICT_ORDERING.  Only gind may write such a word.
struct ginVASignalAdd {
  ginWindow_t window;
  std::uint64_t offset;
  std::uint64_t value;
  GIN_HOST_DEVICE void apply(gin::queues::Descriptor& d) const {
    gin::device::add_va(d, gin::queues::RemoteAction::kVaAddStrong, window, offset, value);
  }
};
struct ginVASignalInc {
  ginWindow_t window;
  std::uint64_t offset;
  GIN_HOST_DEVICE void apply(gin::queues::Descriptor& d) const {
    ginVASignalAdd{window, offset, 1}.apply(d);
  }
};
using ginStrongVASignalAdd = ginVASignalAdd;
using ginStrongVASignalInc = ginVASignalInc;
struct ginWeakVASignalAdd {
  ginWindow_t window;
  std::uint64_t offset;
  std::uint64_t value;
  GIN_HOST_DEVICE void apply(gin::queues::Descriptor& d) const {
    gin::device::add_va(d, gin::queues::RemoteAction::kVaAddWeak, window, offset, value);
  }
};
struct ginWeakVASignalInc {
  ginWindow_t window;
  std::uint64_t offset;
  GIN_HOST_DEVICE void apply(gin::queues::Descriptor& d) const {
    ginWeakVASignalAdd{window, offset, 1}.apply(d);
  }
};

// No action here.
struct ginNoLocalAction {
  GIN_HOST_DEVICE void apply(gin::queues::Descriptor&) const {}
};

// Adds 1 to this rank's counter once the put's source may be reused.
struct ginCounterInc {
  ginCounter_t id;
  GIN_HOST_DEVICE void apply(gin::queues::Descriptor& d) const {
    d.has_counter = true;
    d.counter = id;
  }
};

// Whether an operation still has to make what this device wrote visible to gind and the NIC.
enum ginFence_t {
  ginFenceDefault = 0,     // the poster releases what the coop wrote before, at system scope
  ginAlreadyReleased = 1,  // the caller has done so (or the payload did not come from this device)
};

// What a call orders, as in cuda::memory_order.  Waits acquire unless told otherwise.
enum ginOrder_t {
  ginOrderRelaxed = 0,
  ginOrderAcquire = 1,
  ginOrderRelease = 2,
  ginOrderAcqRel = 3,
};
