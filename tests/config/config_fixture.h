// SPDX-License-Identifier: Apache-2.0
// Configuration files in a folder of their own, and loads that see nothing of this machine's.
#pragma once

#include "daemon/config/load.h"
#include "daemon/config/options.h"
#include "daemon/config/value.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace gind {

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

// Every value as TOML writes it, by option_index().
inline std::vector<std::string> values_of(const Config& config) {
  std::vector<std::string> out;
  for (const Option& option : options()) {
    out.push_back(std::string(option.key) + " = " + toml_value(option, config));
  }
  return out;
}

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() {
    std::string name = (std::filesystem::temp_directory_path() / "gind-config-XXXXXX").string();
    const char* made = ::mkdtemp(name.data());
    if (made == nullptr) ADD_FAILURE() << "mkdtemp " << name;
    folder_ = name;
    sources_.default_file = (folder_ / "default.toml").string();
  }
  ~ConfigTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const std::string& name, const std::string& text) {
    const std::filesystem::path file = folder_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
  }

  Result<LoadedConfig> load(std::vector<const char*> arguments = {}) {
    arguments.insert(arguments.begin(), "gind");
    auto line = parse_command_line(static_cast<int>(arguments.size()), arguments.data());
    if (!line) return line.error();
    return load_config(line.value(), sources_);
  }

  // What `text` as the whole file loads as.
  Result<LoadedConfig> load_text(const std::string& text) {
    write("default.toml", text);
    return load();
  }

  static std::string origin(const LoadedConfig& loaded, std::string_view key) {
    return loaded.origins[option_index(*find_option(key))];
  }

  std::filesystem::path folder_;
  ConfigSources sources_;
};

}  // namespace gind
