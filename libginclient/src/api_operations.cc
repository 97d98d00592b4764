// SPDX-License-Identifier: Apache-2.0
// Operations posted by a CPU thread: ginContext behind C functions, with messages.
#include "enum_value.h"
#include "gin/device.cuh"
#include "gin/gin.h"
#include "last_error.h"

#include <cstring>

using gind::Error;
using gind::Result;
using gind::client::guarded;

namespace {

Result<void> check_context(const ginDevComm_t* devComm, int context) {
  if (devComm == nullptr) return gind::client::null_argument("devComm");
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
Result<void> check_communicator(const ginDevComm_t* devComm) {
  const std::uint64_t e = gin::queues::load_relaxed_sys(devComm->commError);
  if (e == 0 || gin::queues::error_code(e) == ginRemoteError) return {};
  return Error{gin::queues::error_code(e),
               "the communicator is in error; ginCommGetAsyncError tells why"};
}

Result<void> check_timeout(std::int64_t timeout_ns) {
  if (timeout_ns >= -1) return {};
  return Error{ginInvalidArgument, "timeoutNs is " + std::to_string(timeout_ns) +
                                       ", expected -1 (default), 0 (for ever) or more"};
}

std::string context_text(const ginDevComm_t* devComm, int context) {
  return "context " + std::to_string(context) + " of device communicator " +
         std::to_string(devComm->id);
}

// The outcome of a device function as a Result; `what` says what was tried.
template <typename What>
Result<void> outcome(ginResult_t result, const ginDevComm_t* devComm, int context, What&& what) {
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
  const int value = gind::client::value_of_enum(op);
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
Result<void> check_word(const ginDevComm_t* devComm, WordKind kind, std::uint32_t index, int bits) {
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

Result<void> wait_outcome(ginResult_t result, const ginDevComm_t* devComm, int context,
                          const char* kind, std::uint32_t index, std::uint64_t least,
                          std::uint64_t value) {
  return outcome(result, devComm, context, [&] {
    return std::string(kind) + " " + std::to_string(index) + " is " + std::to_string(value) +
           ", waited for " + std::to_string(least);
  });
}

Result<void> only_code(ginResult_t result) {
  if (result == ginSuccess) return {};
  return Error{result, ginGetErrorString(result)};
}

}  // namespace

extern "C" {

ginResult_t ginPut(const ginDevComm_t* devComm, int context, int peer, ginWindow_t dstWin,
                   uint64_t dstOffset, ginWindow_t srcWin, uint64_t srcOffset, uint64_t bytes,
                   ginSignalOp_t op, uint32_t signal, uint64_t addend, int counter) {
  return guarded("ginPut", [&]() -> Result<void> {
    if (auto checked = check_context(devComm, context); !checked) return checked;
    if (auto checked = check_communicator(devComm); !checked) return checked;
    if (counter < -1) {
      return Error{ginInvalidArgument,
                   "counter is " + std::to_string(counter) + ", expected -1 (none) or an index"};
    }
    const ginContext ctx{*devComm, context};
    const ginTeam_t world = ginTeamWorld(*devComm);
    auto posted = with_action(op, signal, addend, [&](auto action) {
      return counter < 0 ? ctx.put(world, peer, dstWin, dstOffset, srcWin, srcOffset, bytes, action)
                         : ctx.put(world, peer, dstWin, dstOffset, srcWin, srcOffset, bytes, action,
                                   ginCounterInc{static_cast<ginCounter_t>(counter)});
    });
    if (!posted) return posted.error();
    return outcome(posted.value(), devComm, context, [&] {
      return "put of " + std::to_string(bytes) + " bytes to rank " + std::to_string(peer) + " of " +
             std::to_string(devComm->nRanks);
    });
  });
}

ginResult_t ginPutValue(const ginDevComm_t* devComm, int context, int peer, ginWindow_t dstWin,
                        uint64_t dstOffset, uint64_t value, int bytes, ginSignalOp_t op,
                        uint32_t signal, uint64_t addend) {
  return guarded("ginPutValue", [&]() -> Result<void> {
    if (auto checked = check_context(devComm, context); !checked) return checked;
    if (auto checked = check_communicator(devComm); !checked) return checked;
    if (bytes < 1 || bytes > 8) {
      return Error{ginInvalidArgument, "bytes is " + std::to_string(bytes) + ", expected 1 .. 8"};
    }
    const ginContext ctx{*devComm, context};
    const ginTeam_t world = ginTeamWorld(*devComm);
    auto posted = with_action(op, signal, addend, [&](auto action) {
      return with_bytes(bytes, value, [&](auto object) {
        return ctx.putValue(world, peer, dstWin, dstOffset, object, action);
      });
    });
    if (!posted) return posted.error();
    return outcome(posted.value(), devComm, context, [&] {
      return "putValue to rank " + std::to_string(peer) + " of " + std::to_string(devComm->nRanks);
    });
  });
}

ginResult_t ginSignal(const ginDevComm_t* devComm, int context, int peer, ginSignalOp_t op,
                      uint32_t signal, uint64_t addend) {
  return guarded("ginSignal", [&]() -> Result<void> {
    if (auto checked = check_context(devComm, context); !checked) return checked;
    if (auto checked = check_communicator(devComm); !checked) return checked;
    const ginContext ctx{*devComm, context};
    const ginTeam_t world = ginTeamWorld(*devComm);
    auto posted = with_action(op, signal, addend, [&](auto action) -> Result<ginResult_t> {
      if constexpr (std::is_same_v<decltype(action), ginNoRemoteAction>) {
        return Error{ginInvalidArgument, "op is ginSignalNone; a signal needs an action"};
      } else {
        return ctx.signal(world, peer, action);
      }
    });
    if (!posted) return posted.error();
    return outcome(posted.value(), devComm, context, [&] {
      return "signal " + std::to_string(signal) + " to rank " + std::to_string(peer) + " of " +
             std::to_string(devComm->nRanks);
    });
  });
}

ginResult_t ginFlush(const ginDevComm_t* devComm, int context, int64_t timeoutNs) {
  return guarded("ginFlush", [&]() -> Result<void> {
    if (auto checked = check_context(devComm, context); !checked) return checked;
    if (auto checked = check_timeout(timeoutNs); !checked) return checked;
    const ginContext ctx{*devComm, context};
    const ginResult_t flushed = ctx.flush(ginCoopThread{}, ginWaitOptions{timeoutNs, nullptr});
    return outcome(flushed, devComm, context, [] { return std::string("flush"); });
  });
}

ginResult_t ginReadSignal(const ginDevComm_t* devComm, int context, uint32_t signal, int bits,
                          uint64_t* value) {
  if (value == nullptr) {
    return gind::client::keep_error("ginReadSignal", gind::client::null_argument("value"));
  }
  return on_word("ginReadSignal", devComm, context, WordKind::kSignal, signal, bits,
                 [&](ginContext& c) { return only_code(c.readSignal(signal, value, bits)); });
}

ginResult_t ginWaitSignal(const ginDevComm_t* devComm, int context, uint32_t signal, uint64_t least,
                          int bits, int64_t timeoutNs) {
  return on_word("ginWaitSignal", devComm, context, WordKind::kSignal, signal, bits,
                 [&](ginContext& c) -> Result<void> {
                   if (auto checked = check_timeout(timeoutNs); !checked) return checked;
                   const ginResult_t waited = c.waitSignal(ginCoopThread{}, signal, least, bits,
                                                           ginWaitOptions{timeoutNs, nullptr});
                   if (waited == ginSuccess) return {};
                   std::uint64_t value = 0;
                   if (waited != ginInvalidArgument) c.readSignal(signal, &value, bits);
                   return wait_outcome(waited, devComm, context, "signal", signal, least, value);
                 });
}

ginResult_t ginResetSignal(const ginDevComm_t* devComm, int context, uint32_t signal) {
  return on_word("ginResetSignal", devComm, context, WordKind::kSignal, signal, 64,
                 [&](ginContext& c) { return only_code(c.resetSignal(signal)); });
}

ginResult_t ginReadCounter(const ginDevComm_t* devComm, int context, uint32_t counter, int bits,
                           uint64_t* value) {
  if (value == nullptr) {
    return gind::client::keep_error("ginReadCounter", gind::client::null_argument("value"));
  }
  return on_word("ginReadCounter", devComm, context, WordKind::kCounter, counter, bits,
                 [&](ginContext& c) { return only_code(c.readCounter(counter, value, bits)); });
}

ginResult_t ginWaitCounter(const ginDevComm_t* devComm, int context, uint32_t counter,
                           uint64_t least, int bits, int64_t timeoutNs) {
  return on_word("ginWaitCounter", devComm, context, WordKind::kCounter, counter, bits,
                 [&](ginContext& c) -> Result<void> {
                   if (auto checked = check_timeout(timeoutNs); !checked) return checked;
                   const ginResult_t waited = c.waitCounter(ginCoopThread{}, counter, least, bits,
                                                            ginWaitOptions{timeoutNs, nullptr});
                   if (waited == ginSuccess) return {};
                   std::uint64_t value = 0;
                   if (waited != ginInvalidArgument) c.readCounter(counter, &value, bits);
                   return wait_outcome(waited, devComm, context, "counter", counter, least, value);
                 });
}

ginResult_t ginResetCounter(const ginDevComm_t* devComm, int context, uint32_t counter) {
  return on_word("ginResetCounter", devComm, context, WordKind::kCounter, counter,
                 static_cast<int>(gin::queues::kCounterBits),
                 [&](ginContext& c) { return only_code(c.resetCounter(counter)); });
}

}  // extern "C"
