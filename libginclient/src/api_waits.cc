// SPDX-License-Identifier: Apache-2.0
// Flush, quiet, barriers, signals and counters for a CPU thread, with messages.
#include "api_context.h"

using namespace gind::client;  // NOLINT: only this file's helpers
using gind::Error;
using gind::Result;

namespace {

std::string text_of(const ginWaitStatus& status) {
  if (status.kind == ginWaitKindNone) return "nothing waited for";
  return std::string("waiting for ") + ginWaitKindName(status.kind) +
         (status.peer >= 0 ? " of rank " + std::to_string(status.peer) : "") + ": " +
         std::to_string(status.seen) + ", wanted " + std::to_string(status.wanted);
}

template <typename F>
ginResult_t on_va(const char* call, const ginDevComm_t* devComm, int context, uint64_t offset,
                  F&& f) {
  return guarded(call, [&]() -> Result<void> {
    if (auto checked = check_context(devComm, context); !checked) return checked;
    const ginContext ctx{*devComm, context};
    return outcome(f(ctx), devComm, context,
                   [&] { return "VA signal at offset " + std::to_string(offset); });
  });
}

}  // namespace

extern "C" {

ginResult_t ginFlush(const ginDevComm_t* devComm, int context, int64_t timeoutNs) {
  return guarded("ginFlush", [&]() -> Result<void> {
    if (auto checked = check_context(devComm, context); !checked) return checked;
    if (auto checked = check_timeout(timeoutNs); !checked) return checked;
    const ginContext ctx{*devComm, context};
    ginWaitStatus status{};
    const ginResult_t flushed =
        ctx.flush(ginCoopThread{}, ginWaitOptions{timeoutNs, nullptr, &status});
    return outcome(flushed, devComm, context, [&] { return "flush, " + text_of(status); });
  });
}

ginResult_t ginReadSignal(const ginDevComm_t* devComm, int context, uint32_t signal, int bits,
                          uint64_t* value) {
  if (value == nullptr) {
    return keep_error("ginReadSignal", null_argument("value"));
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
                                                           ginWaitOptions{timeoutNs});
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
    return keep_error("ginReadCounter", null_argument("value"));
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
                                                            ginWaitOptions{timeoutNs});
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

ginResult_t ginQuiet(const ginDevComm_t* devComm, int context, int64_t timeoutNs) {
  return guarded("ginQuiet", [&]() -> Result<void> {
    if (auto checked = check_context(devComm, context); !checked) return checked;
    if (auto checked = check_timeout(timeoutNs); !checked) return checked;
    const ginContext ctx{*devComm, context};
    ginWaitStatus status{};
    const ginResult_t done =
        ctx.quiet(ginCoopThread{}, ginWaitOptions{timeoutNs, nullptr, &status});
    return outcome(done, devComm, context, [&] { return "quiet, " + text_of(status); });
  });
}

ginResult_t ginBarrier(const ginDevComm_t* devComm, int context, uint32_t barrier,
                       int64_t timeoutNs) {
  return guarded("ginBarrier", [&]() -> Result<void> {
    if (auto checked = check_context(devComm, context); !checked) return checked;
    if (auto checked = check_timeout(timeoutNs); !checked) return checked;
    const ginContext ctx{*devComm, context};
    ginWaitStatus status{};
    const ginBarrierSession session{ginCoopThread{}, ctx, ginTeamWorld(*devComm), barrier};
    const ginResult_t met = session.sync(ginCoopThread{}, ginOrderAcqRel, ginBarrierFenceAll,
                                         ginWaitOptions{timeoutNs, nullptr, &status});
    return outcome(met, devComm, context, [&] {
      return "barrier " + std::to_string(barrier) + " of " + std::to_string(devComm->barriers) +
             ", " + text_of(status);
    });
  });
}

ginResult_t ginReadSignalVA(const ginDevComm_t* devComm, int context, ginWindow_t window,
                            uint64_t offset, int bits, uint64_t* value) {
  if (value == nullptr) return keep_error("ginReadSignalVA", null_argument("value"));
  return on_va("ginReadSignalVA", devComm, context, offset,
               [&](const ginContext& c) { return c.readSignal(window, offset, value, bits); });
}

ginResult_t ginWaitSignalVA(const ginDevComm_t* devComm, int context, ginWindow_t window,
                            uint64_t offset, uint64_t least, int bits, int64_t timeoutNs) {
  if (auto checked = check_timeout(timeoutNs); !checked) {
    return keep_error("ginWaitSignalVA", checked.error());
  }
  return on_va("ginWaitSignalVA", devComm, context, offset, [&](const ginContext& c) {
    return c.waitSignal(ginCoopThread{}, window, offset, least, bits, ginWaitOptions{timeoutNs});
  });
}

ginResult_t ginResetSignalVA(const ginDevComm_t* devComm, int context, ginWindow_t window,
                             uint64_t offset) {
  return on_va("ginResetSignalVA", devComm, context, offset,
               [&](const ginContext& c) { return c.resetSignal(window, offset); });
}

}  // extern "C"
