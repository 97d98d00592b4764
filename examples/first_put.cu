// SPDX-License-Identifier: Apache-2.0
// Each rank puts a number into the memory of the next one and waits for the number of the one
// before.  first_put.cc is the same with a CPU thread in the kernel's place.
//
//   first_put_cuda NRANKS RANK ID_FILE       GIND_SOCKET names the gind of the rank
#include "gin/device.cuh"
#include "gin/gin.h"
#include "unique_id_file.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

static void check(ginResult_t result, const char* call) {
  if (result == ginSuccess) return;
  std::fprintf(stderr, "%s: %s: %s\n", call, ginGetErrorString(result), ginGetLastError());
  std::exit(1);
}

static void cuda_check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(result));
  std::exit(1);
}

// Put 8 bytes with a signal to the next rank, wait for the signal of the one before.
static __device__ ginResult_t pass_on(const ginDevComm_t& dev, ginWindow_t window) {
  const ginContext ctx{dev, 0};
  const int next = (dev.rank + 1) % dev.nRanks;
  if (const ginResult_t r =
          ctx.put(ginTeamWorld(dev), next, window, 8, window, 0, 8, ginSignalInc{0});
      r != ginSuccess) {
    return r;
  }
  if (const ginResult_t r = ctx.waitSignal(ginCoopThread{}, 0, 1); r != ginSuccess) return r;
  return ctx.flush();
}

static __global__ void kernel(ginDevComm_t dev, ginWindow_t window, ginResult_t* result) {
  *result = pass_on(dev, window);
}

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: first_put NRANKS RANK ID_FILE\n"), 2;
  const int nranks = std::atoi(argv[1]), rank = std::atoi(argv[2]);
  cuda_check(cudaSetDevice(0), "cudaSetDevice");  // from here on memory and contexts are a GPU's
  ginUniqueId id;
  if (rank == 0) check(ginGetUniqueId(&id), "ginGetUniqueId");
  if (!share_unique_id(argv[3], rank, &id)) return std::fprintf(stderr, "no %s\n", argv[3]), 1;

  ginComm_t comm;
  check(ginCommInitRank(&comm, nranks, id, rank), "ginCommInitRank");
  void* memory;
  check(ginMemAlloc(comm, &memory, 4096, ginMemHost), "ginMemAlloc");
  ginWindow_t window;
  check(ginCommWindowRegister(comm, memory, 4096, &window, GIN_WIN_DEFAULT),
        "ginCommWindowRegister");
  ginDevComm_t dev;
  const ginDevCommRequirements_t defaults = GIN_DEV_COMM_REQUIREMENTS_INITIALIZER;
  check(ginDevCommCreate(comm, &defaults, &dev), "ginDevCommCreate");

  auto* words = static_cast<std::uint64_t*>(memory);
  words[0] = 1000 + static_cast<std::uint64_t>(rank);
  ginResult_t* result;
  cuda_check(cudaMallocHost(&result, sizeof *result), "cudaMallocHost");
  kernel<<<1, 1>>>(dev, window, result);
  cuda_check(cudaDeviceSynchronize(), "kernel");
  check(*result, "kernel");
  std::printf("rank %d of %d received %llu\n", rank, nranks, (unsigned long long)words[1]);
  const bool right = words[1] == 1000 + static_cast<std::uint64_t>((rank + nranks - 1) % nranks);

  check(ginDevCommDestroy(comm, &dev), "ginDevCommDestroy");
  check(ginCommFinalize(comm), "ginCommFinalize");
  check(ginCommDestroy(comm), "ginCommDestroy");
  return right ? 0 : 1;
}
