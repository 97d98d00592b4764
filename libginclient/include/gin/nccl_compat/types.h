// SPDX-License-Identifier: Apache-2.0
// Handles, codes and constants under NCCL's names.
#pragma once

#include "gin/dev_comm.h"
#include "gin/device/completion.h"
#include "gin/queues/platform.h"
#include "gin/result.h"

#include <climits>
#include <cstddef>
#include <cstdint>

// The NCCL whose device API this is.
#define NCCL_MAJOR 2
#define NCCL_MINOR 30
#define NCCL_PATCH 7
#define NCCL_SUFFIX "gind"
#define NCCL_VERSION(X, Y, Z) \
  (((X) <= 2 && (Y) <= 8) ? (X)*1000 + (Y)*100 + (Z) : (X)*10000 + (Y)*100 + (Z))
#define NCCL_VERSION_CODE NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH)

#define NCCL_COMM_NULL nullptr
#define NCCL_UNIQUE_ID_BYTES 128
#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_WIN_DEFAULT 0x00
#define NCCL_WIN_COLL_SYMMETRIC 0x01
#define NCCL_WIN_STRICT_ORDERING 0x02
#define NCCL_WIN_REQUIRED_ALIGNMENT 4096

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
  ncclTimeout = 8,
  ncclNumResults = 9
} ncclResult_t;

struct ncclComm;
typedef ncclComm* ncclComm_t;
typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef std::uint32_t ncclGinSignal_t;
typedef std::uint32_t ncclGinCounter_t;
typedef std::uint32_t ncclDevResourceHandle;
typedef ncclDevResourceHandle ncclDevResourceHandle_t;

// A window; where NCCL has a pointer, this is a value.
struct ncclWindow {
  ginWindow_t gin;
  std::int32_t worldRank;  // of whoever registered this part

  ncclWindow() = default;
  GIN_HOST_DEVICE constexpr ncclWindow(std::nullptr_t) : gin{}, worldRank(-1) {}
  GIN_HOST_DEVICE constexpr ncclWindow(const ginWindow_t& window, int rank)
      : gin(window), worldRank(rank) {}
  GIN_HOST_DEVICE constexpr explicit operator bool() const { return gin.id != 0; }
  GIN_HOST_DEVICE friend constexpr bool operator==(const ncclWindow& a, const ncclWindow& b) {
    return a.gin.id == b.gin.id;
  }
};
typedef ncclWindow ncclWindow_t;

struct ncclTeam {
  int nRanks, rank, stride;
};
typedef ncclTeam ncclTeam_t;
struct ncclTeamTagWorld {};
struct ncclTeamTagLsa {};
struct ncclTeamTagRail {};

typedef struct {
  ginRequest_t gin;
} ncclGinRequest_t;

// A range of each context's barriers.  The zero value has none.
struct ncclGinBarrierHandle {
  std::uint32_t first;
  std::uint32_t count;
};
typedef ncclGinBarrierHandle ncclGinBarrierHandle_t;

struct ncclLsaBarrierHandle {
  std::uint32_t count;
};
typedef ncclLsaBarrierHandle ncclLsaBarrierHandle_t;

struct ncclMultimemHandle {
  void* mcBasePtr;
};
typedef ncclMultimemHandle ncclMultimemHandle_t;

typedef enum {
  NCCL_GIN_CONNECTION_NONE,
  NCCL_GIN_CONNECTION_FULL,
  NCCL_GIN_CONNECTION_RAIL,
} ncclGinConnectionType_t;

typedef enum {
  NCCL_GIN_TYPE_NONE = 0,
  NCCL_GIN_TYPE_PROXY = 2,
  NCCL_GIN_TYPE_GDAKI = 3,
  NCCL_GIN_TYPE_GPI = 4,
} ncclGinType_t;

typedef enum {
  NCCL_NET_DEVICE_HOST = 0,
  NCCL_NET_DEVICE_UNPACK = 1,
  NCCL_NET_DEVICE_GIN_PROXY = 2,
  NCCL_NET_DEVICE_GIN_GDAKI = 3,
  NCCL_NET_DEVICE_GIN_GPI = 4,
} ncclNetDeviceType;

enum ncclGinOptFlags {  // hints; gind needs none of them
  ncclGinOptFlagsDefault = 0,
  ncclGinOptFlagsMaySkipCreditCheck = 1 << 0,
  ncclGinOptFlagsAggregateRequests = 1 << 1,
};

enum ncclGinResourceSharingMode : std::uint8_t {
  NCCL_GIN_RESOURCE_SHARING_GPU = 0,
  NCCL_GIN_RESOURCE_SHARING_CTA = 1,
  NCCL_GIN_RESOURCE_SHARING_THREAD = 2,
};

namespace gin::nccl {
struct Fault;
template <typename>
inline constexpr bool kNever = false;

// NCCL has no codes for what only gind has; the message says which it was.
GIN_HOST_DEVICE constexpr ncclResult_t result_of(ginResult_t result) {
  switch (result) {
    case ginAborted:
    case ginLimitExceeded:
    case ginContextError:
    case ginNotSupported:
      return ncclInvalidUsage;
    case ginDaemonLost:
    case ginVersionMismatch:
    case ginPermissionDenied:
      return ncclSystemError;
    default:
      return result <= ginTimeout ? static_cast<ncclResult_t>(result) : ncclInternalError;
  }
}
}  // namespace gin::nccl

// What kernels take by value.
struct ncclDevComm {
  int rank, nRanks;
  int lsaRank, lsaSize;  // 0 and 1: gind has no load/store access to peers
  std::uint32_t ginContextCount;
  int ginSignalCount;   // per context
  int ginCounterCount;  // per context
  bool ginStrongLegacySignals;
  ncclLsaBarrierHandle_t lsaBarrier;
  ncclGinBarrierHandle_t worldGinBarrier;
  ncclGinBarrierHandle_t railGinBarrier;
  ncclGinBarrierHandle_t hybridWorldGinBarrier;
  ncclWindow_t resourceWindow;
  ncclMultimemHandle_t lsaMultimem;  // null

  ginDevComm_t gin;
  gin::nccl::Fault* fault;
};
typedef ncclDevComm ncclDevComm_t;
