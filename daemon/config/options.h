// SPDX-License-Identifier: Apache-2.0
// The one list of gind's options.  Files, environment, command line, --print-config, the shipped
// config/gind.toml and docs/configuration.md are all made from it.
#pragma once

#include "daemon/config/config.h"

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gind {

enum class ValueKind : std::uint8_t {
  kText,        // any printable text; length min..max
  kName,        // letters, digits, '.', '_', '-'; length min..max
  kChoice,      // one of `choices`
  kFlag,        // true or false
  kCount,       // an integer
  kPowerOfTwo,  // an integer that is a power of two
  kPosition,    // an integer of the full 64 bits; quoted when TOML's 63 do not hold it
  kBytes,       // an integer, or text with a unit: "64KiB"
  kDuration,    // text with a unit: "200us"
  kCpuList,     // a list of integers; each min..max
  kPath,        // an absolute path that fits a Unix socket's address
  kMode,        // four octal digits
  kIpAddress,   // an IP address; empty is allowed when min is 0
  kHostPort,    // "address:port"
};

// Where an option's value lives in a Config.
using Slot = std::variant<bool*, std::string*, std::uint16_t*, std::uint32_t*, std::uint64_t*,
                          std::chrono::nanoseconds*, std::vector<std::uint32_t>*>;

struct Option {
  std::string_view key;  // "section.name"
  ValueKind kind;
  std::uint64_t min;  // see ValueKind; durations in nanoseconds
  std::uint64_t max;
  std::string_view choices;  // kChoice: "a|b|c"
  std::string_view flag;     // its own command line flag, "--socket"; or empty
  std::string_view doc;      // one or more sentences
  Slot (*slot)(Config&);

  std::string_view section() const { return key.substr(0, key.find('.')); }
  std::string_view name() const { return key.substr(key.find('.') + 1); }
};

struct Section {
  std::string_view name;
  std::string_view doc;
};

// In the order of the shipped file; the options of a section are neighbours.
std::span<const Option> options();
std::span<const Section> sections();

// Null when there is none of that key.
const Option* find_option(std::string_view key);
// Position in options().
std::size_t option_index(const Option& option);
// "GIND_TRANSPORT_PROVIDER"
std::string environment_name(const Option& option);

inline constexpr int kConfigSchema = 1;

}  // namespace gind
