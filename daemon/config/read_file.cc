// SPDX-License-Identifier: Apache-2.0
#include "daemon/config/load_internal.h"
#include "daemon/config/suggest.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>

namespace gind {

namespace {

constexpr std::size_t kMaxFileBytes = 1 << 20;

std::string place(const std::string& path, const toml::source_region& region) {
  return path + ":" + std::to_string(region.begin.line) + ":" + std::to_string(region.begin.column);
}

Integer integer_of(std::int64_t n) {
  // Negation in unsigned arithmetic: right for the least value, too.
  return n < 0 ? Integer{true, 0 - static_cast<std::uint64_t>(n)}
               : Integer{false, static_cast<std::uint64_t>(n)};
}

RawValue raw_from_node(const toml::node& node) {
  if (const auto* v = node.as_boolean()) return v->get();
  if (const auto* v = node.as_integer()) return integer_of(v->get());
  if (const auto* v = node.as_string()) return v->get();
  if (const auto* array = node.as_array()) {
    std::vector<Integer> list;
    for (const toml::node& element : *array) {
      const auto* n = element.as_integer();
      if (n == nullptr) return Unsupported{"a list of something else than integers"};
      list.push_back(integer_of(n->get()));
    }
    return list;
  }
  if (node.is_table()) return Unsupported{"a table"};
  if (node.is_floating_point()) return Unsupported{"a number with a fraction"};
  return Unsupported{"a date or time"};
}

std::vector<std::string_view> section_names() {
  std::vector<std::string_view> names;
  for (const Section& section : sections()) names.push_back(section.name);
  return names;
}

std::string unknown_key(const std::string& key) {
  return key + ": unknown key" + did_you_mean(nearest_key(key)) +
         "; gind --print-config lists all keys";
}

void read_schema(const std::string& path, bool main, const toml::table& root, Loading& loading) {
  const toml::node* node = root.get("schema");
  if (node == nullptr) {
    if (main) loading.fault(path + ":1:1", "schema: missing; write schema = 1 at the top");
    return;
  }
  const auto* schema = node->as_integer();
  if (schema == nullptr || schema->get() != kConfigSchema) {
    const std::string found =
        schema != nullptr ? std::to_string(schema->get()) + " is not known" : "is not an integer";
    loading.fault(place(path, node->source()), "schema: " + found + "; this gind reads schema = " +
                                                   std::to_string(kConfigSchema));
  }
}

void read_section(const std::string& path, const std::string& section, const toml::table& table,
                  Loading& loading) {
  for (const auto& [name, node] : table) {
    const std::string key = section + "." + std::string(name.str());
    if (find_option(key) == nullptr) {
      loading.fault(place(path, name.source()), unknown_key(key));
    } else {
      loading.set(key, raw_from_node(node), place(path, node.source()));
    }
  }
}

void read_root(const std::string& path, const toml::table& root, Loading& loading) {
  const auto names = section_names();
  for (const auto& [name, node] : root) {
    const std::string section(name.str());
    if (section == "schema") continue;
    const bool known = std::find(names.begin(), names.end(), section) != names.end();
    const std::string where = place(path, name.source());
    if (known && node.is_table()) {
      read_section(path, section, *node.as_table(), loading);
    } else if (known) {
      loading.fault(where,
                    section + ": is a section; write [" + section + "] on a line of its own");
    } else if (node.is_table()) {
      const auto near = nearest(section, names);
      loading.fault(where, "[" + section + "]: unknown section" +
                               (near ? ", did you mean [" + std::string(*near) + "]?" : "") +
                               "; gind --print-config lists all sections");
    } else {
      loading.fault(where, unknown_key(section));
    }
  }
}

}  // namespace

void read_config_file(const std::string& path, bool main, Loading& loading) {
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  if (stream) {
    text.resize(kMaxFileBytes + 1);
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(stream.gcount()));
  }
  if (!stream.is_open() || stream.bad()) {
    loading.fault(path, "cannot be read: " + errno_text(errno));
    return;
  }
  if (text.size() > kMaxFileBytes) {
    loading.fault(path, "is larger than 1MiB; a configuration file is expected here");
    return;
  }
  loading.result.files.push_back(path);
  try {
    const toml::table root = toml::parse(std::string_view(text), std::string_view(path));
    read_schema(path, main, root, loading);
    read_root(path, root, loading);
  } catch (const toml::parse_error& error) {
    loading.fault(place(path, error.source()),
                  "not valid TOML: " + std::string(error.description()));
  }
}

}  // namespace gind
