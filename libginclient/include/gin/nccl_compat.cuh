// SPDX-License-Identifier: Apache-2.0
// NCCL's device API (2.28 to 2.30) and the host calls around it, over gind's: a kernel that keeps
// to that API compiles after its includes of <nccl.h> and <nccl_device.h> are changed to this one.
// What differs: docs/nccl_compat.md.  Header-only; compiles for the host, too.
#pragma once

#if defined(NCCL_H_) || defined(NCCL_MAJOR) || defined(_NCCL_DEVICE_CORE_H_)
#error \
    "gin/nccl_compat.cuh takes the place of <nccl.h> and <nccl_device.h>: include it instead of them, not beside them (docs/nccl_compat.md)"
#endif

#include "gin/nccl_compat/actions.h"
#include "gin/nccl_compat/barrier.h"
#include "gin/nccl_compat/coop.h"
#include "gin/nccl_compat/coop_bcast.h"
#include "gin/nccl_compat/cuda_names.h"
#include "gin/nccl_compat/dev_comm.h"
#include "gin/nccl_compat/gin.h"
#include "gin/nccl_compat/host.h"
#include "gin/nccl_compat/hybrid_barrier.h"
#include "gin/nccl_compat/pointer.h"
#include "gin/nccl_compat/team.h"
#include "gin/nccl_compat/types.h"

// <nccl.h> behind this header: its second declaration says so.
#define pncclMemAlloc \
  _Pragma("GCC error \"<nccl.h> beside gin/nccl_compat.cuh, which replaces it\"") pncclMemAlloc
