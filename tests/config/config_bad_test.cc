// SPDX-License-Identifier: Apache-2.0
// Malformed configurations: each fault is named with its place, its key and the remedy.
#include "config_fixture.h"

namespace gind {
namespace {

struct BadFile {
  const char* text;      // behind "schema = 1\n", so its first line is 2
  const char* place;     // "line:column: key"
  const char* contains;  // of the rest of the line
};

constexpr BadFile kBadFiles[] = {
    // Unknown names.
    {"[transport]\nprovder = \"tcp\"\n", "3:1: transport.provder",
     "did you mean transport.provider?"},
    {"[proxy]\ncpu = [1]\n", "3:1: proxy.cpu", "did you mean proxy.cpus?"},
    {"[proxy]\nlisten = \"::1\"\n", "3:1: proxy.listen", "did you mean peer.listen?"},
    {"provider = \"tcp\"\n", "2:1: provider", "did you mean transport.provider?"},
    {"[trnasport]\nprovider = \"tcp\"\n", "2:2: [trnasport]", "did you mean [transport]?"},
    {"[zzzzzzzzzz]\n", "2:2: [zzzzzzzzzz]", "unknown section; gind --print-config lists"},
    {"[limits]\nqqqqqqqqqqqq = 1\n", "3:1: limits.qqqqqqqqqqqq",
     "unknown key; gind --print-config"},
    {"proxy = 3\n", "2:1: proxy", "write [proxy]"},
    {"[proxy.burst]\nx = 1\n", "2:1: proxy.burst",
     "a table is not right here; expected an integer"},
    // Wrong types.
    {"[proxy]\nthreads = \"2\"\n", "3:11: proxy.threads",
     "\"2\" is not right here; expected an integer from 0 to 64"},
    {"[proxy]\nthreads = 2.5\n", "3:11: proxy.threads", "a number with a fraction"},
    {"[proxy]\nthreads = true\n", "3:11: proxy.threads", "true is not right here"},
    {"[proxy]\nthreads = 1979-05-27\n", "3:11: proxy.threads", "a date or time"},
    {"[proxy]\ncpus = 1\n", "3:8: proxy.cpus", "expected a list of CPU numbers"},
    {"[proxy]\ncpus = [\"a\"]\n", "3:8: proxy.cpus", "a list of something else than integers"},
    {"[proxy]\ncpus = [-1]\n", "3:8: proxy.cpus", "-1 is out of range"},
    {"[peer]\ninsecure = 1\n", "3:12: peer.insecure",
     "1 is not right here; expected true or false"},
    {"[peer]\ninsecure = \"true\"\n", "3:12: peer.insecure", "expected true or false"},
    {"[daemon]\nsocket = 7\n", "3:10: daemon.socket", "expected an absolute path"},
    // Out of range.
    {"[proxy]\nthreads = -1\n", "3:11: proxy.threads", "-1 is out of range"},
    {"[proxy]\nthreads = 65\n", "3:11: proxy.threads", "from 0 to 64"},
    {"[proxy]\nburst = 0\n", "3:9: proxy.burst", "from 1 to 4096"},
    {"[peer]\nport = 65536\n", "3:8: peer.port", "from 0 to 65535"},
    {"[limits]\ncontexts = 257\n", "3:12: limits.contexts", "from 1 to 256"},
    {"[limits]\nwindows = 4097\n", "3:11: limits.windows", "from 1 to 4096"},
    {"[defaults]\nsignals = 65537\n", "3:11: defaults.signals", "from 0 to 65536"},
    {"[defaults]\nring_units = 100\n", "3:14: defaults.ring_units",
     "not a power of two; the next one is 128"},
    {"[defaults]\nring_units = 32\n", "3:14: defaults.ring_units", "from 64 to 1048576"},
    {"[proxy]\npiece_bytes = 12\n", "3:15: proxy.piece_bytes", "from 1KiB to 1GiB"},
    {"[timeouts]\noperation = \"1ms\"\n", "3:13: timeouts.operation", "from 10ms to 24h"},
    // Units.
    {"[timeouts]\noperation = 30\n", "3:13: timeouts.operation", "30 has no unit; expected a time"},
    {"[timeouts]\noperation = \"30\"\n", "3:13: timeouts.operation", "expected a time with a unit"},
    {"[timeouts]\noperation = \"30 parsecs\"\n", "3:13: timeouts.operation",
     "expected a time with a unit"},
    {"[timeouts]\noperation = \"-5s\"\n", "3:13: timeouts.operation",
     "expected a time with a unit"},
    {"[timeouts]\noperation = \"99999999999999999h\"\n", "3:13: timeouts.operation",
     "expected a time"},
    {"[proxy]\npiece_bytes = \"64KB\"\n", "3:15: proxy.piece_bytes", "write KiB, MiB or GiB"},
    {"[proxy]\npiece_bytes = \"lots\"\n", "3:15: proxy.piece_bytes", "expected a size"},
    // Texts of a form.
    {"[log]\nlevel = \"warn\"\n", "3:9: log.level", "did you mean warning?"},
    {"[transport]\nkind = \"ofii\"\n", "3:8: transport.kind",
     "expected one of \"ofi\", \"loopback\", did you mean ofi?"},
    {"[transport]\nlocal = \"shm\"\n", "3:9: transport.local", "one of \"loopback\", \"fabric\""},
    {"[transport]\nsignal_mode = \"atom\"\n", "3:15: transport.signal_mode",
     "did you mean atomic?"},
    {"[transport]\naddress = \"eth0\"\n", "3:11: transport.address", "expected an IP address"},
    {"[transport]\nprovider = \"\"\n", "3:12: transport.provider", "text of 1 to 128"},
    {"[transport]\nprovider = \"a\\nb\"\n", "3:12: transport.provider",
     "\"a\\u000ab\" is not right here"},
    {"[daemon]\nsocket = \"gind.sock\"\n", "3:10: daemon.socket", "expected an absolute path"},
    {"[daemon]\nsocket_mode = \"rw\"\n", "3:15: daemon.socket_mode", "four octal digits"},
    {"[daemon]\nsocket_mode = \"0888\"\n", "3:15: daemon.socket_mode", "four octal digits"},
    {"[daemon]\nnode_name = \"a b\"\n", "3:13: daemon.node_name", "letters, digits"},
    {"[peer]\nlisten = \"localhost\"\n", "3:10: peer.listen", "expected an IP address"},
    {"[peer]\nlisten = \"\"\n", "3:10: peer.listen", "expected an IP address"},
    {"[metrics]\nlisten = \"9408\"\n", "3:10: metrics.listen", "expected an address with a port"},
    {"[metrics]\nlisten = \"::1:9408\"\n", "3:10: metrics.listen", "\"[::1]:9408\""},
    {"[metrics]\nlisten = \"127.0.0.1:70000\"\n", "3:10: metrics.listen", "expected an address"},
    // Values that do not go together.
    {"[peer]\nlisten = \"0.0.0.0\"\n", "3:10: peer.listen", "set peer.insecure = true"},
    {"[peer]\nlisten = \"fd00::1\"\n", "3:10: peer.listen", "use an address in 127.0.0.0/8 or ::1"},
    {"[defaults]\ncontexts = 8\n[limits]\ncontexts = 4\n", "3:12: defaults.contexts",
     "above limits.contexts = 4"},
    {"[proxy]\ncpus = [0, 1]\nthreads = 1\n", "3:8: proxy.cpus", "set proxy.threads = 2"},
    {"[debug]\nring_start = 4096\n", "3:14: debug.ring_start", "not a multiple of 8192"},
    {"[debug]\nring_start = \"many\"\n", "3:14: debug.ring_start", "an integer of up to 64 bits"},
    // Not TOML.
    {"[proxy\nthreads = 1\n", "2:7", "not valid TOML"},
    {"[proxy]\nthreads = \n", "3:11", "not valid TOML"},
    {"[proxy]\nthreads = 1\nthreads = 2\n", "4:", "not valid TOML"},
    {"[log]\nlevel = info\n", "3:12", "not valid TOML"},
};

class BadConfig : public ConfigTest {};

TEST_F(BadConfig, EachFaultIsNamedWithPlaceKeyAndRemedy) {
  for (const BadFile& bad : kBadFiles) {
    const auto loaded = load_text(std::string("schema = 1\n") + bad.text);
    ASSERT_FALSE(loaded.ok()) << bad.text;
    const std::string& message = loaded.error().message;
    EXPECT_EQ(loaded.error().code, ginInvalidArgument);
    EXPECT_TRUE(message.starts_with(path("default.toml") + ":" + bad.place)) << message;
    EXPECT_NE(message.find(bad.contains), std::string::npos)
        << message << "\nlacks: " << bad.contains;
    EXPECT_EQ(message.find('\n'), std::string::npos) << "one fault, one line:\n" << message;
  }
}

TEST_F(BadConfig, SchemaIsDemandedAndChecked) {
  const auto missing = load_text("[log]\nlevel = \"info\"\n");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message,
            path("default.toml") + ":1:1: schema: missing; write schema = 1 at the top");
  const auto newer = load_text("schema = 2\n");
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().message,
            path("default.toml") + ":1:10: schema: 2 is not known; this gind reads schema = 1");
}

TEST_F(BadConfig, AllFaultsAreReportedAtOnce) {
  sources_.environment = {{"GIND_PEER_PORT", "many"}};
  write("default.toml", "schema = 1\n[proxy]\nburst = 0\nthreads = -1\n");
  const auto loaded = load({"--set", "log.level=loud"});
  ASSERT_FALSE(loaded.ok());
  const std::string& message = loaded.error().message;
  for (const char* part : {":3:9: proxy.burst: 0", ":4:11: proxy.threads: -1",
                           "environment GIND_PEER_PORT: peer.port: \"many\"",
                           "command line --set: log.level: \"loud\""}) {
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
  }
}

TEST_F(BadConfig, FilesThatCannotBeReadAreNamed) {
  const std::string missing = path("missing.toml");
  const auto loaded = load({"--config", missing.c_str()});
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().message, missing + ": cannot be read: No such file or directory");
  const std::string folder = folder_.string();
  EXPECT_FALSE(load({"--config", folder.c_str()}).ok());
  const std::string big = write("big.toml", std::string((1 << 20) + 1, '#'));
  const auto large = load({"--config", big.c_str()});
  ASSERT_FALSE(large.ok());
  EXPECT_NE(large.error().message.find("larger than 1MiB"), std::string::npos);
}

TEST_F(BadConfig, AFaultInADropInIsNamedWithItsOwnPlace) {
  write("default.toml", "schema = 1\n");
  const std::string file = write("conf.d/10-site.toml", "[log]\nlevel = 3\n");
  const auto loaded = load();
  ASSERT_FALSE(loaded.ok());
  EXPECT_TRUE(loaded.error().message.starts_with(file + ":2:9: log.level: 3"))
      << loaded.error().message;
}

TEST_F(BadConfig, WrongVariablesOfOurSectionsAreFaultsAndOthersWarnings) {
  sources_.environment = {{"GIND_TRANSPORT_PROVIDR", "tcp"}};
  const auto fault = load();
  ASSERT_FALSE(fault.ok());
  EXPECT_NE(fault.error().message.find("did you mean GIND_TRANSPORT_PROVIDER?"), std::string::npos)
      << fault.error().message;
  sources_.environment = {{"GIND_NONSENSE", "1"}, {"GIND_SOCKET", "/tmp/x"}};
  const auto warned = load();
  ASSERT_TRUE(warned.ok()) << warned.error().message;
  ASSERT_EQ(warned.value().warnings.size(), 1u);  // GIND_SOCKET is the client library's
  EXPECT_NE(warned.value().warnings[0].find("GIND_NONSENSE"), std::string::npos);
}

TEST_F(BadConfig, RulesAcrossValuesNameTheSourceOfTheValue) {
  const auto loaded = load({"--peer-listen", "192.0.2.1"});
  ASSERT_FALSE(loaded.ok());
  EXPECT_TRUE(loaded.error().message.starts_with("command line --peer-listen: peer.listen: "))
      << loaded.error().message;
}

}  // namespace
}  // namespace gind
