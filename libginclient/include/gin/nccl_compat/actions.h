// SPDX-License-Identifier: Apache-2.0
// NCCL's actions and tags.  gin::nccl::action_of gives gind's action for each.
#pragma once

#include "gin/device/actions.h"
#include "gin/nccl_compat/types.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

struct ncclGin_None {};

struct ncclGin_StrongSignalInc {
  ncclGinSignal_t signal;
};
struct ncclGin_WeakSignalInc {
  ncclGinSignal_t signal;
};
struct ncclGin_StrongSignalAdd {
  ncclGinSignal_t signal;
  std::uint64_t value;
};
struct ncclGin_WeakSignalAdd {
  ncclGinSignal_t signal;
  std::uint64_t value;
};
struct ncclGin_StrongVASignalInc {
  ncclWindow_t signalWindow;
  std::size_t signalOffset;
};
struct ncclGin_WeakVASignalInc {
  ncclWindow_t signalWindow;
  std::size_t signalOffset;
};
struct ncclGin_StrongVASignalAdd {
  ncclWindow_t signalWindow;
  std::size_t signalOffset;
  std::uint64_t value;
};
struct ncclGin_WeakVASignalAdd {
  ncclWindow_t signalWindow;
  std::size_t signalOffset;
  std::uint64_t value;
};
// Without a mark: strong, unless the device communicator was made with ginStrongSignalsRequired
// false.
struct ncclGin_SignalInc {
  ncclGinSignal_t signal;
};
struct ncclGin_SignalAdd {
  ncclGinSignal_t signal;
  std::uint64_t value;
};
struct ncclGin_VASignalInc {
  ncclWindow_t signalWindow;
  std::size_t signalOffset;
};
struct ncclGin_VASignalAdd {
  ncclWindow_t signalWindow;
  std::size_t signalOffset;
  std::uint64_t value;
};

struct ncclGin_WeakCounterInc {
  ncclGinCounter_t counter;
};
struct ncclGin_CounterInc {
  ncclGinCounter_t counter;
};

// Scratch memory for a descriptor; gind needs none.
struct ncclGinDescriptorSmem {
  alignas(16) char space[64];
};
struct ncclGin_DescriptorSmem {
  ncclGinDescriptorSmem* descriptor;
};

// What memory a window consists of; makes no difference to gind.
struct ncclGin_SegmentDevice {};
struct ncclGin_SegmentMixed {};
struct ncclGin_SegmentHostNuma {};

namespace gin::nccl {

// Strong or weak, as the device communicator has it.
struct LegacyAdd {
  ncclGinSignal_t signal;
  std::uint64_t value;
  bool strong;
  GIN_HOST_DEVICE void apply(queues::Descriptor& d) const {
    device::add_indexed(d,
                        strong ? queues::RemoteAction::kAddStrong : queues::RemoteAction::kAddWeak,
                        signal, value);
  }
};
struct LegacyVaAdd {
  ginWindow_t window;
  std::uint64_t offset;
  std::uint64_t value;
  bool strong;
  GIN_HOST_DEVICE void apply(queues::Descriptor& d) const {
    device::add_va(d,
                   strong ? queues::RemoteAction::kVaAddStrong : queues::RemoteAction::kVaAddWeak,
                   window, offset, value);
  }
};

template <typename Action>
GIN_HOST_DEVICE auto action_of(const ncclDevComm& comm, const Action& a) {
  if constexpr (std::is_same_v<Action, ncclGin_None>) {
    return ginNoRemoteAction{};
  } else if constexpr (std::is_same_v<Action, ncclGin_StrongSignalInc>) {
    return ginSignalInc{a.signal};
  } else if constexpr (std::is_same_v<Action, ncclGin_WeakSignalInc>) {
    return ginWeakSignalInc{a.signal};
  } else if constexpr (std::is_same_v<Action, ncclGin_StrongSignalAdd>) {
    return ginSignalAdd{a.signal, a.value};
  } else if constexpr (std::is_same_v<Action, ncclGin_WeakSignalAdd>) {
    return ginWeakSignalAdd{a.signal, a.value};
  } else if constexpr (std::is_same_v<Action, ncclGin_StrongVASignalInc>) {
    return ginVASignalInc{a.signalWindow.gin, a.signalOffset};
  } else if constexpr (std::is_same_v<Action, ncclGin_WeakVASignalInc>) {
    return ginWeakVASignalInc{a.signalWindow.gin, a.signalOffset};
  } else if constexpr (std::is_same_v<Action, ncclGin_StrongVASignalAdd>) {
    return ginVASignalAdd{a.signalWindow.gin, a.signalOffset, a.value};
  } else if constexpr (std::is_same_v<Action, ncclGin_WeakVASignalAdd>) {
    return ginWeakVASignalAdd{a.signalWindow.gin, a.signalOffset, a.value};
  } else if constexpr (std::is_same_v<Action, ncclGin_SignalInc>) {
    return LegacyAdd{a.signal, 1, comm.ginStrongLegacySignals};
  } else if constexpr (std::is_same_v<Action, ncclGin_SignalAdd>) {
    return LegacyAdd{a.signal, a.value, comm.ginStrongLegacySignals};
  } else if constexpr (std::is_same_v<Action, ncclGin_VASignalInc>) {
    return LegacyVaAdd{a.signalWindow.gin, a.signalOffset, 1, comm.ginStrongLegacySignals};
  } else if constexpr (std::is_same_v<Action, ncclGin_VASignalAdd>) {
    return LegacyVaAdd{a.signalWindow.gin, a.signalOffset, a.value, comm.ginStrongLegacySignals};
  } else {
    static_assert(kNever<Action>, "a remote action is ncclGin_None or a ncclGin_*Signal*");
  }
}

template <typename Action>
GIN_HOST_DEVICE auto local_action_of(const Action& a) {
  if constexpr (std::is_same_v<Action, ncclGin_None>) {
    return ginNoLocalAction{};
  } else if constexpr (std::is_same_v<Action, ncclGin_CounterInc> ||
                       std::is_same_v<Action, ncclGin_WeakCounterInc>) {
    return ginCounterInc{a.counter};
  } else {
    static_assert(kNever<Action>, "a local action is ncclGin_None or ncclGin_WeakCounterInc");
  }
}

template <typename T>
inline constexpr bool kIsDescriptor =
    std::is_same_v<T, ncclGin_None> || std::is_same_v<T, ncclGin_DescriptorSmem>;
template <typename T>
inline constexpr bool kIsSegment =
    std::is_same_v<T, ncclGin_SegmentDevice> || std::is_same_v<T, ncclGin_SegmentMixed> ||
    std::is_same_v<T, ncclGin_SegmentHostNuma>;

}  // namespace gin::nccl
