// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fake_gind.h"
#include "gin/device.cuh"

#include <gtest/gtest.h>

#include <cstdint>

namespace gind::test {

// Rank 1 of 4 with one device communicator; the test plays the proxy through `s`.
class Operations : public ::testing::Test {
 protected:
  explicit Operations(const FakeOptions& options = {})
      : gind(options), c(4, 1), d(c.device()), s(gind.segment()) {}
  void set_signal(std::uint32_t i, std::uint64_t v) {
    gin::queues::store_release_sys(&s.view.signals(0)[i], v);
  }
  void set_counter(std::uint32_t i, std::uint64_t v) {
    gin::queues::store_release_sys(&s.view.counters(0)[i], v);
  }
  FakeGind gind;
  TestComm c;
  ginDevComm_t d;
  FakeSegment& s;
};

}  // namespace gind::test
