// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

// Asks the file system, not CUDA: a process that has used CUDA must not fork ranks that use it.
#define GIND_SKIP_WITHOUT_GPU() \
  if (::access("/dev/nvidia0", F_OK) != 0) GTEST_SKIP() << "no GPU here (/dev/nvidia0)"
