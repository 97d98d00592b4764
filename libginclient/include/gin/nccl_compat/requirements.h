// SPDX-License-Identifier: Apache-2.0
// What ncclDevCommCreate and ncclCommQueryProperties take.
#pragma once

#include "gin/gin.h"
#include "gin/nccl_compat/types.h"

#include <cstddef>
#include <cstdint>

#define NCCL_API_MAGIC 0xcafebeef

struct ncclDevResourceRequirements {
  ncclDevResourceRequirements* next;
  std::size_t bufferSize, bufferAlign;  // not there: bufferSize must be 0
  ncclDevResourceHandle_t* outBufferHandle;
  int ginSignalCount;
  int ginCounterCount;
  ncclGinSignal_t* outGinSignalStart;
  ncclGinCounter_t* outGinCounterStart;
  // gind's own; ncclGinBarrierCreateRequirement sets them.
  int gindBarrierCount;
  ncclGinBarrierHandle_t* outGindBarriers;
};
typedef ncclDevResourceRequirements ncclDevResourceRequirements_t;

struct ncclTeamRequirements {
  ncclTeamRequirements* next;
  ncclTeam_t team;
  bool multimem;  // not there: must be false
  ncclMultimemHandle_t* outMultimemHandle;
};
typedef ncclTeamRequirements ncclTeamRequirements_t;

struct ncclDevCommRequirements {
  std::size_t size;
  unsigned int magic;
  unsigned int version;

  ncclDevResourceRequirements_t* resourceRequirementsList;
  ncclTeamRequirements_t* teamRequirementsList;
  bool lsaMultimem;  // not there: must be false
  int barrierCount;
  int lsaBarrierCount;
  int railGinBarrierCount;
  int lsaLLA2ABlockCount, lsaLLA2ASlotCount;  // not there: must be 0
  bool ginForceEnable;
  int ginContextCount;
  int ginSignalCount;   // per context
  int ginCounterCount;  // per context
  ncclGinConnectionType_t ginConnectionType;
  bool ginExclusiveContexts;
  int ginQueueDepth;
  int ginTrafficClass;  // not used: the fabric's configuration has it
  int worldGinBarrierCount;
  bool ginStrongSignalsRequired;  // false: the signals without a mark are weak
  bool ginVaSignalsRequired;

  // gind's own; the zero values are its defaults.
  ginSharing_t gindSharing;    // must suit all uses of a context
  std::int64_t gindTimeoutNs;  // of every wait; 0: the daemon's default
  ginPoster_t gindPoster;
};
typedef ncclDevCommRequirements ncclDevCommRequirements_t;

#define NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER                                                     \
  {                                                                                                \
    sizeof(ncclDevCommRequirements_t), NCCL_API_MAGIC, NCCL_VERSION_CODE, nullptr, nullptr, false, \
        0, 0, 0, 0, 0, false, 4, 0, 0, NCCL_GIN_CONNECTION_NONE, false, 0, NCCL_CONFIG_UNDEF_INT,  \
        0, true, true, ginSharingShared, 0, ginPosterAuto                                          \
  }

struct ncclCommProperties {
  std::size_t size;
  unsigned int magic;
  unsigned int version;

  int rank;
  int nRanks;
  int cudaDev;  // -1: no CUDA context when the communicator was made
  int nvmlDev;  // -1: unknown
  bool deviceApiSupport;
  bool multimemSupport;
  ncclGinType_t ginType;
  int nLsaTeams;
  bool hostRmaSupport;
  ncclGinType_t railedGinType;
};
typedef ncclCommProperties ncclCommProperties_t;

#define NCCL_COMM_PROPERTIES_INITIALIZER \
  { sizeof(ncclCommProperties_t), NCCL_API_MAGIC, NCCL_VERSION_CODE }
