// SPDX-License-Identifier: Apache-2.0
#include "provider.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstring>
#include <tuple>

namespace gind {
namespace {

InfoPtr make_hints(bool atomics) {
  InfoPtr hints(fi_allocinfo());
  if (!hints) return hints;
  hints->caps = FI_MSG | FI_RMA | (atomics ? FI_ATOMIC : 0);
  hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  // A receiver that is not ready is then the provider's business, not a lost message.
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->av_type = FI_AV_TABLE;
  return hints;
}

bool automatic(const std::string& text) { return text.empty() || same_text(text, "auto"); }

bool is_loopback(const fi_info& info) {
  if (std::string_view(info.domain_attr->name) == "lo") return true;
  if (!info.src_addr) return false;
  if (info.addr_format == FI_SOCKADDR_IN) {
    const auto* in = static_cast<const sockaddr_in*>(info.src_addr);
    return (ntohl(in->sin_addr.s_addr) >> 24) == 127;
  }
  if (info.addr_format == FI_SOCKADDR_IN6) {
    const auto* in6 = static_cast<const sockaddr_in6*>(info.src_addr);
    return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
  }
  return false;
}

bool is_link_local(const fi_info& info) {
  if (!info.src_addr || info.addr_format != FI_SOCKADDR_IN6) return false;
  return IN6_IS_ADDR_LINKLOCAL(&static_cast<const sockaddr_in6*>(info.src_addr)->sin6_addr);
}

// Lower is better; kNever: only by name.
constexpr int kNever = 100;
int automatic_rank(std::string_view provider) {
  if (same_text(provider, "efa")) return 0;
  if (same_text(provider, "cxi") || same_text(provider, "verbs;ofi_rxm")) return 1;
  if (same_text(provider, "tcp;ofi_rxm")) return 2;
  if (same_text(provider, "tcp")) return 3;
  return kNever;
}

// The best of `list`, or null.
const fi_info* best_of(const fi_info* list, const OfiOptions& options) {
  using Rank = std::tuple<int, bool, bool, bool>;
  const fi_info* best = nullptr;
  Rank best_rank;
  const bool any_provider = automatic(options.provider);
  for (const fi_info* i = list; i; i = i->next) {
    const std::string_view provider = i->fabric_attr->prov_name;
    int rank = 0;
    if (any_provider) {
      rank = automatic_rank(provider);
      if (rank == kNever) continue;
    } else {
      if (!provider_matches(options.provider, provider)) continue;
      rank = same_text(options.provider, provider) ? 0 : 1;
    }
    if (!automatic(options.device)) {
      if (options.device != i->domain_attr->name) continue;
    } else if (options.address.empty() && any_provider && is_loopback(*i)) {
      continue;
    }
    const Rank r{rank, is_loopback(*i), is_link_local(*i), i->addr_format != FI_SOCKADDR_IN};
    if (!best || r < best_rank) {
      best = i;
      best_rank = r;
    }
  }
  return best;
}

bool has_ip_address(std::string_view provider) {
  return !same_text(provider, "shm") && !same_text(provider, "efa") && !same_text(provider, "cxi");
}

std::string describe(const OfiOptions& options) {
  std::string text = fmt::format("provider \"{}\"", options.provider);
  if (!automatic(options.device)) text += fmt::format(", device \"{}\"", options.device);
  if (!options.address.empty()) text += fmt::format(", address \"{}\"", options.address);
  return text;
}

Error nothing_found(const OfiOptions& options, bool atomics, int rc) {
  return {
      ginInvalidArgument,
      fmt::format("libfabric: nothing matches {}{}; gind needs reliable-datagram endpoints with "
                  "messages and RMA{}; {} offers: {}",
                  describe(options), rc == 0 ? "" : " (" + ofi_text(rc) + ")",
                  atomics ? " and atomics" : "", ofi_version(), list_offers())};
}

}  // namespace

Result<InfoPtr> select_provider(const OfiOptions& options, bool atomics) {
  if (!automatic(options.provider) && !options.address.empty() && !has_ip_address(options.provider))
    return Error{
        ginInvalidArgument,
        fmt::format("libfabric: provider \"{}\" has no IP address, so address \"{}\" has no "
                    "meaning; leave it empty",
                    options.provider, options.address)};
  InfoPtr hints = make_hints(atomics);
  if (!hints) return Error{ginSystemError, "libfabric: fi_allocinfo: out of memory"};
  if (!automatic(options.provider))
    hints->fabric_attr->prov_name = ::strdup(options.provider.c_str());
  const bool bind = !options.address.empty();
  InfoPtr list;
  const int rc = get_info(bind ? options.address.c_str() : nullptr,
                          bind ? FI_SOURCE | FI_NUMERICHOST : 0, hints.get(), list);
  if (rc != 0 && rc != -FI_ENODATA && rc != -FI_ENOSYS) return nothing_found(options, atomics, rc);
  const fi_info* best = best_of(list.get(), options);
  if (!best) return nothing_found(options, atomics, 0);
  InfoPtr chosen(fi_dupinfo(best));
  if (!chosen) return Error{ginSystemError, "libfabric: fi_dupinfo: out of memory"};
  return chosen;
}

bool offers_delivery_complete(const fi_info& chosen) {
  InfoPtr hints = make_hints(false);
  if (!hints) return false;
  hints->fabric_attr->prov_name = ::strdup(chosen.fabric_attr->prov_name);
  hints->domain_attr->name = ::strdup(chosen.domain_attr->name);
  hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
  InfoPtr list;
  return get_info(nullptr, 0, hints.get(), list) == 0 &&
         same_text(list->fabric_attr->prov_name, chosen.fabric_attr->prov_name);
}

}  // namespace gind
