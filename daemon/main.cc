// SPDX-License-Identifier: Apache-2.0
#include "daemon/config/command_line.h"
#include "daemon/config/load.h"
#include "daemon/control/daemon.h"
#include "daemon/control/transports.h"
#include "daemon/control/version.h"
#include "daemon/log/log.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;

int fail(int code, const gind::Error& error) {
  std::fprintf(stderr, "gind: %s\n", error.message.c_str());
  return code;
}

int serve(const gind::LoadedConfig& loaded) {
  const gind::Config& config = loaded.config;
  if (const auto level = gind::parse_log_level(config.log.level))
    gind::set_log_level(level.value());
  for (const std::string& warning : loaded.warnings) gind::log_warning(warning);
  std::signal(SIGPIPE, SIG_IGN);
  auto daemon = gind::Daemon::create(config);
  if (!daemon) return fail(kFailure, daemon.error());
  gind::log_info(std::string("gind ") + gind::kVersion + " serves " + config.daemon.socket +
                 (daemon.value()->metrics_address().empty()
                      ? std::string()
                      : "; metrics at http://" + daemon.value()->metrics_address() + "/metrics"));
  const auto ended = daemon.value()->run();
  return ended ? 0 : fail(kFailure, ended.error());
}

}  // namespace

int main(int argc, char** argv) try {
  gind::prepare_process();
  const auto parsed = gind::parse_command_line(argc, argv);
  if (!parsed) return fail(kUsage, parsed.error());
  const gind::CommandLine& command_line = parsed.value();
  if (command_line.help) {
    std::fputs(command_line.help_text.c_str(), stdout);
    return 0;
  }
  if (command_line.version) {
    std::printf("gind %s\n", gind::kVersion);
    return 0;
  }
  const auto loaded = gind::load_config(command_line);
  if (!loaded) return fail(kUsage, loaded.error());  // one line a fault
  if (command_line.print_config) {
    std::fputs(gind::print_config(loaded.value()).c_str(), stdout);
    return 0;
  }
  if (command_line.check_config) {
    for (const std::string& warning : loaded.value().warnings) {
      std::fprintf(stderr, "gind: warning: %s\n", warning.c_str());
    }
    std::puts("the configuration is fine");
    return 0;
  }
  return serve(loaded.value());
} catch (const std::exception& e) {
  // A library below threw where none is expected to; say so instead of calling terminate.
  std::fprintf(stderr, "gind: internal error: %s\n", e.what());
  return kFailure;
}
