// SPDX-License-Identifier: Apache-2.0
// What is printed, shipped and documented agrees with what is parsed.
#include "config_fixture.h"

#include <map>
#include <set>

namespace gind {
namespace {

class ConfigText : public ConfigTest {};

const std::filesystem::path kSource = GIND_SOURCE_DIR;

TEST_F(ConfigText, PrintedConfigurationLoadsAsTheSame) {
  write("default.toml", "schema = 1\n[transport]\nprovider = \"a\\\\b\\\"c\"\n");
  sources_.environment = {{"GIND_PROXY_SPIN", "1500ns"}, {"GIND_PROXY_CPUS", "1,2"}};
  const auto first =
      load({"--set", "proxy.threads=2", "--set", "proxy.piece_bytes=5000", "--set",
            "debug.ring_start=18446744073709543424", "--peer-listen", "::1", "--metrics-listen",
            "[::1]:99", "--log-level", "error", "--socket", "/tmp/a b.sock", "--peer-port", "7"});
  ASSERT_TRUE(first.ok()) << first.error().message;
  const std::string text = print_config(first.value());
  sources_.environment.clear();
  const std::string file = write("printed/gind.toml", text);
  const auto second = load({"--config", file.c_str()});
  ASSERT_TRUE(second.ok()) << second.error().message << "\n" << text;
  EXPECT_EQ(values_of(second.value().config), values_of(first.value().config));
}

TEST_F(ConfigText, PrintedConfigurationSaysWhereEachValueCameFrom) {
  const std::string file = write("default.toml", "schema = 1\n[proxy]\nburst = 7\n");
  sources_.environment = {{"GIND_LOG_LEVEL", "debug"}};
  const auto loaded = load({"--provider", "tcp;ofi_rxm"});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const std::string text = print_config(loaded.value());
  for (const std::string& line :
       {"burst = 7  # " + file + ":3:9\n",
        std::string("level = \"debug\"  # environment GIND_LOG_LEVEL\n"),
        std::string("provider = \"tcp;ofi_rxm\"  # command line --provider\n"),
        std::string("clients = 1024  # built-in\n"), "# read: " + file + "\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << text << "\nlacks: " << line;
  }
}

TEST_F(ConfigText, PathsOfOddNamesStayInTheirComment) {
  const std::string file =
      write("a\n[proxy]\nburst = 1/gind.toml", "schema = 1\n[log]\nlevel = \"info\"\n");
  const auto loaded = load({"--config", file.c_str()});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const auto again = load_text(print_config(loaded.value()));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again.value().config.proxy.burst, Config{}.proxy.burst);
}

TEST_F(ConfigText, ShippedFileIsTheGeneratedOneAndEqualsTheDefaults) {
  EXPECT_EQ(read_text(kSource / "config/gind.toml"), default_toml())
      << "config_generate toml >config/gind.toml";
  const auto loaded = load_text(read_text(kSource / "config/gind.toml"));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(values_of(loaded.value().config), values_of(Config{}));
  for (const std::string& origin : loaded.value().origins) {
    EXPECT_TRUE(origin.starts_with(path("default.toml"))) << "not in the shipped file: " << origin;
  }
}

TEST_F(ConfigText, DocumentationHoldsTheGeneratedReference) {
  EXPECT_NE(read_text(kSource / "docs/configuration.md").find(config_markdown()), std::string::npos)
      << "put the output of config_generate markdown into docs/configuration.md";
}

TEST_F(ConfigText, TableIsWhole) {
  std::set<std::string_view> keys;
  std::map<const void*, std::string_view> slots;
  Config config;
  std::string_view section;
  std::set<std::string_view> sections_seen;
  for (const Option& option : options()) {
    EXPECT_TRUE(keys.insert(option.key).second) << option.key;
    const void* slot = std::visit([](auto* p) -> const void* { return p; }, option.slot(config));
    EXPECT_TRUE(slots.emplace(slot, option.key).second)
        << option.key << " shares its value with " << slots[slot];
    if (option.section() != section) {
      section = option.section();
      EXPECT_TRUE(sections_seen.insert(section).second) << section << " is split";
    }
    EXPECT_FALSE(option.doc.empty()) << option.key;
  }
  EXPECT_EQ(sections_seen.size(), sections().size());
}

}  // namespace
}  // namespace gind
