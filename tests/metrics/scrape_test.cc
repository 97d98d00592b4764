// SPDX-License-Identifier: Apache-2.0
// What a scrape over HTTP shows of the counters.
#include "scrape.h"

#include "daemon/log/log.h"
#include "daemon/metrics/exporter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace gind {
namespace {

using gin::queues::Op;

class Scrape : public ::testing::Test {
 protected:
  void SetUp() override {
    auto sources = std::make_shared<MetricsSources>();
    sources->proxies = {&proxy_[0], &proxy_[1]};
    sources->control = &control_;
    sources->version = "1.2.3";
    sources->transport = "ofi";
    sources->provider = "tcp;ofi_rxm \"x\\y\n";
    sources->signal_mode = "record";
    auto exporter = MetricsExporter::start("127.0.0.1:0", sources);
    ASSERT_TRUE(exporter.ok()) << exporter.error().message;
    exporter_ = std::move(exporter).value();
  }

  Exposition scrape() { return parse_exposition(http_get(exporter_->port())); }

  static std::size_t slot(Op op) { return static_cast<std::size_t>(op); }

  ProxyCounters proxy_[2];
  ControlCounters control_;
  std::unique_ptr<MetricsExporter> exporter_;
};

TEST_F(Scrape, CountersOfAllProxiesAreAdded) {
  proxy_[0].descriptors[slot(Op::kPut)].add(5);
  proxy_[1].descriptors[slot(Op::kPut)].add(7);
  proxy_[1].descriptors[slot(Op::kCompareSwap)].add(1);
  proxy_[0].rejected[static_cast<std::size_t>(RejectReason::kOffset)].add(3);
  proxy_[1].failed[static_cast<std::size_t>(FailReason::kPeerGone)].add(2);
  proxy_[0].contexts.set(4);
  proxy_[1].contexts.set(2);
  proxy_[0].outstanding.set(10);
  proxy_[1].backpressure.add(9);
  const Exposition e = scrape();
  EXPECT_EQ(e.at("gind_descriptors_total{op=\"put\"}"), 12);
  EXPECT_EQ(e.at("gind_descriptors_total{op=\"compare_swap\"}"), 1);
  EXPECT_EQ(e.at("gind_descriptors_total{op=\"quiet\"}"), 0);
  EXPECT_EQ(e.at("gind_descriptors_rejected_total{reason=\"offset\"}"), 3);
  EXPECT_EQ(e.at("gind_operations_failed_total{reason=\"peer_gone\"}"), 2);
  EXPECT_EQ(e.at("gind_contexts"), 6);
  EXPECT_EQ(e.at("gind_outstanding_operations"), 10);
  EXPECT_EQ(e.at("gind_transport_backpressure_total"), 9);
}

TEST_F(Scrape, OnlyOperationsAreLabels) {
  int ops = 0;
  for (const auto& [series, value] : scrape().sample) {
    ops += series.starts_with("gind_descriptors_total{");
  }
  EXPECT_EQ(ops, 8);
}

TEST_F(Scrape, ControlCountersAreShown) {
  control_.clients = 3;
  control_.windows = 4;
  control_.pinned_bytes = std::uint64_t{5} << 40;
  control_.peers_connected = 6;
  control_.peers_connecting = 7;
  control_.disconnects_died = 8;
  control_.handshake_rejected_version = 9;
  control_.quarantined_bytes = 10;
  const Exposition e = scrape();
  EXPECT_EQ(e.at("gind_clients"), 3);
  EXPECT_EQ(e.at("gind_windows"), 4);
  EXPECT_EQ(e.at("gind_pinned_bytes"), 5497558138880.0);
  EXPECT_EQ(e.at("gind_peers{state=\"connected\"}"), 6);
  EXPECT_EQ(e.at("gind_peers{state=\"connecting\"}"), 7);
  EXPECT_EQ(e.at("gind_client_disconnects_total{reason=\"died\"}"), 8);
  EXPECT_EQ(e.at("gind_client_disconnects_total{reason=\"clean\"}"), 0);
  EXPECT_EQ(e.at("gind_handshake_rejected_total{reason=\"version\"}"), 9);
  EXPECT_EQ(e.at("gind_quarantined_bytes"), 10);
}

TEST_F(Scrape, HistogramBucketsAreCumulativeAndEndAtTheCount) {
  proxy_[0].duration[slot(Op::kPut)].observe(1'000);
  proxy_[1].duration[slot(Op::kPut)].observe(5'000);
  proxy_[1].duration[slot(Op::kPut)].observe(60'000'000'000);
  const Exposition e = scrape();
  EXPECT_EQ(e.type.at("gind_operation_duration_seconds"), "histogram");
  const std::string bucket = "gind_operation_duration_seconds_bucket{op=\"put\",le=\"";
  EXPECT_EQ(e.at(bucket + "5e-07\"}"), 0);
  EXPECT_EQ(e.at(bucket + "1e-06\"}"), 1);
  EXPECT_EQ(e.at(bucket + "+Inf\"}"), 3);
  EXPECT_EQ(e.at("gind_operation_duration_seconds_count{op=\"put\"}"), 3);
  EXPECT_NEAR(e.at("gind_operation_duration_seconds_sum{op=\"put\"}"), 60.000006, 1e-9);
  std::map<double, double> by_bound;
  for (const auto& [series, value] : e.sample) {
    if (!series.starts_with(bucket)) continue;
    by_bound[std::stod(series.substr(bucket.size()))] = value;  // reads "+Inf", too
  }
  ASSERT_EQ(by_bound.size(), kDurationBoundsNs.size() + 1);
  double last = 0;
  for (const auto& [bound, value] : by_bound) {
    EXPECT_GE(value, last) << bound;
    EXPECT_EQ(value, bound < 1e-6   ? 0
                     : bound < 6e-6 ? (bound < 5e-6 ? 1 : 2)
                     : bound < 60   ? 2
                                    : 3)
        << bound;
    last = value;
  }
}

TEST_F(Scrape, PayloadIsSplitByDirectionAndNeverGoesBack) {
  proxy_[0].bytes_out.add(1000);
  proxy_[0].bytes_local.add(300);
  Exposition e = scrape();
  EXPECT_EQ(e.at("gind_payload_bytes_total{direction=\"out\"}"), 700);
  EXPECT_EQ(e.at("gind_payload_bytes_total{direction=\"local\"}"), 300);
  proxy_[0].bytes_local.add(100);  // its share of bytes_out is not written yet
  e = scrape();
  EXPECT_EQ(e.at("gind_payload_bytes_total{direction=\"out\"}"), 700);
  proxy_[0].bytes_out.add(200);
  e = scrape();
  EXPECT_EQ(e.at("gind_payload_bytes_total{direction=\"out\"}"), 800);
}

TEST_F(Scrape, ProxiesAreShownOneByOneInSeconds) {
  proxy_[0].busy_ns.add(1'500'000'000);
  proxy_[1].busy_ns.add(250'000'000);
  proxy_[1].sleep_ns.add(3'000'000'000);
  proxy_[0].cycle_max_ns.set(2'000);
  const Exposition e = scrape();
  EXPECT_DOUBLE_EQ(e.at("gind_proxy_busy_seconds_total{proxy=\"0\"}"), 1.5);
  EXPECT_DOUBLE_EQ(e.at("gind_proxy_busy_seconds_total{proxy=\"1\"}"), 0.25);
  EXPECT_DOUBLE_EQ(e.at("gind_proxy_sleep_seconds_total{proxy=\"1\"}"), 3);
  EXPECT_DOUBLE_EQ(e.at("gind_proxy_idle_seconds_total{proxy=\"0\"}"), 0);
  EXPECT_DOUBLE_EQ(e.at("gind_proxy_cycle_max_seconds{proxy=\"0\"}"), 2e-6);
}

TEST_F(Scrape, LabelValuesAreEscaped) {
  EXPECT_EQ(scrape().at("gind_config_info{transport=\"ofi\",provider=\"tcp;ofi_rxm "
                        "\\\"x\\\\y\\n\",signal_mode=\"record\"}"),
            1);
  EXPECT_EQ(scrape().at("gind_build_info{version=\"1.2.3\"}"), 1);
}

TEST_F(Scrape, LogMessagesAreCountedByLevel) {
  const double before = scrape().at("gind_log_messages_total{level=\"warning\"}");
  testing::internal::CaptureStderr();
  log_warning("counted");
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(scrape().at("gind_log_messages_total{level=\"warning\"}"), before + 1);
}

TEST_F(Scrape, ProcessFiguresAreOfThisProcess) {
  const Exposition e = scrape();
  EXPECT_GT(e.at("process_resident_memory_bytes"), 1 << 20);
  EXPECT_GT(e.at("process_virtual_memory_bytes"), e.at("process_resident_memory_bytes"));
  EXPECT_GE(e.at("process_cpu_seconds_total"), 0);
  const double now = static_cast<double>(::time(nullptr));
  EXPECT_LE(e.at("process_start_time_seconds"), now + 2);
  EXPECT_GT(e.at("process_start_time_seconds"), now - 3600);
  EXPECT_GE(e.at("process_max_fds"), e.at("process_open_fds"));
  const double before = e.at("process_open_fds");
  Fd extra[3];
  for (Fd& fd : extra) fd.reset(::dup(0));
  // The server's own connections come and go: at most a few.
  EXPECT_NEAR(scrape().at("process_open_fds"), before + 3, 2.1);
}

TEST_F(Scrape, CountersMayMoveWhileTheyAreRead) {
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      proxy_[0].bytes_out.add(2);
      proxy_[0].bytes_local.add(1);
      proxy_[0].duration[slot(Op::kPut)].observe(700);
    }
  });
  double out = 0;
  for (int i = 0; i < 20; ++i) {
    const Exposition e = scrape();
    EXPECT_GE(e.at("gind_payload_bytes_total{direction=\"out\"}"), out);
    out = e.at("gind_payload_bytes_total{direction=\"out\"}");
    EXPECT_EQ(e.at("gind_operation_duration_seconds_bucket{op=\"put\",le=\"+Inf\"}"),
              e.at("gind_operation_duration_seconds_count{op=\"put\"}"));
  }
  stop.store(true, std::memory_order_relaxed);
  writer.join();
}

}  // namespace
}  // namespace gind
