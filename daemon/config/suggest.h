// SPDX-License-Identifier: Apache-2.0
// "Did you mean": the nearest of several names by edit distance.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gind {

// The candidate that needs the fewest insertions, deletions, replacements and swaps of neighbours
// to become `name`; one that begins with `name`, or the other way round, is as near as can be.
// Nothing when none is near enough to be meant.
std::optional<std::string_view> nearest(std::string_view name,
                                        std::span<const std::string_view> candidates);

// The same over the keys of all options: also finds a right name in a wrong section.
std::optional<std::string_view> nearest_key(std::string_view key);

// ", did you mean X?" or nothing.
std::string did_you_mean(std::optional<std::string_view> name);

}  // namespace gind
