// SPDX-License-Identifier: Apache-2.0
#include "tools/gin_perf/unique_id.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <thread>

namespace gind::perf {

Result<void> write_unique_id(const std::string& path, const ginUniqueId& id) {
  const std::string unfinished = path + ".unfinished." + std::to_string(::getpid());
  {
    std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
    file.write(id.internal, sizeof id.internal);
    if (!file.flush()) return system_error("writing the unique id to " + unfinished, errno);
  }
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) {
    const int err = errno;
    std::remove(unfinished.c_str());
    return system_error("renaming the unique id's file to " + path, err);
  }
  return {};
}

Result<ginUniqueId> read_unique_id(const std::string& path,
                                   std::chrono::steady_clock::time_point deadline) {
  ginUniqueId id{};
  while (true) {
    std::ifstream file(path, std::ios::binary);
    if (file.read(id.internal, sizeof id.internal)) return id;
    if (std::chrono::steady_clock::now() >= deadline) {
      return Error{ginTimeout, "no unique id in " + path +
                                   " before the deadline: is rank 0 running, with the same "
                                   "--id-file?"};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace gind::perf
