// SPDX-License-Identifier: Apache-2.0
// The host API but for the operations: argument checks, then Communicator.
#include "communicator.h"
#include "enum_value.h"
#include "gin/gin.h"
#include "gin/queues/descriptor.h"
#include "last_error.h"

#include <algorithm>
#include <cstring>

using gind::Error;
using gind::Result;
using gind::client::Communicator;
using gind::client::guarded;
using gind::client::null_argument;
using gind::client::value_of_enum;

namespace {

Result<Communicator*> communicator(ginComm_t comm) {
  if (comm == nullptr || comm->impl == nullptr) {
    return Error{ginInvalidArgument, "comm is a null pointer; make one with ginCommInitRank"};
  }
  return comm->impl.get();
}

// Runs f(Communicator&) as the body of a C function.
template <typename F>
ginResult_t with(ginComm_t comm, const char* call, F&& f) {
  return guarded(call, [&]() -> Result<void> {
    auto c = communicator(comm);
    if (!c) return c.error();
    return f(*c.value());
  });
}

Result<void> check_rank(int nranks, int rank) {
  if (nranks < 1 || nranks > static_cast<int>(gin::queues::kMaxRanks)) {
    return Error{ginInvalidArgument, "nranks is " + std::to_string(nranks) + ", expected 1 .. " +
                                         std::to_string(gin::queues::kMaxRanks)};
  }
  if (rank < 0 || rank >= nranks) {
    return Error{ginInvalidArgument, "rank is " + std::to_string(rank) + ", expected 0 .. " +
                                         std::to_string(nranks - 1)};
  }
  return {};
}

// A caller of a newer header may say more than this library knows, as long as it is zero.
Result<ginDevCommRequirements_t> read_requirements(const ginDevCommRequirements_t* given) {
  const std::size_t known = sizeof(ginDevCommRequirements_t);
  if (given->size < known || given->size > 4096) {
    return Error{ginInvalidArgument, "requirements.size is " + std::to_string(given->size) +
                                         ", expected " + std::to_string(known) +
                                         "; use GIN_DEV_COMM_REQUIREMENTS_INITIALIZER"};
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (std::any_of(bytes + known, bytes + given->size, [](unsigned char b) { return b != 0; })) {
    return Error{ginNotSupported, "requirements has fields that this library does not know"};
  }
  ginDevCommRequirements_t r;
  std::memcpy(&r, given, sizeof r);
  const int sharing = value_of_enum(r.sharing);
  if (sharing < ginSharingShared || sharing > ginSharingExclusive) {
    return Error{ginInvalidArgument,
                 "requirements.sharing is " + std::to_string(sharing) + ", expected 0 .. 2"};
  }
  const int poster = value_of_enum(r.poster);
  if (poster < ginPosterAuto || poster > ginPosterGpu) {
    return Error{ginInvalidArgument,
                 "requirements.poster is " + std::to_string(poster) + ", expected 0 .. 2"};
  }
  if (r.timeoutNs < -1) {
    return Error{ginInvalidArgument, "requirements.timeoutNs is " + std::to_string(r.timeoutNs) +
                                         ", expected -1 (default), 0 (for ever) or more"};
  }
  return r;
}

}  // namespace

extern "C" {

ginResult_t ginGetVersion(int* version) {
  return guarded("ginGetVersion", [&]() -> Result<void> {
    if (version == nullptr) return null_argument("version");
    *version = GIN_VERSION;
    return {};
  });
}

const char* ginGetLastError(void) { return gind::client::last_error(); }

ginResult_t ginGetUniqueId(ginUniqueId* id) {
  return guarded("ginGetUniqueId", [&]() -> Result<void> {
    if (id == nullptr) return null_argument("id");
    auto made = gind::client::new_unique_id();
    if (!made) return made.error();
    *id = made.value();
    return {};
  });
}

ginResult_t ginCommInitRank(ginComm_t* comm, int nranks, ginUniqueId id, int rank) {
  return guarded("ginCommInitRank", [&]() -> Result<void> {
    if (comm == nullptr) return null_argument("comm");
    *comm = nullptr;
    if (auto checked = check_rank(nranks, rank); !checked) return checked;
    auto handle = std::make_unique<ginComm>();
    auto joined = Communicator::join(nranks, id, rank);
    if (!joined) {
      return joined.error().with_context("rank " + std::to_string(rank) + " of " +
                                         std::to_string(nranks));
    }
    handle->impl = std::move(joined).value();
    *comm = handle.release();
    return {};
  });
}

ginResult_t ginCommFinalize(ginComm_t comm) {
  return with(comm, "ginCommFinalize", [](Communicator& c) { return c.finalize(); });
}

ginResult_t ginCommDestroy(ginComm_t comm) {
  return with(comm, "ginCommDestroy", [&](Communicator&) -> Result<void> {
    delete comm;
    return {};
  });
}

ginResult_t ginCommAbort(ginComm_t comm) {
  return with(comm, "ginCommAbort", [](Communicator& c) -> Result<void> {
    c.abort();
    return {};
  });
}

ginResult_t ginCommGetAsyncError(ginComm_t comm, ginResult_t* error) {
  return with(comm, "ginCommGetAsyncError", [&](Communicator& c) -> Result<void> {
    if (error == nullptr) return null_argument("error");
    const auto found = c.async_error();
    *error = found ? found->code : ginSuccess;
    if (found) gind::client::keep_error("asynchronous error", *found);
    return {};
  });
}

ginResult_t ginCommCount(ginComm_t comm, int* nranks) {
  return with(comm, "ginCommCount", [&](Communicator& c) -> Result<void> {
    if (nranks == nullptr) return null_argument("nranks");
    *nranks = c.nranks();
    return {};
  });
}

ginResult_t ginCommUserRank(ginComm_t comm, int* rank) {
  return with(comm, "ginCommUserRank", [&](Communicator& c) -> Result<void> {
    if (rank == nullptr) return null_argument("rank");
    *rank = c.rank();
    return {};
  });
}

ginResult_t ginCommQueryProperties(ginComm_t comm, ginCommProperties_t* properties) {
  return with(comm, "ginCommQueryProperties", [&](Communicator& c) -> Result<void> {
    if (properties == nullptr) return null_argument("properties");
    const std::size_t size = properties->size;
    if (size < sizeof(std::size_t)) {
      return Error{ginInvalidArgument, "properties->size is " + std::to_string(size) +
                                           "; set it to sizeof(ginCommProperties_t)"};
    }
    ginCommProperties_t all{};
    c.fill(&all);
    all.size = size;
    std::memcpy(properties, &all, std::min(size, sizeof all));
    return {};
  });
}

ginResult_t ginMemAlloc(ginComm_t comm, void** ptr, size_t bytes, ginMemKind_t kind) {
  return with(comm, "ginMemAlloc", [&](Communicator& c) -> Result<void> {
    if (ptr == nullptr) return null_argument("ptr");
    *ptr = nullptr;
    const int value = value_of_enum(kind);
    if (value == ginMemDevice) {
      return Error{ginNotSupported, "device memory is not supported yet; use ginMemHost"};
    }
    if (value != ginMemHost) {
      return Error{ginInvalidArgument,
                   "kind is " + std::to_string(value) + ", expected ginMemHost (0)"};
    }
    auto allocated = c.allocate(bytes);
    if (!allocated) return allocated.error();
    *ptr = allocated.value();
    return {};
  });
}

ginResult_t ginMemFree(ginComm_t comm, void* ptr) {
  return with(comm, "ginMemFree", [&](Communicator& c) -> Result<void> {
    if (ptr == nullptr) return null_argument("ptr");
    return c.free(ptr);
  });
}

ginResult_t ginCommWindowRegister(ginComm_t comm, void* ptr, size_t bytes, ginWindow_t* window,
                                  unsigned flags) {
  return with(comm, "ginCommWindowRegister", [&](Communicator& c) -> Result<void> {
    if (window == nullptr) return null_argument("window");
    *window = ginWindow_t{};
    if (ptr == nullptr && bytes != 0) return null_argument("ptr");
    if ((flags & ~(GIN_WIN_STRICT_ORDERING | GIN_WIN_PEER_ACCESS)) != 0) {
      return Error{ginInvalidArgument,
                   "flags is " + std::to_string(flags) +
                       ", expected GIN_WIN_DEFAULT (0) or the sum of "
                       "GIN_WIN_STRICT_ORDERING (1) and GIN_WIN_PEER_ACCESS (2)"};
    }
    auto registered = c.register_window(ptr, bytes, flags);
    if (!registered) return registered.error();
    *window = registered.value();
    return {};
  });
}

ginResult_t ginWindowPeerPointer(ginComm_t comm, ginWindow_t window, int peer, void** pointer) {
  return with(comm, "ginWindowPeerPointer", [&](Communicator& c) -> Result<void> {
    if (pointer == nullptr) return null_argument("pointer");
    *pointer = nullptr;
    auto found = c.peer_pointer(window, peer);
    if (!found) return found.error();
    *pointer = found.value();
    return {};
  });
}

ginResult_t ginCommWindowDeregister(ginComm_t comm, ginWindow_t window) {
  return with(comm, "ginCommWindowDeregister",
              [&](Communicator& c) { return c.deregister_window(window); });
}

ginResult_t ginDevCommCreate(ginComm_t comm, const ginDevCommRequirements_t* requirements,
                             ginDevComm_t* devComm) {
  return with(comm, "ginDevCommCreate", [&](Communicator& c) -> Result<void> {
    if (requirements == nullptr) return null_argument("requirements");
    if (devComm == nullptr) return null_argument("devComm");
    *devComm = ginDevComm_t{};
    auto read = read_requirements(requirements);
    if (!read) return read.error();
    auto created = c.create_device_communicator(read.value());
    if (!created) return created.error();
    *devComm = created.value();
    return {};
  });
}

ginResult_t ginDevCommDestroy(ginComm_t comm, ginDevComm_t* devComm) {
  return with(comm, "ginDevCommDestroy", [&](Communicator& c) -> Result<void> {
    if (devComm == nullptr) return null_argument("devComm");
    auto destroyed = c.destroy_device_communicator(*devComm);
    // Gone but for a handle that never was one of this communicator's.
    if (destroyed || destroyed.error().code != ginInvalidArgument) *devComm = ginDevComm_t{};
    return destroyed;
  });
}

}  // extern "C"
