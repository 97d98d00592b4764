// SPDX-License-Identifier: Apache-2.0
// Spreads a unique id over a file that all ranks can see: rank 0 writes it, the others wait for it.
// An application would use what it has already: MPI_Bcast, torch's store ...
#pragma once

#include "gin/gin.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

inline bool share_unique_id(const std::string& path, int rank, ginUniqueId* id) {
  if (rank == 0) {
    const std::string unfinished = path + ".unfinished";
    std::ofstream(unfinished, std::ios::binary).write(id->internal, sizeof id->internal);
    return std::rename(unfinished.c_str(), path.c_str()) == 0;  // appears whole or not at all
  }
  for (int tries = 0; tries < 300; ++tries) {  // half a minute
    if (std::ifstream(path, std::ios::binary).read(id->internal, sizeof id->internal)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}
