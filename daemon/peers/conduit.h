// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/peers/messages.h"

#include <string>

namespace gind::peers {

// The coordinator's way to one member gind: a connection, or the gind itself.
class Conduit {
 public:
  virtual ~Conduit() = default;
  // Never calls back into the coordinator from inside.
  virtual void send(const Message& message) = 0;
  // "node NAME (10.0.0.1:1234)", for messages.
  virtual const std::string& describe() const = 0;
};

}  // namespace gind::peers
