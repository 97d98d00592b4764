// SPDX-License-Identifier: Apache-2.0
// The options as text: --print-config, the shipped file, the reference in the documentation.
#include "daemon/config/load.h"
#include "daemon/config/value.h"

#include <algorithm>

namespace gind {

namespace {

constexpr std::size_t kWidth = 98;

// "# " before each line of at most kWidth characters.
std::string comment(std::string_view text) {
  std::string out;
  std::string line = "#";
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    if (line.size() + 1 + space > kWidth) {
      out += line + "\n";
      line = "#";
    }
    line += " " + std::string(text.substr(0, space));
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return out + line + "\n";
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] -= 'a' - 'A';
  return text;
}

std::string assignment(const Option& option, const Config& config) {
  return std::string(option.name()) + " = " + toml_value(option, config);
}

// Origins hold paths and must stay on their line.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return text;
}

// A cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

}  // namespace

std::string print_config(const LoadedConfig& loaded) {
  std::string out = "# gind's configuration in effect\n";
  for (const std::string& file : loaded.files) out += "# read: " + one_line(file) + "\n";
  out += "schema = " + std::to_string(kConfigSchema) + "\n";
  std::string_view section;
  for (const Option& option : options()) {
    if (option.section() != section) {
      section = option.section();
      out += "\n[" + std::string(section) + "]\n";
    }
    out += assignment(option, loaded.config) + "  # " +
           one_line(loaded.origins[option_index(option)]) + "\n";
  }
  return out;
}

std::string default_toml() {
  const Config defaults;
  std::string out =
      "# gind's configuration: every option with its built-in default.\n"
      "# An option that is left out has the same value.  Files in conf.d/*.toml beside this one "
      "are\n"
      "# read after it, in the order of their names; then the environment (GIND_PROXY_THREADS), "
      "then\n"
      "# the command line (--set proxy.threads=2).  gind --check-config checks, gind "
      "--print-config\n"
      "# shows what is in effect and where each value came from.  See docs/configuration.md.\n"
      "schema = " +
      std::to_string(kConfigSchema) + "\n";
  for (const Section& section : sections()) {
    out += "\n" + comment(section.doc) + "[" + std::string(section.name) + "]\n";
    for (const Option& option : options()) {
      if (option.section() != section.name) continue;
      out += "\n" + comment(option.doc) + comment(capital(expected_value(option)) + ".") +
             assignment(option, defaults) + "\n";
    }
  }
  return out;
}

std::string config_markdown() {
  const Config defaults;
  std::string out;
  for (const Section& section : sections()) {
    out += "### [" + std::string(section.name) + "]\n\n" + std::string(section.doc) + "\n\n";
    out += "| key | default | value | meaning |\n|---|---|---|---|\n";
    for (const Option& option : options()) {
      if (option.section() != section.name) continue;
      out += "| `" + std::string(option.key) + "` | `" + cell(toml_value(option, defaults)) +
             "` | " + cell(expected_value(option)) + " | " + cell(option.doc);
      if (!option.flag.empty()) out += " Also: `" + std::string(option.flag) + "`.";
      out += " |\n";
    }
    out += "\n";
  }
  return out;
}

}  // namespace gind
