// SPDX-License-Identifier: Apache-2.0
// Inside daemon/config only.
#pragma once

#include "daemon/config/load.h"
#include "daemon/config/value.h"

#include <string>
#include <string_view>
#include <vector>

namespace gind {

// What is being put together.
struct Loading {
  LoadedConfig result;
  std::vector<std::string> faults;

  void set(std::string_view key, const RawValue& value, const std::string& origin);
  void fault(const std::string& where, std::string_view what) {
    faults.push_back(where + ": " + std::string(what));
  }
};

// Applies one TOML file.  `main`: it must say schema = 1; others may.
void read_config_file(const std::string& path, bool main, Loading& loading);

// Rules that join several values; called only when each is right by itself.
void check_config_rules(Loading& loading);

}  // namespace gind
