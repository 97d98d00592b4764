/* SPDX-License-Identifier: Apache-2.0 */
/* gind's host API.  C, stable ABI.  The device functions are in gin/device.cuh.
 *
 * Every call returns a ginResult_t; after a failure ginGetLastError gives this thread's detailed
 * message: what failed, which value, what would be right.  No call exits, aborts or throws, and
 * none blocks for longer than the daemon's configured deadlines.
 *
 * Thread safety: calls on different communicators may run at the same time.  Calls on one
 * communicator are serialised by it, except ginCommGetAsyncError and ginCommAbort, which never
 * wait for another call. */
#ifndef GIN_GIN_H
#define GIN_GIN_H

#include "gin/dev_comm.h"
#include "gin/result.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GIN_VERSION_MAJOR 0
#define GIN_VERSION_MINOR 1
#define GIN_VERSION_PATCH 0
#define GIN_VERSION (GIN_VERSION_MAJOR * 10000 + GIN_VERSION_MINOR * 100 + GIN_VERSION_PATCH)

#if defined(__GNUC__)
#define GIN_API __attribute__((visibility("default")))
#else
#define GIN_API
#endif

typedef struct ginComm* ginComm_t;

#define GIN_UNIQUE_ID_BYTES 128
/* Names one rank's gind and a single-use secret.  Opaque; spread it to all ranks unchanged. */
typedef struct ginUniqueId {
  char internal[GIN_UNIQUE_ID_BYTES];
} ginUniqueId;

/* Version of the library in use, as GIN_VERSION. */
GIN_API ginResult_t ginGetVersion(int* version);

/* A short text for a code; never null; static. */
GIN_API const char* ginGetErrorString(ginResult_t result);

/* This thread's last failure in detail, or "" when there was none.  Valid until the thread's next
 * call of this library. */
GIN_API const char* ginGetLastError(void);

/* Asks the local gind ($GIND_SOCKET, else /run/gind/gind.sock) for a new unique id.  It can be
 * used for one communicator, within the gind's rendezvous deadline.
 * Errors: ginDaemonLost (no gind there), ginVersionMismatch, ginPermissionDenied. */
GIN_API ginResult_t ginGetUniqueId(ginUniqueId* id);

/* Joins a communicator; collective over nranks ranks, blocking until all have come or the
 * rendezvous deadline passes.
 * nranks: 1..1024; rank: 0..nranks-1, each once.
 * Errors: ginInvalidArgument (rank or nranks out of range, rank taken, other world size),
 * ginTimeout (which ranks are missing), ginDaemonLost, ginRemoteError (the coordinating gind is
 * unreachable). */
GIN_API ginResult_t ginCommInitRank(ginComm_t* comm, int nranks, ginUniqueId id, int rank);

/* Collective: waits until every operation of this communicator is locally complete. */
GIN_API ginResult_t ginCommFinalize(ginComm_t comm);

/* Leaves and frees the communicator with all its windows and device communicators.  Not
 * collective.  Memory of ginMemAlloc that was not freed is freed.  Threads and kernels that wait on
 * it return ginAborted first; nobody may begin another call on it. */
GIN_API ginResult_t ginCommDestroy(ginComm_t comm);

/* Ends all waits of the communicator, on all threads, with ginAborted, and puts it in error; peers
 * are told.  ginCommDestroy must still be called.  Callable from any thread. */
GIN_API ginResult_t ginCommAbort(ginComm_t comm);

/* *error: ginSuccess, or the first error that befell the communicator (its text is then this
 * thread's ginGetLastError).  ginUnhandledCudaError: a kernel of this process has trapped, and with
 * it the contexts of that GPU are lost. */
GIN_API ginResult_t ginCommGetAsyncError(ginComm_t comm, ginResult_t* error);

GIN_API ginResult_t ginCommCount(ginComm_t comm, int* nranks);
GIN_API ginResult_t ginCommUserRank(ginComm_t comm, int* rank);

typedef struct ginCommProperties {
  size_t size; /* in: sizeof(ginCommProperties); fields beyond it are not written */
  int rank;
  int nRanks;
  int nNodes;      /* ginds that take part */
  int nLocalRanks; /* ranks on this gind */
  int ordered;     /* 1: the fabric keeps order, strong signals cost as much as weak ones */
  int maxWindows;
  int maxOutstanding; /* operations a context may have in flight */
  uint64_t maxPutBytes;
  char transport[32];  /* "ofi", "loopback" */
  char provider[64];   /* "tcp;ofi_rxm" */
  char signalMode[16]; /* "record", "atomic", "sequence" */
} ginCommProperties_t;
GIN_API ginResult_t ginCommQueryProperties(ginComm_t comm, ginCommProperties_t* properties);

typedef enum ginMemKind {
  ginMemHost = 0,  /* a memfd shared with gind; mapped into the GPUs of a process that uses CUDA, at
                    * the same address there */
  ginMemDevice = 1 /* GPU memory; not supported yet */
} ginMemKind_t;

/* Zeroed, page-aligned memory that windows can be registered in.  bytes: 1 .. 2^47-1. */
GIN_API ginResult_t ginMemAlloc(ginComm_t comm, void** ptr, size_t bytes, ginMemKind_t kind);
/* Fails with ginInvalidUsage while a window lies in it. */
GIN_API ginResult_t ginMemFree(ginComm_t comm, void* ptr);

/* Collective; sizes may differ per rank, bytes 0 is allowed (ptr may then be null).  [ptr,
 * ptr+bytes) must lie inside one ginMemAlloc allocation of this communicator, at a multiple of 8;
 * several windows may share one. Errors: ginInvalidArgument, ginLimitExceeded (4,096 windows),
 * ginTimeout (who is missing). */
GIN_API ginResult_t ginCommWindowRegister(ginComm_t comm, void* ptr, size_t bytes,
                                          ginWindow_t* window, unsigned flags);
/* *pointer: where this process, and its kernels, load and store in a rank's part of a window: the
 * own rank's, and that of ranks that share this gind; null for ranks elsewhere and for parts
 * without bytes.  Valid until the window is deregistered here.  Such accesses are ordinary ones:
 * gind orders nothing between them and its own operations but what a signal or a barrier orders.
 * Errors: ginInvalidUsage (the window was registered without GIN_WIN_PEER_ACCESS),
 * ginInvalidArgument (window or peer). */
GIN_API ginResult_t ginWindowPeerPointer(ginComm_t comm, ginWindow_t window, int peer,
                                         void** pointer);
/* Collective.  No operation may be using the window on any rank (flush first). */
GIN_API ginResult_t ginCommWindowDeregister(ginComm_t comm, ginWindow_t window);

/* Whose threads use a device communicator. */
typedef enum ginPoster {
  ginPosterAuto =
      0, /* kernels where the calling thread has a current CUDA context, else the host */
  ginPosterHost = 1, /* threads of the host */
  ginPosterGpu = 2   /* kernels on the calling thread's current CUDA device */
} ginPoster_t;

typedef struct ginDevCommRequirements {
  size_t size;    /* in: sizeof(ginDevCommRequirements) */
  int contexts;   /* 1..256; 0: the daemon's default; the same on all ranks */
  int signals;    /* per context, 0..65536; -1: default; the same on all ranks */
  int counters;   /* per context, 0..65536; -1: default */
  int barriers;   /* per context; each takes nRanks of the 65536 signals; -1: the daemon's default,
                   * or what finds room; the same on all ranks */
  int queueDepth; /* ring units (16 bytes), power of two, 64..2^20; 0: default */
  ginSharing_t sharing;
  int64_t timeoutNs; /* default deadline of device waits; 0: for ever; -1: the daemon's default */
  ginPoster_t poster;
} ginDevCommRequirements_t;
#define GIN_DEV_COMM_REQUIREMENTS_INITIALIZER \
  { sizeof(ginDevCommRequirements_t), 0, -1, -1, -1, 0, ginSharingShared, -1, ginPosterAuto }

/* Collective.  *devComm is passed by value to kernels (or to threads that play them); it is valid
 * until ginDevCommDestroy or ginCommDestroy.  Its contexts belong to one GPU, or to the host; which
 * is in devComm->device.  The ranks need not agree on it.
 * Errors: ginInvalidUsage (ginPosterGpu without a current CUDA context), ginNotSupported
 * (ginPosterGpu in a library built without the CUDA parts), ginUnhandledCudaError, ginTimeout.
 * requirements->size may be larger than this library's struct when what is beyond is zero
 * (ginNotSupported otherwise), never smaller. */
GIN_API ginResult_t ginDevCommCreate(ginComm_t comm, const ginDevCommRequirements_t* requirements,
                                     ginDevComm_t* devComm);
/* Collective.  No kernel may be using it.  Local memory is freed and *devComm zeroed even when an
 * error is returned, unless *devComm is not one of this communicator's (ginInvalidArgument). */
GIN_API ginResult_t ginDevCommDestroy(ginComm_t comm, ginDevComm_t* devComm);

/* Operations posted by a CPU thread, for device communicators of the host (devComm->device is -1,
 * else ginInvalidUsage); the semantics are those of the device functions (gin/device.cuh).
 * `timeoutNs` as above. */
typedef enum ginSignalOp {
  ginSignalNone = 0,
  ginSignalStrongAdd = 1,
  ginSignalWeakAdd = 2
} ginSignalOp_t;

GIN_API ginResult_t ginPut(const ginDevComm_t* devComm, int context, int peer, ginWindow_t dstWin,
                           uint64_t dstOffset, ginWindow_t srcWin, uint64_t srcOffset,
                           uint64_t bytes, ginSignalOp_t op, uint32_t signal, uint64_t addend,
                           int counter /* -1: none */);
GIN_API ginResult_t ginPutValue(const ginDevComm_t* devComm, int context, int peer,
                                ginWindow_t dstWin, uint64_t dstOffset, uint64_t value, int bytes,
                                ginSignalOp_t op, uint32_t signal, uint64_t addend);
GIN_API ginResult_t ginSignal(const ginDevComm_t* devComm, int context, int peer, ginSignalOp_t op,
                              uint32_t signal, uint64_t addend);
/* Bring data, and old values of atomics, into a window of this rank, where they are after ginFlush.
 */
GIN_API ginResult_t ginGet(const ginDevComm_t* devComm, int context, int peer,
                           ginWindow_t remoteWin, uint64_t remoteOffset, ginWindow_t localWin,
                           uint64_t localOffset, uint64_t bytes);
GIN_API ginResult_t ginFetchAdd(const ginDevComm_t* devComm, int context, int peer,
                                ginWindow_t remoteWin, uint64_t remoteOffset, uint64_t value,
                                ginWindow_t resultWin, uint64_t resultOffset);
GIN_API ginResult_t ginCompareSwap(const ginDevComm_t* devComm, int context, int peer,
                                   ginWindow_t remoteWin, uint64_t remoteOffset, uint64_t expected,
                                   uint64_t desired, ginWindow_t resultWin, uint64_t resultOffset);
/* A signal on the 8-byte word at `offset` of the peer's part of a window registered with
 * GIN_WIN_STRICT_ORDERING. */
GIN_API ginResult_t ginSignalVA(const ginDevComm_t* devComm, int context, int peer,
                                ginSignalOp_t op, ginWindow_t window, uint64_t offset,
                                uint64_t addend);
GIN_API ginResult_t ginFlush(const ginDevComm_t* devComm, int context, int64_t timeoutNs);
/* Everything posted before is visible in the peers' memory. */
GIN_API ginResult_t ginQuiet(const ginDevComm_t* devComm, int context, int64_t timeoutNs);
/* The meeting of all ranks at one of the context's barriers; puts to the caller and its own gets
 * are complete after.  A barrier that has failed cannot be used again (ginInvalidUsage). */
GIN_API ginResult_t ginBarrier(const ginDevComm_t* devComm, int context, uint32_t barrier,
                               int64_t timeoutNs);
GIN_API ginResult_t ginReadSignalVA(const ginDevComm_t* devComm, int context, ginWindow_t window,
                                    uint64_t offset, int bits, uint64_t* value);
GIN_API ginResult_t ginWaitSignalVA(const ginDevComm_t* devComm, int context, ginWindow_t window,
                                    uint64_t offset, uint64_t least, int bits, int64_t timeoutNs);
GIN_API ginResult_t ginResetSignalVA(const ginDevComm_t* devComm, int context, ginWindow_t window,
                                     uint64_t offset);
GIN_API ginResult_t ginReadSignal(const ginDevComm_t* devComm, int context, uint32_t signal,
                                  int bits, uint64_t* value);
GIN_API ginResult_t ginWaitSignal(const ginDevComm_t* devComm, int context, uint32_t signal,
                                  uint64_t least, int bits, int64_t timeoutNs);
GIN_API ginResult_t ginResetSignal(const ginDevComm_t* devComm, int context, uint32_t signal);
GIN_API ginResult_t ginReadCounter(const ginDevComm_t* devComm, int context, uint32_t counter,
                                   int bits, uint64_t* value);
GIN_API ginResult_t ginWaitCounter(const ginDevComm_t* devComm, int context, uint32_t counter,
                                   uint64_t least, int bits, int64_t timeoutNs);
GIN_API ginResult_t ginResetCounter(const ginDevComm_t* devComm, int context, uint32_t counter);

#ifdef __cplusplus
}
#endif
#endif
