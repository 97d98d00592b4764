// SPDX-License-Identifier: Apache-2.0
// Text of unknown origin, made fit for a log line or a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gind {

// For text from clients and peers: printable ASCII stays; '"' and '\' get a backslash; everything
// else, bytes above 127 included (terminal controls and direction marks hide there), becomes \n,
// \r, \t or \xHH.  At most `max_bytes` bytes of the text are shown, then "...".
std::string escape_text(std::string_view text, std::size_t max_bytes = 256);

// For our own messages: control characters only, so that one message stays one line.
std::string escape_controls(std::string_view text);

}  // namespace gind
