// SPDX-License-Identifier: Apache-2.0
#include "daemon/config/value.h"

#include "daemon/config/address.h"
#include "daemon/config/suggest.h"

#include <algorithm>
#include <bit>
#include <charconv>

namespace gind {

namespace {

using Problem = std::optional<std::string>;

constexpr std::size_t kMaxListed = 64;  // elements of a list; also bounds "0-4000000000"

std::string number_text(const Integer& n) {
  return (n.negative ? "-" : "") + std::to_string(n.magnitude);
}

// Decimal, or hexadecimal after 0x.
std::optional<Integer> parse_integer(std::string_view text) {
  Integer n;
  if (text.starts_with('-')) {
    n.negative = true;
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, n.magnitude, base);
  if (text.empty() || error != std::errc() || end != last) return std::nullopt;
  if (n.magnitude == 0) n.negative = false;
  return n;
}

std::optional<std::vector<Integer>> parse_list(std::string_view text) {
  std::vector<Integer> list;
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    const std::size_t dash = item.find('-', 1);
    const auto first = parse_integer(item.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_integer(item.substr(dash + 1));
    if (!first || !last || first->negative || last->negative) return std::nullopt;
    if (last->magnitude < first->magnitude || last->magnitude - first->magnitude >= kMaxListed) {
      return std::nullopt;
    }
    for (std::uint64_t n = first->magnitude; n <= last->magnitude; ++n) list.push_back({false, n});
  }
  return list;
}

std::string shown(const RawValue& value) {
  struct {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const Integer& v) const { return number_text(v); }
    std::string operator()(const std::string& v) const { return toml_quote(v.substr(0, 128)); }
    std::string operator()(const std::vector<Integer>&) const { return "a list"; }
    std::string operator()(const Unsupported& v) const { return v.type; }
  } visitor;
  return std::visit(visitor, value);
}

std::string expected(const Option& option) { return "; expected " + expected_value(option); }

Problem wrong(const Option& option, const RawValue& value) {
  return shown(value) + " is not right here" + expected(option);
}

Problem store(const Option& option, std::uint64_t n, Config& config) {
  const Slot slot = option.slot(config);
  if (auto* const* p = std::get_if<std::uint16_t*>(&slot)) **p = static_cast<std::uint16_t>(n);
  if (auto* const* p = std::get_if<std::uint32_t*>(&slot)) **p = static_cast<std::uint32_t>(n);
  if (auto* const* p = std::get_if<std::uint64_t*>(&slot)) **p = n;
  if (auto* const* p = std::get_if<std::chrono::nanoseconds*>(&slot)) {
    **p = std::chrono::nanoseconds(n);
  }
  return std::nullopt;
}

bool in_range(const Option& option, const Integer& n) {
  return !n.negative && n.magnitude >= option.min && n.magnitude <= option.max;
}

Problem set_number(const Option& option, const RawValue& value, Config& config) {
  std::optional<Integer> n;
  if (const auto* integer = std::get_if<Integer>(&value)) n = *integer;
  const auto* text = std::get_if<std::string>(&value);
  if (text != nullptr && option.kind == ValueKind::kPosition) n = parse_integer(*text);
  if (text != nullptr && option.kind == ValueKind::kBytes) {
    const auto bytes = parse_bytes(*text);
    // KB is read by some as 1000 and by others as 1024: neither is taken.
    if (!bytes && text->ends_with("B") && !text->ends_with("iB")) {
      return shown(value) + ": write KiB, MiB or GiB (powers of 1024)" + expected(option);
    }
    if (bytes) n = Integer{false, *bytes};
  }
  if (!n) return wrong(option, value);
  if (!in_range(option, *n)) return shown(value) + " is out of range" + expected(option);
  if (option.kind == ValueKind::kPowerOfTwo && !std::has_single_bit(n->magnitude)) {
    return shown(value) + " is not a power of two; the next one is " +
           std::to_string(std::bit_ceil(n->magnitude)) + expected(option);
  }
  return store(option, n->magnitude, config);
}

Problem set_duration(const Option& option, const RawValue& value, Config& config) {
  if (std::holds_alternative<Integer>(value)) {
    return shown(value) + " has no unit" + expected(option);
  }
  const auto* text = std::get_if<std::string>(&value);
  const auto ns = text != nullptr ? parse_nanoseconds(*text) : std::nullopt;
  if (!ns) return wrong(option, value);
  if (!in_range(option, Integer{false, *ns})) {
    return shown(value) + " is out of range" + expected(option);
  }
  return store(option, *ns, config);
}

Problem set_list(const Option& option, const RawValue& value, Config& config) {
  const auto* list = std::get_if<std::vector<Integer>>(&value);
  if (list == nullptr) return wrong(option, value);
  if (list->size() > kMaxListed) {
    return std::to_string(list->size()) + " elements are too many; at most " +
           std::to_string(kMaxListed) + " are allowed";
  }
  std::vector<std::uint32_t> out;
  for (const Integer& n : *list) {
    if (!in_range(option, n)) return number_text(n) + " is out of range" + expected(option);
    out.push_back(static_cast<std::uint32_t>(n.magnitude));
  }
  *std::get<std::vector<std::uint32_t>*>(option.slot(config)) = std::move(out);
  return std::nullopt;
}

bool printable(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

bool text_fits(const Option& option, const std::string& text) {
  const bool length = text.size() >= option.min && text.size() <= option.max;
  switch (option.kind) {
    case ValueKind::kText:
      return length && printable(text);
    case ValueKind::kName:
      return length && std::all_of(text.begin(), text.end(), is_name_character);
    case ValueKind::kPath:
      return length && text.starts_with('/') && printable(text);
    case ValueKind::kMode:
      return text.size() == 4 && text[0] == '0' &&
             std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '7'; });
    case ValueKind::kIpAddress:
      return (text.empty() && option.min == 0) || is_ip_address(text);
    case ValueKind::kHostPort:
      return parse_host_port(text).ok();
    default:
      return false;
  }
}

Problem set_text(const Option& option, const RawValue& value, Config& config) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return wrong(option, value);
  if (option.kind == ValueKind::kChoice) {
    std::vector<std::string_view> choices;
    for (std::string_view rest = option.choices; !rest.empty();) {
      const std::size_t bar = std::min(rest.find('|'), rest.size());
      choices.push_back(rest.substr(0, bar));
      rest.remove_prefix(std::min(bar + 1, rest.size()));
    }
    if (std::find(choices.begin(), choices.end(), *text) == choices.end()) {
      return *wrong(option, value) + did_you_mean(nearest(*text, choices));
    }
  } else if (!text_fits(option, *text)) {
    return wrong(option, value);
  }
  *std::get<std::string*>(option.slot(config)) = *text;
  return std::nullopt;
}

}  // namespace

RawValue raw_from_text(const Option& option, std::string_view text) {
  switch (option.kind) {
    case ValueKind::kFlag:
      if (text == "true") return true;
      if (text == "false") return false;
      break;
    case ValueKind::kCount:
    case ValueKind::kPowerOfTwo:
    case ValueKind::kPosition:
    case ValueKind::kBytes:
    case ValueKind::kDuration:
      if (const auto n = parse_integer(text)) return *n;
      break;
    case ValueKind::kCpuList:
      if (auto list = parse_list(text)) return std::move(*list);
      break;
    default:
      break;
  }
  return std::string(text);
}

std::optional<std::string> set_value(const Option& option, const RawValue& value, Config& config) {
  switch (option.kind) {
    case ValueKind::kFlag:
      if (!std::holds_alternative<bool>(value)) return wrong(option, value);
      *std::get<bool*>(option.slot(config)) = std::get<bool>(value);
      return std::nullopt;
    case ValueKind::kCount:
    case ValueKind::kPowerOfTwo:
    case ValueKind::kPosition:
    case ValueKind::kBytes:
      return set_number(option, value, config);
    case ValueKind::kDuration:
      return set_duration(option, value, config);
    case ValueKind::kCpuList:
      return set_list(option, value, config);
    default:
      return set_text(option, value, config);
  }
}

std::string toml_value(const Option& option, const Config& config) {
  Config copy = config;  // slots are for writing, too
  struct {
    ValueKind kind;
    std::string number(std::uint64_t n) const {
      if (kind == ValueKind::kBytes && n >= 1024) return toml_quote(format_bytes(n));
      return n > INT64_MAX ? toml_quote(std::to_string(n)) : std::to_string(n);
    }
    std::string operator()(const bool* v) const { return *v ? "true" : "false"; }
    std::string operator()(const std::string* v) const { return toml_quote(*v); }
    std::string operator()(const std::uint16_t* v) const { return number(*v); }
    std::string operator()(const std::uint32_t* v) const { return number(*v); }
    std::string operator()(const std::uint64_t* v) const { return number(*v); }
    std::string operator()(const std::chrono::nanoseconds* v) const {
      return toml_quote(format_nanoseconds(static_cast<std::uint64_t>(v->count())));
    }
    std::string operator()(const std::vector<std::uint32_t>* v) const {
      std::string out = "[";
      for (const std::uint32_t n : *v) out += (out.size() > 1 ? ", " : "") + std::to_string(n);
      return out + "]";
    }
  } visitor{option.kind};
  return std::visit(visitor, option.slot(copy));
}

}  // namespace gind
