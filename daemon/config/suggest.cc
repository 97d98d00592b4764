// SPDX-License-Identifier: Apache-2.0
#include "daemon/config/suggest.h"

#include "daemon/config/options.h"

#include <algorithm>
#include <vector>

namespace gind {

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows i-2, i-1 and i of the usual matrix (optimal string alignment).
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = last;
    std::swap(last, row);
  }
  return last[b.size()];
}

constexpr std::size_t kLongestName = 64;  // longer ones are no typing errors

}  // namespace

std::optional<std::string_view> nearest(std::string_view name,
                                        std::span<const std::string_view> candidates) {
  if (name.empty() || name.size() > kLongestName) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    // A name that was cut short, or has something behind it, is near whatever its length.
    const bool prefix = name.size() >= 3 && candidate.size() >= 3 &&
                        (candidate.starts_with(name) || name.starts_with(candidate));
    const std::size_t distance = prefix ? 1 : edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::optional<std::string_view> nearest_key(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  const std::string_view section = dot == std::string_view::npos ? "" : key.substr(0, dot);
  const std::string_view name = dot == std::string_view::npos ? key : key.substr(dot + 1);
  std::vector<std::string_view> same_section;
  std::vector<std::string_view> names;
  for (const Option& option : options()) {
    names.push_back(option.name());
    if (option.section() == section) same_section.push_back(option.name());
  }
  // First a slip in the name, then a right or nearly right name in another section.
  if (const auto found = nearest(name, same_section)) {
    return find_option(std::string(section) + "." + std::string(*found))->key;
  }
  if (const auto found = nearest(name, names)) {
    for (const Option& option : options()) {
      if (option.name() == *found) return option.key;
    }
  }
  return std::nullopt;
}

std::string did_you_mean(std::optional<std::string_view> name) {
  return name ? ", did you mean " + std::string(*name) + "?" : "";
}

}  // namespace gind
