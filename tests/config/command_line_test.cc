// SPDX-License-Identifier: Apache-2.0
#include "daemon/config/command_line.h"

#include <gtest/gtest.h>

namespace gind {
namespace {

Result<CommandLine> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "gind");
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

std::string error_of(std::vector<const char*> arguments) {
  const auto line = parse(std::move(arguments));
  return line.ok() ? "no error" : line.error().message;
}

TEST(CommandLine, NoArgumentsAskForNothing) {
  const auto line = parse({});
  ASSERT_TRUE(line.ok()) << line.error().message;
  EXPECT_TRUE(line.value().config_file.empty());
  EXPECT_FALSE(line.value().check_config || line.value().print_config || line.value().version ||
               line.value().help);
  EXPECT_TRUE(line.value().settings.empty());
}

TEST(CommandLine, ActionsAndFileAreRead) {
  const auto line =
      parse({"--config", "/x/y.toml", "--check-config", "--print-config", "--version"});
  ASSERT_TRUE(line.ok()) << line.error().message;
  EXPECT_EQ(line.value().config_file, "/x/y.toml");
  EXPECT_TRUE(line.value().check_config && line.value().print_config && line.value().version);
}

TEST(CommandLine, SettingsKeepTheirOrderAndTheirText) {
  const auto line =
      parse({"--set", "a.b=1", "--set=c.d=x=y", "--set", "a.b=", "--provider", "shm"});
  ASSERT_TRUE(line.ok()) << line.error().message;
  const auto& s = line.value().settings;
  ASSERT_EQ(s.size(), 4u);
  EXPECT_EQ(s[0].key + "|" + s[0].value + "|" + s[0].source, "a.b|1|--set");
  EXPECT_EQ(s[1].key + "|" + s[1].value, "c.d|x=y");
  EXPECT_EQ(s[2].key + "|" + s[2].value, "a.b|");
  EXPECT_EQ(s[3].key + "|" + s[3].value + "|" + s[3].source, "transport.provider|shm|--provider");
}

TEST(CommandLine, ListsInBracketsAreNotSplit) {
  const auto line = parse({"--set", "proxy.cpus=[0, 1]"});
  ASSERT_TRUE(line.ok()) << line.error().message;
  ASSERT_EQ(line.value().settings.size(), 1u);
  EXPECT_EQ(line.value().settings[0].value, "[0, 1]");
}

TEST(CommandLine, CommonOptionsHaveFlagsOfTheirOwn) {
  const auto line =
      parse({"--socket", "/s", "--provider", "tcp", "--peer-listen", "::1", "--peer-port", "1",
             "--metrics-listen", "[::1]:2", "--log-level", "debug"});
  ASSERT_TRUE(line.ok()) << line.error().message;
  std::vector<std::string> keys;
  for (const auto& s : line.value().settings) keys.push_back(s.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"daemon.socket", "log.level", "transport.provider",
                                            "peer.listen", "peer.port", "metrics.listen"}));
}

TEST(CommandLine, HelpListsTheFlags) {
  const auto line = parse({"--help"});
  ASSERT_TRUE(line.ok()) << line.error().message;
  EXPECT_TRUE(line.value().help);
  for (const char* flag : {"--config", "--check-config", "--print-config", "--set", "--version",
                           "--provider", "--peer-listen"}) {
    EXPECT_NE(line.value().help_text.find(flag), std::string::npos) << flag;
  }
}

TEST(CommandLine, FaultsAreNamedWithTheRemedy) {
  EXPECT_EQ(error_of({"--provder", "tcp"}),
            "--provder: unknown option, did you mean --provider?; gind --help lists them");
  EXPECT_EQ(error_of({"--set", "novalue"}),
            "--set novalue: expected KEY=VALUE, such as --set proxy.threads=2");
  EXPECT_EQ(error_of({"--provider", "tcp", "--set", "transport.provider=shm"}),
            "transport.provider: given by --provider and by --set; give it once");
  EXPECT_NE(error_of({"--config"}).find("--config"), std::string::npos);
  EXPECT_NE(error_of({"stray"}).find("stray"), std::string::npos);
  EXPECT_NE(error_of({"--peer-port", "1", "--peer-port", "2"}).find("--peer-port"),
            std::string::npos);
}

}  // namespace
}  // namespace gind
