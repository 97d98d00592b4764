// SPDX-License-Identifier: Apache-2.0
// Operations posted by a CPU thread: ginContext behind C functions, with messages.
#include "api_context.h"

using namespace gind::client;  // NOLINT: only this file's helpers
using gind::Error;
using gind::Result;

namespace {

// Checks, then f(context, world); `what` is said of a failure.
template <typename F>
ginResult_t post(const char* call, const ginDevComm_t* devComm, int context, int peer,
                 const std::string& what, F&& f) {
  return guarded(call, [&]() -> Result<void> {
    if (auto checked = check_context(devComm, context); !checked) return checked;
    if (auto checked = check_communicator(devComm); !checked) return checked;
    const ginContext ctx{*devComm, context};
    return outcome(f(ctx, ginTeamWorld(*devComm)), devComm, context, [&] {
      return what + ", rank " + std::to_string(peer) + " of " + std::to_string(devComm->nRanks);
    });
  });
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

ginResult_t ginGet(const ginDevComm_t* devComm, int context, int peer, ginWindow_t remoteWin,
                   uint64_t remoteOffset, ginWindow_t localWin, uint64_t localOffset,
                   uint64_t bytes) {
  return post("ginGet", devComm, context, peer, std::to_string(bytes) + " bytes",
              [&](const ginContext& ctx, const ginTeam_t& world) {
                return ctx.get(world, peer, remoteWin, remoteOffset, localWin, localOffset, bytes);
              });
}

ginResult_t ginFetchAdd(const ginDevComm_t* devComm, int context, int peer, ginWindow_t remoteWin,
                        uint64_t remoteOffset, uint64_t value, ginWindow_t resultWin,
                        uint64_t resultOffset) {
  return post("ginFetchAdd", devComm, context, peer, "offset " + std::to_string(remoteOffset),
              [&](const ginContext& ctx, const ginTeam_t& world) {
                return ctx.fetchAdd(world, peer, remoteWin, remoteOffset, value, resultWin,
                                    resultOffset);
              });
}

ginResult_t ginCompareSwap(const ginDevComm_t* devComm, int context, int peer,
                           ginWindow_t remoteWin, uint64_t remoteOffset, uint64_t expected,
                           uint64_t desired, ginWindow_t resultWin, uint64_t resultOffset) {
  return post("ginCompareSwap", devComm, context, peer, "offset " + std::to_string(remoteOffset),
              [&](const ginContext& ctx, const ginTeam_t& world) {
                return ctx.compareSwap(world, peer, remoteWin, remoteOffset, expected, desired,
                                       resultWin, resultOffset);
              });
}

ginResult_t ginSignalVA(const ginDevComm_t* devComm, int context, int peer, ginSignalOp_t op,
                        ginWindow_t window, uint64_t offset, uint64_t addend) {
  const int value = value_of_enum(op);
  if (value != ginSignalStrongAdd && value != ginSignalWeakAdd) {
    return keep_error("ginSignalVA",
                      Error{ginInvalidArgument, "op is " + std::to_string(value) +
                                                    ", expected 1 (strong) or 2 (weak)"});
  }
  return post("ginSignalVA", devComm, context, peer, "offset " + std::to_string(offset),
              [&](const ginContext& ctx, const ginTeam_t& world) {
                return value == ginSignalStrongAdd
                           ? ctx.signal(world, peer, ginVASignalAdd{window, offset, addend})
                           : ctx.signal(world, peer, ginWeakVASignalAdd{window, offset, addend});
              });
}

}  // extern "C"
