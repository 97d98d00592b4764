// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gind/common/result.h"

#include <string>
#include <vector>

namespace gind {

// What gind was called with.
struct CommandLine {
  struct Setting {
    std::string key;  // as given: may be unknown
    std::string value;
    std::string source;  // "--set", or the option's own flag: "--provider"
  };

  std::string config_file;  // --config; empty: the default path, if there is a file
  bool check_config = false;
  bool print_config = false;
  bool version = false;
  bool help = false;
  std::string help_text;  // when help
  std::vector<Setting> settings;
};

// Neither prints nor exits.  Keys and values of settings are checked by load_config, not here.
Result<CommandLine> parse_command_line(int argc, const char* const* argv);

}  // namespace gind
