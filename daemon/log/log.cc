// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/log.h"

#include "daemon/log/escape.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace gind {

namespace {

constexpr std::size_t kLevels = static_cast<std::size_t>(LogLevel::kCount_);

// Statistics and a threshold: nothing is published through them, so relaxed.
std::array<std::atomic<std::uint64_t>, kLevels> counts{};
std::atomic<LogLevel> threshold{LogLevel::kInfo};

spdlog::level::level_enum spdlog_level(LogLevel level) {
  static constexpr spdlog::level::level_enum kLevel[kLevels] = {
      spdlog::level::trace, spdlog::level::debug, spdlog::level::info,
      spdlog::level::warn,  spdlog::level::err,   spdlog::level::critical};
  return kLevel[static_cast<std::size_t>(level)];
}

// "<6>": sd-daemon(3)'s priority prefix.
class PriorityFlag final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    static constexpr std::string_view kPrefix[] = {"<7>", "<7>", "<6>", "<4>", "<3>", "<2>", "<2>"};
    const std::string_view prefix = kPrefix[static_cast<std::size_t>(message.level)];
    out.append(prefix.data(), prefix.data() + prefix.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PriorityFlag>();
  }
};

// JOURNAL_STREAM is inherited by children whose standard error goes elsewhere: compare, as
// systemd.exec(5) advises.
bool stderr_is_journal() {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat st {};
  if (stream == nullptr || ::fstat(STDERR_FILENO, &st) != 0) return false;
  return std::to_string(st.st_dev) + ":" + std::to_string(st.st_ino) == stream;
}

std::unique_ptr<spdlog::formatter> make_formatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  if (stderr_is_journal()) {
    formatter->add_flag<PriorityFlag>('*').set_pattern("%*%v");
  } else {
    formatter->set_pattern("%Y-%m-%dT%H:%M:%S.%f%z %l %v");
  }
  return formatter;
}

spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    sink->set_formatter(make_formatter());
    spdlog::logger made("gind", std::move(sink));
    made.set_level(spdlog::level::trace);  // the threshold above decides
    made.flush_on(spdlog::level::trace);
    return made;
  }();
  return instance;
}

}  // namespace

Result<LogLevel> parse_log_level(std::string_view name) {
  for (std::size_t i = 0; i < kLevels; ++i) {
    if (kLogLevelNames[i] == name) return static_cast<LogLevel>(i);
  }
  return Error{ginInvalidArgument,
               "log level \"" + escape_text(name) +
                   "\": expected trace, debug, info, warning, error or critical"};
}

void set_log_level(LogLevel level) { threshold.store(level, std::memory_order_relaxed); }
LogLevel log_level() { return threshold.load(std::memory_order_relaxed); }

void detect_log_format() {
  for (const auto& sink : logger().sinks()) sink->set_formatter(make_formatter());
}

void log(LogLevel level, std::string_view message) {
  if (!log_enabled(level)) return;
  counts[static_cast<std::size_t>(level)].fetch_add(1, std::memory_order_relaxed);
  const std::string line = escape_controls(message);
  logger().log(spdlog_level(level), spdlog::string_view_t(line.data(), line.size()));
}

std::uint64_t log_count(LogLevel level) {
  return counts[static_cast<std::size_t>(level)].load(std::memory_order_relaxed);
}

}  // namespace gind
