// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gind/common/fd.h"
#include "gind/common/result.h"

#include <chrono>
#include <string>

namespace gind::client {

// $GIND_SOCKET, or the default path.
std::string socket_path();

// A connected, non-blocking, close-on-exec SOCK_SEQPACKET socket.  The error names the path, the
// cause and the remedy.
Result<Fd> connect_to(const std::string& path, std::chrono::steady_clock::time_point deadline);

}  // namespace gind::client
