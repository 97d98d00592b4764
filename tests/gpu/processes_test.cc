// SPDX-License-Identifier: Apache-2.0
// Two processes on one GPU, each on a gind of its own: taking turns, and side by side under MPS.
#include "cluster.h"
#include "gpu_here.h"
#include "programs.h"
#include "shell.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace gind::test {
namespace {

// An MPS daemon of its own, told to the children of this process.
class Mps {
 public:
  Mps() {
    dir_ = (std::filesystem::temp_directory_path() / ("gind-mps." + std::to_string(::getpid())))
               .string();
    std::filesystem::create_directories(dir_);
    ::setenv("CUDA_MPS_PIPE_DIRECTORY", dir_.c_str(), 1);
    ::setenv("CUDA_MPS_LOG_DIRECTORY", dir_.c_str(), 1);
    started_ = shell("timeout 20 nvidia-cuda-mps-control -d");
  }
  Mps(const Mps&) = delete;
  Mps& operator=(const Mps&) = delete;
  ~Mps() {
    shell("echo quit | timeout 20 nvidia-cuda-mps-control");
    ::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
    ::unsetenv("CUDA_MPS_LOG_DIRECTORY");
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }
  const Ended& started() const { return started_; }

 private:
  std::string dir_;
  Ended started_;
};

class GpuProcesses : public testing::Test {
 protected:
  void SetUp() override { GIND_SKIP_WITHOUT_GPU(); }

  // Every test of gin-perf, verified, between two ginds over tcp and between two ranks of one.
  void all_tests(int iterations) {
    const Cluster two({.nodes = 2, .provider = "tcp;ofi_rxm", .namespaces = false, .set = {}});
    const Cluster one({.nodes = 1, .provider = "loopback", .namespaces = false, .set = {}});
    const std::string sockets[] = {two.place({1, 1})[0] + "," + two.place({1, 1})[1],
                                   one.place({1})[0]};
    for (const std::string& where : sockets) {
      for (const char* test : {"put_lat -s 8", "put_lat -s 4097", "put_rate -s 8 -t 64",
                               "put_bw -s 65536 -t 16", "put_rate -s 8 -t 32 -q 3 --exclusive"}) {
        const Ended e = shell("timeout 100 " + program("gin-perf") + " " + test + " -n " +
                              std::to_string(iterations) +
                              " --device gpu --out_json /dev/stdout --sockets " + where);
        ASSERT_EQ(e.code, 0) << test << "\n" << e.output << two.logs() << one.logs();
        const auto json = json_in(e.output);
        ASSERT_FALSE(json.is_discarded()) << e.output;
        EXPECT_NE(json["device"], "cpu");
        EXPECT_GT(json["verified"]["messages"], 0) << e.output;
      }
    }
  }

  // Every collective, its results compared on both ranks.
  void all_collectives(int iterations) {
    const Cluster two({.nodes = 2, .provider = "tcp;ofi_rxm", .namespaces = false, .set = {}});
    const std::vector<std::string> sockets = two.place({1, 1});
    for (const char* test :
         {"all_to_all -s 65536 -q 2", "all_gather -s 4099", "reduce_scatter -s 65536 --type int32",
          "all_reduce -s 100003 -q 3", "all_reduce -s 262144 --op max --type double"}) {
      const Ended e = shell(
          "timeout 100 " + program("gin-perf") + " " + test + " -n " + std::to_string(iterations) +
          " --device gpu --out_json /dev/stdout --sockets " + sockets[0] + "," + sockets[1]);
      ASSERT_EQ(e.code, 0) << test << "\n" << e.output << two.logs();
      const auto json = json_in(e.output);
      ASSERT_FALSE(json.is_discarded()) << e.output;
      EXPECT_GE(json["verified"]["messages"], 6) << e.output;
    }
  }
};

TEST_F(GpuProcesses, CollectivesAreRightWhileTheirKernelsTakeTurns) { all_collectives(5); }

TEST_F(GpuProcesses, MeasureAndVerifyWhileTheirKernelsTakeTurns) { all_tests(40); }

TEST_F(GpuProcesses, MeasureAndVerifySideBySideUnderMps) {
  const Mps mps;
  if (mps.started().code == 127) GTEST_SKIP() << "no nvidia-cuda-mps-control here";
  ASSERT_EQ(mps.started().code, 0) << mps.started().output;
  all_tests(2000);
  all_collectives(200);
}

}  // namespace
}  // namespace gind::test
