// SPDX-License-Identifier: Apache-2.0
// What the C functions of operations share: checks with messages, and outcomes.
#pragma once

#include "enum_value.h"
#include "gin/device.cuh"
#include "gin/gin.h"
#include "last_error.h"

#include <cstring>
#include <string>

namespace gind::client {

inline Result<void> check_context(const ginDevComm_t* devComm, int context) {
  if (devComm == nullptr) return null_argument("devComm");
  if (devComm->segment == nullptr) {
    return Error{ginInvalidArgument, "devComm is zero; make it with ginDevCommCreate"};
  }
  if (devComm->device >= 0) {
    return Error{ginInvalidUsage,
                 "the contexts of this device communicator belong to kernels of GPU " +
                     std::to_string(devComm->device) +
                     "; a CPU thread needs one made with poster = ginPosterHost"};
  }
  if (context < 0 || static_cast<std::uint32_t>(context) >= devComm->contexts) {
    return Error{ginInvalidArgument, "context is " + std::to_string(context) + ", expected 0 .. " +
                                         std::to_string(devComm->contexts - 1)};
  }
  return {};
}

// Device functions do not look at this word when they post (it costs a GPU a trip over PCIe); here
// it is cheap and the error comes early.  A failed peer does not keep others from being written to.
inline Result<void> check_communicator(const ginDevComm_t* devComm) {
  const std::uint64_t e = gin::queues::load_relaxed_sys(devComm->commError);
  if (e == 0 || gin::queues::error_code(e) == ginRemoteError) return {};
  return Error{gin::queues::error_code(e),
               "the communicator is in error; ginCommGetAsyncError tells why"};
}

inline Result<void> check_timeout(std::int64_t timeout_ns) {
  if (timeout_ns >= -1) return {};
  return Error{ginInvalidArgument, "timeoutNs is " + std::to_string(timeout_ns) +
                                       ", expected -1 (default), 0 (for ever) or more"};
}

inline std::string context_text(const ginDevComm_t* devComm, int context) {
  return "context " + std::to_string(context) + " of device communicator " +
         std::to_string(devComm->id);
}

// The outcome of a device function as a Result; `what` says what was tried.
template <typename What>
inline Result<void> outcome(ginResult_t result, const ginDevComm_t* devComm, int context,
                            What&& what) {
  if (result == ginSuccess) return {};
  std::string message = context_text(devComm, context) + ", " + what() + ": ";
  message += ginGetErrorString(result);
  if (result == ginInvalidArgument) {
    message += "; the context is now in error, and ginCommGetAsyncError names field and value";
  }
  return Error{result, message};
}

// Calls f with the action that op stands for.
template <typename F>
Result<ginResult_t> with_action(const ginSignalOp_t& op, std::uint32_t signal, std::uint64_t addend,
                                F&& f) {
  const int value = value_of_enum(op);
  switch (value) {
    case ginSignalNone:
      return f(ginNoRemoteAction{});
    case ginSignalStrongAdd:
      return f(ginSignalAdd{signal, addend});
    case ginSignalWeakAdd:
      return f(ginWeakSignalAdd{signal, addend});
  }
  return Error{ginInvalidArgument, "op is " + std::to_string(value) + ", expected 0 .. 2"};
}

template <std::size_t N>
struct Bytes {
  unsigned char byte[N];
};

// Calls f with the first `bytes` bytes of value as one object.
template <std::size_t N = 1, typename F>
ginResult_t with_bytes(int bytes, const std::uint64_t& value, F&& f) {
  if constexpr (N < 8) {
    if (bytes != static_cast<int>(N)) return with_bytes<N + 1>(bytes, value, f);
  }
  Bytes<N> object;
  std::memcpy(&object, &value, N);
  return f(object);
}

enum class WordKind { kSignal, kCounter };

// Which word, how many bits of it.
inline Result<void> check_word(const ginDevComm_t* devComm, WordKind kind, std::uint32_t index,
                               int bits) {
  const bool signal = kind == WordKind::kSignal;
  const std::uint32_t count = signal ? devComm->signals : devComm->counters;
  const int most = signal ? 64 : static_cast<int>(gin::queues::kCounterBits);
  if (bits < 1 || bits > most) {
    return Error{ginInvalidArgument,
                 "bits is " + std::to_string(bits) + ", expected 1 .. " + std::to_string(most)};
  }
  if (index < count) return {};
  return Error{ginInvalidArgument, std::string(signal ? "signal" : "counter") + " is " +
                                       std::to_string(index) + ", the device communicator has " +
                                       std::to_string(count) + " per context"};
}

// Checks, then f(ginContext&), for functions of one word.  A bad index also goes to the context, as
// the device functions do it.
template <typename F>
ginResult_t on_word(const char* call, const ginDevComm_t* devComm, int context, WordKind kind,
                    std::uint32_t index, int bits, F&& f) {
  return guarded(call, [&]() -> Result<void> {
    if (auto checked = check_context(devComm, context); !checked) return checked;
    ginContext ctx{*devComm, context};
    auto word = check_word(devComm, kind, index, bits);
    const Result<void> done = f(ctx);
    return word ? done : word;
  });
}

inline Result<void> wait_outcome(ginResult_t result, const ginDevComm_t* devComm, int context,
                                 const char* kind, std::uint32_t index, std::uint64_t least,
                                 std::uint64_t value) {
  return outcome(result, devComm, context, [&] {
    return std::string(kind) + " " + std::to_string(index) + " is " + std::to_string(value) +
           ", waited for " + std::to_string(least);
  });
}

inline Result<void> only_code(ginResult_t result) {
  if (result == ginSuccess) return {};
  return Error{result, ginGetErrorString(result)};
}

}  // namespace gind::client
