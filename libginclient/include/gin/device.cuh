// SPDX-License-Identifier: Apache-2.0
// The device API: what kernels call, and CPU threads that play them.  Header-only; compiles as CUDA
// (sm_75 and newer) and as plain C++20.  Guide: docs/api.md.
//
//   ginContext ctx{devComm, contextIndex};
//   ctx.put(ginTeamWorld(devComm), peer, dstWin, dstOff, srcWin, srcOff, bytes, ginSignalInc{0});
//   ctx.waitSignal(ginCoopThread{}, 0, 1);
#pragma once

#include "gin/dev_comm.h"
#include "gin/device/actions.h"
#include "gin/device/barrier.h"
#include "gin/device/context.h"
#include "gin/device/coop.h"
#include "gin/device/session.h"
#include "gin/device/status.h"
#include "gin/device/team.h"
