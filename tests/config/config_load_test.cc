// SPDX-License-Identifier: Apache-2.0
#include "config_fixture.h"

#include <set>

namespace gind {
namespace {

using namespace std::chrono_literals;

class ConfigLoad : public ConfigTest {};

TEST_F(ConfigLoad, NothingGivenMeansBuiltInValues) {
  const auto loaded = load();
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(values_of(loaded.value().config), values_of(Config{}));
  EXPECT_TRUE(loaded.value().files.empty());
  EXPECT_TRUE(loaded.value().warnings.empty());
  for (const std::string& origin : loaded.value().origins) EXPECT_EQ(origin, "built-in");
}

TEST_F(ConfigLoad, EveryKindOfValueIsRead) {
  const auto loaded = load_text(R"(schema = 1
[daemon]
socket = "/tmp/g.sock"
socket_mode = "0600"
[proxy]
threads = 2
cpus = [3, 1]
piece_bytes = "128KiB"
burst_bytes = 65536
spin = "0s"
nap = "150us"
[defaults]
ring_units = 64
wait = "2min"
[peer]
port = 1
insecure = true
[metrics]
enabled = false
listen = "[::1]:0"
[debug]
ring_start = "0xfffffffffffff000"
sequence_start = 0x7fffffff
)");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Config& c = loaded.value().config;
  EXPECT_EQ(c.daemon.socket, "/tmp/g.sock");
  EXPECT_EQ(c.daemon.socket_mode, "0600");
  EXPECT_EQ(c.proxy.threads, 2u);
  EXPECT_EQ(c.proxy.cpus, (std::vector<std::uint32_t>{3, 1}));
  EXPECT_EQ(c.proxy.piece_bytes, 131072u);
  EXPECT_EQ(c.proxy.burst_bytes, 65536u);
  EXPECT_EQ(c.proxy.spin, 0ns);
  EXPECT_EQ(c.proxy.nap, 150us);
  EXPECT_EQ(c.defaults.ring_units, 64u);
  EXPECT_EQ(c.defaults.wait, 120s);
  EXPECT_EQ(c.peer.port, 1);
  EXPECT_TRUE(c.peer.insecure);
  EXPECT_FALSE(c.metrics.enabled);
  EXPECT_EQ(c.metrics.listen, "[::1]:0");
  EXPECT_EQ(c.debug.ring_start, 0xfffffffffffff000u);
  EXPECT_EQ(c.debug.sequence_start, 0x7fffffffu);
}

TEST_F(ConfigLoad, CommandLineBeatsEnvironmentBeatsDropInsBeatFileBeatsBuiltIn) {
  // Each source sets one key more than the one above it.
  write("default.toml",
        "schema = 1\n[proxy]\nburst = 2\n[limits]\nclients = 2\nwindows = 2\noutstanding = 2\n");
  write("conf.d/20-b.toml", "[proxy]\nburst = 4\n[limits]\nclients = 4\nwindows = 4\n");
  write("conf.d/10-a.toml", "[proxy]\nburst = 3\n[limits]\nwindows = 3\n");
  write("conf.d/.hidden.toml", "[proxy]\nburst = 9\nno = 1\n");
  write("conf.d/notes.txt", "not TOML");
  sources_.environment = {{"GIND_PROXY_BURST", "5"}, {"GIND_LIMITS_CLIENTS", "5"}};
  const auto loaded = load({"--set", "proxy.burst=6"});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const LoadedConfig& l = loaded.value();
  EXPECT_EQ(l.config.proxy.burst, 6u);
  EXPECT_EQ(origin(l, "proxy.burst"), "command line --set");
  EXPECT_EQ(l.config.limits.clients, 5u);
  EXPECT_EQ(origin(l, "limits.clients"), "environment GIND_LIMITS_CLIENTS");
  EXPECT_EQ(l.config.limits.windows, 4u);
  EXPECT_EQ(origin(l, "limits.windows"), path("conf.d/20-b.toml") + ":5:11");
  EXPECT_EQ(l.config.limits.outstanding, 2u);
  EXPECT_EQ(origin(l, "limits.outstanding"), path("default.toml") + ":7:15");
  EXPECT_EQ(origin(l, "limits.contexts"), "built-in");
  EXPECT_EQ(l.files, (std::vector<std::string>{path("default.toml"), path("conf.d/10-a.toml"),
                                               path("conf.d/20-b.toml")}));
}

TEST_F(ConfigLoad, ANamedFileReplacesTheDefaultOne) {
  write("default.toml", "schema = 1\n[proxy]\nburst = 2\n");
  const std::string named = write("other/site.toml", "schema = 1\n[log]\nlevel = \"debug\"\n");
  write("other/conf.d/1.toml", "[log]\nlevel = \"trace\"\n");
  const auto loaded = load({"--config", named.c_str()});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded.value().config.log.level, "trace");
  EXPECT_EQ(loaded.value().config.proxy.burst, Config{}.proxy.burst);
}

TEST_F(ConfigLoad, TheEnvironmentReachesEveryOption) {
  std::set<std::string> names;
  for (const Option& option : options()) {
    ASSERT_TRUE(names.insert(environment_name(option)).second) << option.key << ": name taken";
    // The default's own text, without the quotes, must come through.
    std::string text = toml_value(option, Config{});
    if (text.starts_with('"')) text = text.substr(1, text.size() - 2);
    sources_.environment = {{environment_name(option), text}};
    const auto loaded = load();
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_EQ(origin(loaded.value(), option.key), "environment " + environment_name(option));
    EXPECT_EQ(values_of(loaded.value().config), values_of(Config{}));
  }
}

TEST_F(ConfigLoad, ListsComeFromTextToo) {
  for (const char* text : {"proxy.cpus=0,4-6", "proxy.cpus=[0, 4, 5, 6]"}) {
    const auto loaded = load({"--set", text, "--set", "proxy.threads=4"});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_EQ(loaded.value().config.proxy.cpus, (std::vector<std::uint32_t>{0, 4, 5, 6}));
  }
  for (const char* text :
       {"proxy.cpus=1-", "proxy.cpus=a", "proxy.cpus=3-1", "proxy.cpus=0-4000000000"}) {
    EXPECT_FALSE(load({"--set", text, "--set", "proxy.threads=1"}).ok()) << text;
  }
}

TEST_F(ConfigLoad, InsecurePeerLinkIsAllowedByNameAndWarnedOf) {
  const auto loaded = load({"--peer-listen", "0.0.0.0", "--set", "peer.insecure=true"});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  ASSERT_EQ(loaded.value().warnings.size(), 1u);
  EXPECT_NE(loaded.value().warnings[0].find("peer.insecure"), std::string::npos);
  for (const char* listen : {"127.0.0.1", "127.8.9.10", "::1"}) {
    const auto local = load({"--peer-listen", listen});
    ASSERT_TRUE(local.ok()) << local.error().message;
    EXPECT_TRUE(local.value().warnings.empty());
  }
}

TEST_F(ConfigLoad, RingStartFollowsTheRingSize) {
  EXPECT_TRUE(load({"--set", "defaults.ring_units=64", "--set", "debug.ring_start=128"}).ok());
  EXPECT_FALSE(load({"--set", "defaults.ring_units=64", "--set", "debug.ring_start=64"}).ok());
  const auto high = load({"--set", "debug.ring_start=18446744073709543424"});
  ASSERT_TRUE(high.ok()) << high.error().message;
  EXPECT_EQ(high.value().config.debug.ring_start, 18446744073709543424u);
}

}  // namespace
}  // namespace gind
