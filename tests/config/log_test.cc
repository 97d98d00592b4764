// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/log.h"

#include "daemon/log/escape.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <regex>

namespace gind {
namespace {

// What is written to standard error while `body` runs.
template <typename Body>
std::string captured(Body body) {
  testing::internal::CaptureStderr();
  body();
  return testing::internal::GetCapturedStderr();
}

std::string stderr_stream() {
  struct stat st {};
  ::fstat(STDERR_FILENO, &st);
  return std::to_string(st.st_dev) + ":" + std::to_string(st.st_ino);
}

class Log : public ::testing::Test {
 protected:
  ~Log() override {
    ::unsetenv("JOURNAL_STREAM");
    set_log_level(LogLevel::kInfo);
    detect_log_format();
  }
};

TEST_F(Log, LinesHaveTimeLevelAndMessage) {
  const std::string text = captured([] { log_warning("port {} 50% is taken"); });
  EXPECT_TRUE(std::regex_match(
      text, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d warning )"
                       R"(port \{\} 50% is taken\n)")))
      << text;
}

TEST_F(Log, JournalGetsPrioritiesAndNoTime) {
  const std::string text = captured([] {
    ::setenv("JOURNAL_STREAM", stderr_stream().c_str(), 1);
    detect_log_format();
    set_log_level(LogLevel::kTrace);
    log_trace("t");
    log_debug("d");
    log_info("i");
    log_warning("w");
    log_error("e");
    log_critical("c");
  });
  EXPECT_EQ(text, "<7>t\n<7>d\n<6>i\n<4>w\n<3>e\n<2>c\n");
}

TEST_F(Log, AnInheritedJournalStreamThatIsNotOursIsIgnored) {
  const std::string text = captured([] {
    ::setenv("JOURNAL_STREAM", "1:2", 1);
    detect_log_format();
    log_info("x");
  });
  EXPECT_EQ(text.find("<6>"), std::string::npos) << text;
}

TEST_F(Log, MessagesBelowTheLevelAreNeitherWrittenNorCounted) {
  set_log_level(LogLevel::kError);
  const std::uint64_t warnings = log_count(LogLevel::kWarning);
  const std::uint64_t errors = log_count(LogLevel::kError);
  const std::string text = captured([] {
    log_warning("quiet");
    log_error("loud");
  });
  EXPECT_EQ(text.find("quiet"), std::string::npos);
  EXPECT_NE(text.find("loud"), std::string::npos);
  EXPECT_EQ(log_count(LogLevel::kWarning), warnings);
  EXPECT_EQ(log_count(LogLevel::kError), errors + 1);
}

TEST_F(Log, OneMessageIsOneLineWhateverItHolds) {
  const std::string text = captured([] { log_info("a\n<0>forged\r\x1b[2J\x7f \xc3\xa9"); });
  EXPECT_TRUE(text.ends_with("a\\n<0>forged\\r\\x1b[2J\\x7f \xc3\xa9\n")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST_F(Log, LevelsAreReadByName) {
  for (std::size_t i = 0; i < kLogLevelNames.size(); ++i) {
    const auto level = parse_log_level(kLogLevelNames[i]);
    ASSERT_TRUE(level.ok());
    EXPECT_EQ(static_cast<std::size_t>(level.value()), i);
  }
  const auto bad = parse_log_level("lo\nud");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message,
            "log level \"lo\\nud\": expected trace, debug, info, warning, error or critical");
}

TEST(Escape, ClientTextBecomesPlainAscii) {
  EXPECT_EQ(escape_text("plain text"), "plain text");
  EXPECT_EQ(escape_text("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(escape_text("q\"\\"), "q\\\"\\\\");
  EXPECT_EQ(escape_text(std::string_view("\0\x1b\x7f\xe2\x80\xae", 6)),
            "\\x00\\x1b\\x7f\\xe2\\x80\\xae");
  EXPECT_EQ(escape_text("abcdef", 3), "abc...");
  EXPECT_EQ(escape_text("abc", 3), "abc");
  for (int c = 0; c < 256; ++c) {
    for (const char e : escape_text(std::string(1, static_cast<char>(c)))) {
      EXPECT_TRUE(e >= 0x20 && e < 0x7f) << c;
    }
  }
}

}  // namespace
}  // namespace gind
