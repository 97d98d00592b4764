// SPDX-License-Identifier: Apache-2.0
// Where the programs of the build tree are: beside this test, wherever the tree lies now.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace gind::test {

// $GIND_BIN_DIR, else the folder of the running test.
inline std::string program(const std::string& name) {
  if (const char* dir = std::getenv("GIND_BIN_DIR")) return std::string(dir) + "/" + name;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

}  // namespace gind::test
