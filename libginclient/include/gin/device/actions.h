// SPDX-License-Identifier: Apache-2.0
// What an operation does besides moving data, and how a call may be bounded.
#pragma once

#include "gin/queues/descriptor.h"

#include <cstdint>

using ginSignal_t = std::uint32_t;   // index, 0 .. signals per context - 1
using ginCounter_t = std::uint32_t;  // index, 0 .. counters per context - 1

// No action at the peer.
struct ginNoRemoteAction {
  GIN_HOST_DEVICE void apply(gin::queues::Descriptor&) const {}
};

// Adds `value` to the peer's signal once everything that this context has sent to that peer before,
// data and signals, is visible there.
struct ginSignalAdd {
  ginSignal_t id;
  std::uint64_t value;
  GIN_HOST_DEVICE void apply(gin::queues::Descriptor& d) const {
    d.action = gin::queues::RemoteAction::kAddStrong;
    d.signal = id;
    d.addend = value;
  }
};
struct ginSignalInc {
  ginSignal_t id;
  GIN_HOST_DEVICE void apply(gin::queues::Descriptor& d) const { ginSignalAdd{id, 1}.apply(d); }
};
using ginStrongSignalAdd = ginSignalAdd;
using ginStrongSignalInc = ginSignalInc;

// The same, but vouches only for the put it rides on.
struct ginWeakSignalAdd {
  ginSignal_t id;
  std::uint64_t value;
  GIN_HOST_DEVICE void apply(gin::queues::Descriptor& d) const {
    d.action = gin::queues::RemoteAction::kAddWeak;
    d.signal = id;
    d.addend = value;
  }
};
struct ginWeakSignalInc {
  ginSignal_t id;
  GIN_HOST_DEVICE void apply(gin::queues::Descriptor& d) const { ginWeakSignalAdd{id, 1}.apply(d); }
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

// Whether a put still has to make the payload visible to gind and the NIC.
enum ginFence_t {
  ginFenceDefault = 0,     // the poster releases what the coop wrote before, at system scope
  ginAlreadyReleased = 1,  // the caller has done so (or the payload did not come from this device)
};

// Bounds of a call that may wait: for a condition, or for room in the ring.
struct ginWaitOptions {
  std::int64_t timeoutNs = -1;               // -1: the device communicator's; 0: for ever
  const std::uint32_t* abortFlag = nullptr;  // the call ends with ginAborted when it is not 0
};
