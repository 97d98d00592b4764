// SPDX-License-Identifier: Apache-2.0
// Pins the consumer to a core that nobody disturbs.  On virtual machines the sibling of a core may
// be at work for somebody else, unseen, and the core is then half as fast.
#pragma once

#include <sched.h>

namespace gind::perf {

// The calling thread, while this lives.
class QuietCpu {
 public:
  // Tries each core that this process may use for a moment, and stays on the fastest.
  QuietCpu();
  ~QuietCpu();
  QuietCpu(const QuietCpu&) = delete;
  QuietCpu& operator=(const QuietCpu&) = delete;

 private:
  cpu_set_t before_;
  bool pinned_ = false;
};

}  // namespace gind::perf
