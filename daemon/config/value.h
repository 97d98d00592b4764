// SPDX-License-Identifier: Apache-2.0
// Values of options: from TOML or plain text into a Config, and back to text.
#pragma once

#include "daemon/config/options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gind {

struct Integer {
  bool negative = false;
  std::uint64_t magnitude = 0;
};

struct Unsupported {
  std::string type;  // "a float", "a table"
};

// What a file says, before it is known whether the option wants that.
using RawValue = std::variant<bool, Integer, std::string, std::vector<Integer>, Unsupported>;

// Reads text from the environment or the command line as the option's kind wants it; text that
// does not fit stays text, so that set_value can say what is wrong.  Lists: "0,2,4-7".
RawValue raw_from_text(const Option& option, std::string_view text);

// Checks the value and stores it.  Returns what is wrong and what would be right, or nothing.
std::optional<std::string> set_value(const Option& option, const RawValue& value, Config& config);

// The option's value as TOML writes it: 32, "64KiB", [0, 1], true.
std::string toml_value(const Option& option, const Config& config);

// "an integer from 1 to 4096": for errors, comments and documentation.
std::string expected_value(const Option& option);

// Text with a unit; nothing when it is malformed, overflows, or has no unit that fits.
std::optional<std::uint64_t> parse_bytes(std::string_view text);        // "64KiB"
std::optional<std::uint64_t> parse_nanoseconds(std::string_view text);  // "200us"
// With the largest unit that divides the value.
std::string format_bytes(std::uint64_t bytes);
std::string format_nanoseconds(std::uint64_t ns);

// TOML basic string: quoted, with escapes for everything that is not printable ASCII.
std::string toml_quote(std::string_view text);

}  // namespace gind
