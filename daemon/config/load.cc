// SPDX-License-Identifier: Apache-2.0
#include "daemon/config/load.h"

#include "daemon/config/load_internal.h"
#include "daemon/config/suggest.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace gind {

namespace {

namespace fs = std::filesystem;

// libginclient's own variable: not gind's.
constexpr std::string_view kClientVariable = "GIND_SOCKET";

void read_files(const CommandLine& command_line, const ConfigSources& sources, Loading& loading) {
  const bool named = !command_line.config_file.empty();
  const fs::path main = named ? command_line.config_file : sources.default_file;
  std::error_code error;
  if (named || fs::exists(main, error)) {
    read_config_file(main.string(), true, loading);
  } else if (error) {
    loading.fault(main.string(), "cannot be read: " + error.message());
  }
  std::vector<std::string> drop_ins;
  const fs::path folder = main.parent_path() / "conf.d";
  if (!fs::is_directory(folder, error)) return;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const fs::path& path = entries->path();
    if (path.extension() == ".toml" && !path.filename().string().starts_with('.')) {
      drop_ins.push_back(path.string());
    }
  }
  if (error) loading.fault(folder.string(), "cannot be listed: " + error.message());
  std::sort(drop_ins.begin(), drop_ins.end());
  for (const std::string& path : drop_ins) read_config_file(path, false, loading);
}

// Whether a variable looks like one of ours: GIND_, then a section's name.
bool names_section(std::string_view variable) {
  return std::any_of(options().begin(), options().end(), [variable](const Option& option) {
    const std::string name = environment_name(option);
    return variable.starts_with(name.substr(0, sizeof("GIND_") + option.section().size()));
  });
}

void read_environment(const ConfigSources& sources, Loading& loading) {
  std::vector<std::string> names;
  for (const Option& option : options()) names.push_back(environment_name(option));
  const std::vector<std::string_view> views(names.begin(), names.end());
  for (const auto& [name, text] : sources.environment) {
    if (!name.starts_with("GIND_") || name == kClientVariable) continue;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) {
      const Option& option = options()[static_cast<std::size_t>(found - names.begin())];
      loading.set(option.key, raw_from_text(option, text), "environment " + name);
      continue;
    }
    const std::string what = "no option has this variable" + did_you_mean(nearest(name, views));
    if (names_section(name)) {
      loading.fault("environment " + name, what + "; unset or correct it");
    } else {
      loading.result.warnings.push_back("environment " + name + ": ignored, " + what);
    }
  }
}

void read_settings(const CommandLine& command_line, Loading& loading) {
  for (const CommandLine::Setting& setting : command_line.settings) {
    const std::string origin = "command line " + setting.source;
    const Option* option = find_option(setting.key);
    if (option == nullptr) {
      loading.fault(origin, setting.key + ": unknown key" + did_you_mean(nearest_key(setting.key)) +
                                "; gind --print-config lists all keys");
    } else {
      loading.set(option->key, raw_from_text(*option, setting.value), origin);
    }
  }
}

}  // namespace

void Loading::set(std::string_view key, const RawValue& value, const std::string& origin) {
  const Option& option = *find_option(key);
  if (const auto problem = set_value(option, value, result.config)) {
    fault(origin, std::string(key) + ": " + *problem);
  } else {
    result.origins[option_index(option)] = origin;
  }
}

ConfigSources ConfigSources::from_process() {
  ConfigSources sources;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (!text.starts_with("GIND_") || equals == std::string_view::npos) continue;
    sources.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return sources;
}

Result<LoadedConfig> load_config(const CommandLine& command_line, const ConfigSources& sources) {
  try {
    Loading loading;
    loading.result.origins.assign(options().size(), "built-in");
    read_files(command_line, sources, loading);
    read_environment(sources, loading);
    read_settings(command_line, loading);
    if (loading.faults.empty()) check_config_rules(loading);
    if (loading.faults.empty()) return std::move(loading.result);
    std::string message;
    for (const std::string& fault : loading.faults) {
      message += (message.empty() ? "" : "\n") + fault;
    }
    return Error{ginInvalidArgument, message};
  } catch (const std::exception& error) {
    return Error{ginInternalError, std::string("configuration: ") + error.what()};
  }
}

}  // namespace gind
