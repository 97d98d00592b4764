// SPDX-License-Identifier: Apache-2.0
#include "daemon/config/load.h"

#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
  const std::string_view what = argc == 2 ? argv[1] : "";
  if (what != "toml" && what != "markdown") {
    std::fputs("usage: config_generate toml|markdown\n", stderr);
    return 2;
  }
  const std::string text = what == "toml" ? gind::default_toml() : gind::config_markdown();
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
}
