// SPDX-License-Identifier: Apache-2.0
// Which of libfabric's offers is used.
#pragma once

#include "fid.h"
#include "gind/transports/ofi.h"

#include <string>
#include <string_view>

namespace gind {

// The offer that OfiOptions ask for, able to do messages and RMA (and atomics, if so) on reliable
// datagram endpoints; an error lists what there is.
Result<InfoPtr> select_provider(const OfiOptions& options, bool atomics);

// Whether the same provider and domain offers completions that mean "visible at the target".
bool offers_delivery_complete(const fi_info& chosen);

// Case-insensitive; "tcp" also stands for "tcp;ofi_rxm" where libfabric layers it so.
bool provider_matches(std::string_view asked, std::string_view offered);
bool same_text(std::string_view a, std::string_view b);  // case-insensitive

// "tcp;ofi_rxm (eth0, lo), shm (shm)": the reliable-datagram providers and their domains.
std::string list_offers();

// fi_getinfo that leaves the process's signal actions alone.
int get_info(const char* node, std::uint64_t flags, const fi_info* hints, InfoPtr& out);

}  // namespace gind
