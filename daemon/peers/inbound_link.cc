// SPDX-License-Identifier: Apache-2.0
#include "daemon/peers/inbound_link.h"

#include "daemon/peers/text.h"

#include <utility>

namespace gind::peers {

InboundLink::InboundLink(boost::asio::io_context& io, const PeerOptions& options,
                         const NodeInfo& self, PeerSocket socket, Hooks hooks)
    : options_(options),
      self_(self),
      hooks_(std::move(hooks)),
      link_(std::make_shared<FramedLink>(io, std::move(socket), Side::kDialler,
                                         options.max_queued_bytes)),
      handshake_(io),
      text_(link_->remote()) {}

void InboundLink::start() {
  std::weak_ptr<InboundLink> weak = weak_from_this();
  link_->start({[weak](Message message) -> Result<void> {
                  const auto self = weak.lock();
                  return self ? self->on_message(std::move(message)) : Result<void>();
                },
                [weak](const Error& error) {
                  if (const auto self = weak.lock()) self->end(error);
                }});
  handshake_.arm(options_.handshake, [weak] {
    const auto self = weak.lock();
    if (!self) return;
    self->end({ginTimeout, "no HELLO within " + duration_text(self->options_.handshake)});
  });
}

Result<void> InboundLink::on_message(Message&& message) {
  const auto self = shared_from_this();
  const auto* hello = std::get_if<Hello>(&message);
  if (greeted_) {
    if (hello != nullptr) return Error{ginInvalidArgument, "a second HELLO"};
    if (const auto* join = std::get_if<Join>(&message); join && join->node.instance != instance_) {
      return Error{ginInvalidArgument, "JOIN names another instance than HELLO did"};
    }
    return hooks_.message ? hooks_.message(self, std::move(message)) : Result<void>();
  }
  if (hello == nullptr) return Error{ginInvalidArgument, "it did not begin with HELLO"};
  handshake_.cancel();
  greeted_ = true;
  instance_ = hello->instance;
  text_ = "node " + hello->node_name + " (" + link_->remote() + ")";
  link_->send(Welcome{self_.instance, self_.name});
  if (hooks_.greeted) hooks_.greeted(self);
  return {};
}

void InboundLink::end(const Error& why) {
  const auto self = shared_from_this();
  handshake_.cancel();
  const auto ended = std::exchange(hooks_, {}).ended;
  // Another version gets an answer that it can show; everything else is not worth one.
  if (!greeted_ && why.code == ginVersionMismatch) {
    link_->refuse(why.with_context("node " + self_.name));
  } else {
    link_->close();
  }
  if (ended) ended(self, why);
}

void InboundLink::close() {
  handshake_.cancel();
  hooks_ = {};
  link_->close();
}

}  // namespace gind::peers
