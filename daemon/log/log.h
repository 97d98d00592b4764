// SPDX-License-Identifier: Apache-2.0
// Messages to standard error.  All functions are thread safe; none belongs on the hot path (they
// lock and allocate).  Text that came from a client goes through escape_text first.
#pragma once

#include "gind/common/result.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace gind {

enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarning, kError, kCritical, kCount_ };

inline constexpr std::array<std::string_view, static_cast<std::size_t>(LogLevel::kCount_)>
    kLogLevelNames = {"trace", "debug", "info", "warning", "error", "critical"};
static_assert(!kLogLevelNames.back().empty(), "a level without a name");

// By name, as in the option log.level.
Result<LogLevel> parse_log_level(std::string_view name);

// Least severe level that is written; info at first.
void set_log_level(LogLevel level);
LogLevel log_level();
inline bool log_enabled(LogLevel level) { return level >= log_level(); }

// When standard error is the journal (JOURNAL_STREAM names it), lines carry a priority, "<4>", and
// no time; else a time and the level's name.  Looked up at the first message; call again after
// standard error was replaced.
void detect_log_format();

// Always one line: control characters in `message` are written as escapes.
void log(LogLevel level, std::string_view message);

inline void log_trace(std::string_view message) { log(LogLevel::kTrace, message); }
inline void log_debug(std::string_view message) { log(LogLevel::kDebug, message); }
inline void log_info(std::string_view message) { log(LogLevel::kInfo, message); }
inline void log_warning(std::string_view message) { log(LogLevel::kWarning, message); }
inline void log_error(std::string_view message) { log(LogLevel::kError, message); }
inline void log_critical(std::string_view message) { log(LogLevel::kCritical, message); }

// Messages written at this level since the start: gind_log_messages_total.
std::uint64_t log_count(LogLevel level);

}  // namespace gind
