/* SPDX-License-Identifier: Apache-2.0 */
/* The handles that kernels take by value.  Plain C; every pointer is valid on the device that the
 * device communicator was made for (the host, when a CPU thread plays the device). */
#ifndef GIN_DEV_COMM_H
#define GIN_DEV_COMM_H

#include <stdint.h>

#define GIN_WIN_DEFAULT 0u
#define GIN_WIN_PEER_ACCESS 2u     /* ginWindowPeerPointer works; the same on all ranks */
#define GIN_WIN_STRICT_ORDERING 1u /* may hold VA-signal words; the same on all ranks */

/* A registered window.  The zero value is not a window. */
typedef struct ginWindow {
  uint32_t id;    /* index + 1 */
  uint32_t flags; /* GIN_WIN_* */
  uint64_t bytes; /* of this rank's part */
  char* base;     /* this rank's part, valid on host and device; null when it has no bytes */
} ginWindow_t;

/* Who may post to a context at the same time.  They differ in speed only. */
typedef enum ginSharing {
  ginSharingShared = 0,   /* any threads of the device */
  ginSharingBlock = 1,    /* the threads of one block, one at a time */
  ginSharingExclusive = 2 /* one thread or warp */
} ginSharing_t;

typedef struct ginDevComm {
  int32_t rank;
  int32_t nRanks;
  uint32_t contexts;
  uint32_t signals;  /* per context, for the application */
  uint32_t counters; /* per context */
  uint32_t log2Depth;
  uint32_t sharing;   /* ginSharing_t */
  uint32_t id;        /* within the communicator */
  int32_t device;     /* CUDA ordinal of the GPU whose kernels use it; -1: threads of the host */
  uint32_t barriers;  /* per context; barrier b has the signals from signals + b * nRanks on */
  uint64_t timeoutNs; /* default deadline of waits; 0: for ever */

  /* The control segment, shared with gind. */
  char* segment;
  uint64_t controlOffset;
  uint64_t doneOffset, doneStride;
  uint64_t signalOffset, signalStride;
  uint64_t counterOffset, counterStride;
  uint64_t ringOffset, ringStride;

  /* The poster's own state, never seen by gind: per context a ProducerState, then
   * lastPosted[ranks], lastQuiet[ranks], signalBase[], signalShadow[] (those of barriers
   * included), counterBase[counters], barrierError[barriers]. */
  char* state;
  uint64_t stateStride;
  uint64_t lastPostedOffset, lastQuietOffset, signalBaseOffset, signalShadowOffset;
  uint64_t counterBaseOffset, barrierErrorOffset;

  const uint64_t* commError;  /* error word, set when gind or the communicator is lost */
  const uint32_t* abortFlag;  /* set by ginCommAbort and ginCommDestroy */
  uint32_t* waiting;          /* threads of the host that wait */
  const uint16_t* localRanks; /* world ranks that share this gind, ascending */
  const uint16_t* railRanks;  /* of each gind the rank at the same place, where it has one */
  int32_t nLocalRanks;
  int32_t localRank; /* index of rank in localRanks */
  int32_t nRailRanks;
  int32_t railRank; /* index of rank in railRanks */
} ginDevComm_t;

#endif
