// SPDX-License-Identifier: Apache-2.0
#include "provider.h"
#include "signal_guard.h"

#include <algorithm>
#include <map>
#include <set>

namespace gind {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

int get_info(const char* node, std::uint64_t flags, const fi_info* hints, InfoPtr& out) {
  const KeepSignalActions keep;
  fi_info* list = nullptr;
  const int rc = fi_getinfo(kOfiApi, node, nullptr, flags, hints, &list);
  out.reset(rc == 0 ? list : nullptr);
  return rc;
}

bool same_text(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

bool provider_matches(std::string_view asked, std::string_view offered) {
  static constexpr std::string_view kLayer = ";ofi_rxm";
  if (same_text(asked, offered)) return true;
  return offered.size() == asked.size() + kLayer.size() &&
         same_text(asked, offered.substr(0, asked.size())) &&
         same_text(kLayer, offered.substr(asked.size()));
}

std::string list_offers() {
  InfoPtr list;
  if (const int rc = get_info(nullptr, 0, nullptr, list); rc != 0)
    return "nothing (" + ofi_text(rc) + ")";
  std::map<std::string, std::set<std::string>> offers;
  for (const fi_info* i = list.get(); i; i = i->next)
    if (i->ep_attr->type == FI_EP_RDM)
      offers[i->fabric_attr->prov_name].insert(i->domain_attr->name);
  std::string text;
  for (const auto& [provider, domains] : offers) {
    text += (text.empty() ? "" : ", ") + provider + " (";
    for (auto it = domains.begin(); it != domains.end(); ++it)
      text += (it == domains.begin() ? "" : ", ") + *it;
    text += ")";
  }
  return text.empty() ? "no reliable-datagram provider" : text;
}

}  // namespace gind
