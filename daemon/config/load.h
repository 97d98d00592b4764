// SPDX-License-Identifier: Apache-2.0
// Puts the configuration together: command line over GIND_* environment over files over built-in
// defaults (docs/configuration.md).
#pragma once

#include "daemon/config/command_line.h"
#include "daemon/config/config.h"
#include "gind/common/result.h"

#include <string>
#include <utility>
#include <vector>

namespace gind {

inline constexpr const char* kDefaultConfigFile = "/etc/gind/gind.toml";

struct LoadedConfig {
  Config config;
  // Where each value came from, by option_index(): "built-in", "gind.toml:3:10",
  // "environment GIND_PEER_PORT", "command line --set".
  std::vector<std::string> origins;
  std::vector<std::string> files;     // read, in order
  std::vector<std::string> warnings;  // to be logged once logging is set up
};

// What load_config takes from the process; tests give their own.
struct ConfigSources {
  std::string default_file = kDefaultConfigFile;
  std::vector<std::pair<std::string, std::string>> environment;

  static ConfigSources from_process();
};

// Reads and checks everything.  The error's message has one line per fault, each
// "FILE:LINE:COLUMN: key: what is wrong; what would be right" (or with "environment NAME" or
// "command line FLAG" in front).  No value is taken from a configuration with a fault.
Result<LoadedConfig> load_config(const CommandLine& command_line,
                                 const ConfigSources& sources = ConfigSources::from_process());

// The configuration in effect as valid TOML; a comment behind each value says where it came from.
std::string print_config(const LoadedConfig& loaded);

// The built-in defaults with a comment for each key: what is shipped as config/gind.toml.
std::string default_toml();

// The reference part of docs/configuration.md.
std::string config_markdown();

}  // namespace gind
