// SPDX-License-Identifier: Apache-2.0
// The table, what is exported and docs/metrics.md agree.
#include "daemon/metrics/exporter.h"
#include "daemon/metrics/metric_table.h"
#include "scrape.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

namespace gind {
namespace {

std::string_view kind_name(MetricKind kind) {
  return kind == MetricKind::kCounter ? "counter"
         : kind == MetricKind::kGauge ? "gauge"
                                      : "histogram";
}

// The documentation's line of a metric.
std::string row(const MetricInfo& m) {
  return "| `" + std::string(m.name) + "` | " + std::string(kind_name(m.kind)) + " | " +
         std::string(m.labels) + (m.labels.empty() ? "| " : " | ") + std::string(m.help) + " |";
}

Exposition scrape_all() {
  static const ProxyCounters proxy;
  static const ControlCounters control;
  auto sources = std::make_shared<MetricsSources>();
  sources->proxies = {&proxy};
  sources->control = &control;
  const auto exporter = MetricsExporter::start("127.0.0.1:0", sources);
  EXPECT_TRUE(exporter.ok());
  return parse_exposition(http_get(exporter.value()->port()));
}

bool ours(const std::string& name) {
  return name.starts_with("gind_") || name.starts_with("process_");
}

TEST(MetricTable, IsWhatIsExported) {
  const Exposition e = scrape_all();
  std::set<std::string> table;
  for (const MetricInfo& m : metric_table()) {
    table.insert(std::string(m.name));
    ASSERT_TRUE(e.type.count(std::string(m.name))) << m.name << " is not exported";
    EXPECT_EQ(e.type.at(std::string(m.name)), kind_name(m.kind)) << m.name;
    EXPECT_EQ(e.help.at(std::string(m.name)), m.help);
    EXPECT_EQ(m.name.ends_with("_total"), m.kind == MetricKind::kCounter) << m.name;
  }
  for (const auto& [name, type] : e.type) {
    if (ours(name)) {
      EXPECT_TRUE(table.count(name)) << name << " is not in the table";
    }
  }
}

TEST(MetricTable, LabelsAreAsExported) {
  const Exposition e = scrape_all();
  for (const auto& [series, value] : e.sample) {
    std::string name = series.substr(0, series.find('{'));
    for (const char* suffix : {"_bucket", "_sum", "_count"}) {
      const std::string_view stem = std::string_view(name).substr(0, name.rfind(suffix));
      if (name.ends_with(suffix) && find_metric(stem) != nullptr) name = stem;
    }
    const MetricInfo* info = find_metric(name);
    if (info == nullptr) continue;
    std::string labels;
    static const std::regex label(R"re(([a-z_]+)=")re");
    for (std::sregex_iterator it(series.begin(), series.end(), label), end; it != end; ++it) {
      if ((*it)[1] != "le") labels += (labels.empty() ? "" : ", ") + (*it)[1].str();
    }
    EXPECT_EQ(labels, info->labels) << series;
  }
}

TEST(MetricTable, IsWhatIsDocumented) {
  std::ifstream file(GIND_SOURCE_DIR "/docs/metrics.md");
  std::set<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `gind_") || line.starts_with("| `process_")) rows.insert(line);
  }
  for (const MetricInfo& m : metric_table()) {
    EXPECT_EQ(rows.erase(row(m)), 1u) << "docs/metrics.md lacks:\n" << row(m);
  }
  for (const std::string& line : rows) ADD_FAILURE() << "documented, not exported:\n" << line;
}

}  // namespace
}  // namespace gind
