// SPDX-License-Identifier: Apache-2.0
// NCCL's device calls return nothing, so what one of them ends with is kept where
// ncclCommGetAsyncError finds it.
#pragma once

#include "gin/nccl_compat/types.h"
#include "gin/queues/atomics.h"

#include <cstdint>

namespace gin::nccl {

enum class Call : std::uint32_t {
  kPut,
  kPutValue,
  kGet,
  kSignal,
  kFlush,
  kFlushAsync,
  kWait,
  kReadSignal,
  kWaitSignal,
  kShadow,
  kResetSignal,
  kVaSignal,
  kReadCounter,
  kWaitCounter,
  kResetCounter,
  kBarrier,
  kLsaBarrier,
};

// One a device communicator, in memory of the host that its device reaches.  The first failure
// counts; `failed` is the abort flag of every later wait, so that a kernel that cannot go on does
// not wait for one deadline after the other.
struct Fault {
  std::uint32_t failed;  // 1: the rest is valid
  std::uint32_t context;
  std::uint64_t what;    // code << 32 | Call
  std::uint64_t index;   // signal, counter, barrier, window id or peer
  std::uint64_t wanted;  // value waited for, or offset of a VA signal
};

// Of threads that fail at the same moment any may be the one that is kept.
GIN_HOST_DEVICE inline void note(Fault* fault, ginResult_t result, Call call, std::uint32_t context,
                                 std::uint64_t index, std::uint64_t wanted) {
  if (result == ginSuccess || fault == nullptr) return;
  if (queues::load_relaxed_sys(&fault->failed) != 0) return;
  queues::store_relaxed_sys(&fault->context, context);
  queues::store_relaxed_sys(
      &fault->what, static_cast<std::uint64_t>(result) << 32 | static_cast<std::uint64_t>(call));
  queues::store_relaxed_sys(&fault->index, index);
  queues::store_relaxed_sys(&fault->wanted, wanted);
  // Pairs with the acquire of fault_text.
  queues::store_release_sys(&fault->failed, std::uint32_t{1});
}

constexpr const char* call_name(Call call) {
  switch (call) {
    case Call::kPut:
      return "put to peer";
    case Call::kPutValue:
      return "putValue to peer";
    case Call::kGet:
      return "get from peer";
    case Call::kSignal:
      return "signal to peer";
    case Call::kFlush:
      return "flush";
    case Call::kFlushAsync:
      return "flushAsync of peer";
    case Call::kWait:
      return "wait for the flush of rank";
    case Call::kReadSignal:
      return "readSignal of signal";
    case Call::kWaitSignal:
      return "wait for signal";
    case Call::kShadow:
      return "shadow of signal";
    case Call::kResetSignal:
      return "resetSignal of signal";
    case Call::kVaSignal:
      return "VA signal in window";
    case Call::kReadCounter:
      return "readCounter of counter";
    case Call::kWaitCounter:
      return "waitCounter of counter";
    case Call::kResetCounter:
      return "resetCounter of counter";
    case Call::kBarrier:
      return "barrier";
    case Call::kLsaBarrier:
      return "load/store barrier with other ranks";
  }
  return "call";
}

}  // namespace gin::nccl
