#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The program shown in the README is the one that is compiled.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
diff <(sed -n '/^```cpp$/,/^```$/p' README.md | grep -v '^```') \
     <(sed -n '/^\/\/ README: from here$/,/^\/\/ README: to here$/p' examples/first_put.cc | grep -v '^// README:') ||
  { echo "README.md and examples/first_put.cc differ"; exit 1; }
