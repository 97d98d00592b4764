/* SPDX-License-Identifier: Apache-2.0 */
/* Result codes shared by the host API, the device API and gind.  Plain C. */
#ifndef GIN_RESULT_H
#define GIN_RESULT_H

/* Values 0 to 7 equal NCCL's ncclResult_t of the same meaning, so that ports keep their numbers.
 * The numbers are part of the ABI and of the segment layout (error words carry them). */
typedef enum ginResult {
  ginSuccess = 0,
  ginUnhandledCudaError = 1,
  ginSystemError = 2,     /* a system call or a library below gind failed */
  ginInternalError = 3,   /* a bug in gind or libginclient */
  ginInvalidArgument = 4, /* one argument is out of its range */
  ginInvalidUsage = 5,    /* arguments are fine, the call is not allowed now or here */
  ginRemoteError = 6,     /* a peer rank, its gind or the path to it failed */
  ginInProgress = 7,
  ginTimeout = 8,          /* a deadline passed */
  ginAborted = 9,          /* the abort flag or ginCommAbort ended the call */
  ginDaemonLost = 10,      /* the local gind is unreachable or went away */
  ginVersionMismatch = 11, /* protocol or segment layout versions differ */
  ginPermissionDenied = 12,
  ginLimitExceeded = 13, /* a quota or a compiled limit; the message names limit and use */
  ginContextError = 14,  /* the context is in error after an earlier fault */
  ginNotSupported = 15,
  ginResultCount_ = 16
} ginResult_t;

#endif
