// SPDX-License-Identifier: Apache-2.0
// Text forms: units, quoting, what an option expects.
#include "daemon/config/value.h"

#include <algorithm>
#include <charconv>
#include <span>

namespace gind {

namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr Unit kByteUnits[] = {{"B", 1},
                               {"KiB", std::uint64_t{1} << 10},
                               {"MiB", std::uint64_t{1} << 20},
                               {"GiB", std::uint64_t{1} << 30},
                               {"TiB", std::uint64_t{1} << 40}};

constexpr Unit kTimeUnits[] = {{"ns", 1},
                               {"us", 1'000},
                               {"ms", 1'000'000},
                               {"s", 1'000'000'000},
                               {"min", 60'000'000'000},
                               {"h", 3'600'000'000'000}};

std::optional<std::uint64_t> parse_with_unit(std::string_view text, std::span<const Unit> units) {
  std::uint64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc()) return std::nullopt;
  std::string_view name(end, static_cast<std::size_t>(last - end));
  while (name.starts_with(' ')) name.remove_prefix(1);
  for (const Unit& unit : units) {
    std::uint64_t value = 0;
    if (name == unit.name && !__builtin_mul_overflow(number, unit.factor, &value)) return value;
  }
  return std::nullopt;
}

std::string format_with_unit(std::uint64_t value, std::span<const Unit> units) {
  const Unit* best = &units[0];
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0) best = &unit;
  }
  return std::to_string(value / best->factor) + std::string(best->name);
}

std::string range(const std::string& least, const std::string& most) {
  return ", from " + least + " to " + most;
}

}  // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  return parse_with_unit(text, kByteUnits);
}
std::optional<std::uint64_t> parse_nanoseconds(std::string_view text) {
  return parse_with_unit(text, kTimeUnits);
}
std::string format_bytes(std::uint64_t bytes) { return format_with_unit(bytes, kByteUnits); }
std::string format_nanoseconds(std::uint64_t ns) {
  return ns == 0 ? "0s" : format_with_unit(ns, kTimeUnits);
}

std::string toml_quote(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string expected_value(const Option& option) {
  const std::string least = std::to_string(option.min);
  const std::string most = std::to_string(option.max);
  switch (option.kind) {
    case ValueKind::kText:
      return "text of " + least + " to " + most + " printable characters";
    case ValueKind::kName:
      return "a name of " + least + " to " + most + " letters, digits, '.', '_' and '-'";
    case ValueKind::kChoice: {
      std::string text = "one of \"";
      for (const char c : option.choices) text += c == '|' ? "\", \"" : std::string(1, c);
      return text + '"';
    }
    case ValueKind::kFlag:
      return "true or false";
    case ValueKind::kCount:
      return "an integer" + range(least, most).substr(1);
    case ValueKind::kPowerOfTwo:
      return "a power of two" + range(least, most).substr(1);
    case ValueKind::kPosition:
      return "an integer of up to 64 bits, quoted when above " + std::to_string(INT64_MAX);
    case ValueKind::kBytes:
      return "a size such as 65536 or \"64KiB\"" +
             (option.max == INT64_MAX ? std::string()
                                      : range(format_bytes(option.min), format_bytes(option.max)));
    case ValueKind::kDuration:
      return "a time with a unit such as \"200us\", \"5s\" or \"1min\"" +
             range(format_nanoseconds(option.min), format_nanoseconds(option.max));
    case ValueKind::kCpuList:
      return "a list of CPU numbers such as [0, 2], each" + range(least, most).substr(1);
    case ValueKind::kPath:
      return "an absolute path of at most " + most + " bytes";
    case ValueKind::kMode:
      return "four octal digits in quotes such as \"0660\"";
    case ValueKind::kIpAddress:
      return std::string("an IP address such as \"10.0.0.1\" or \"fd00::1\"") +
             (option.min == 0 ? ", or empty" : "");
    case ValueKind::kHostPort:
      return "an address with a port such as \"127.0.0.1:9408\" or \"[::1]:9408\"";
  }
  return "";
}

}  // namespace gind
