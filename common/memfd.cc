// SPDX-License-Identifier: Apache-2.0
#include "gind/common/memfd.h"

#include <boost/interprocess/mapped_region.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <vector>

namespace gind {
namespace {

namespace bi = boost::interprocess;

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// What mapped_region asks of a mappable object.
class MemfdHandle {
 public:
  explicit MemfdHandle(int fd) : fd_(fd) {}
  bi::mapping_handle_t get_mapping_handle() const {
    return bi::ipcdetail::mapping_handle_from_file_handle(fd_);
  }
  bi::mode_t get_mode() const { return bi::read_write; }

 private:
  int fd_;
};

// fallocate takes memory until there is none, and the kernel then kills some process: refuse what
// cannot fit before.
Result<void> check_fits_in_memory(const std::string& name, std::uint64_t bytes) {
  const std::uint64_t memory = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * page_bytes();
  if (bytes <= memory) return {};
  return Error{ginLimitExceeded, "memfd " + name + ": " + std::to_string(bytes) +
                                     " bytes are more than this machine's memory of " +
                                     std::to_string(memory) + " bytes"};
}

std::string seal_names(int seals) {
  std::string names;
  const auto add = [&](int seal, const char* name) {
    if ((seals & seal) != 0) names += (names.empty() ? "" : ", ") + std::string(name);
  };
  add(F_SEAL_SEAL, "seal");
  add(F_SEAL_SHRINK, "shrink");
  add(F_SEAL_GROW, "grow");
  add(F_SEAL_WRITE, "write");
  add(F_SEAL_FUTURE_WRITE, "future_write");
  return names.empty() ? "none" : names;
}

Result<std::uint64_t> file_size(int fd) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return system_error("fstat of fd " + std::to_string(fd), errno);
  if (!S_ISREG(st.st_mode)) {
    return Error{ginInvalidArgument, "fd " + std::to_string(fd) +
                                         " is not a memfd but a file of mode " +
                                         std::to_string(st.st_mode) + "; pass one of memfd_create"};
  }
  return static_cast<std::uint64_t>(st.st_size);
}

// The whole pages that a mapping lies in.
struct PageRange {
  explicit PageRange(const Mapping& mapping) {
    const auto address = reinterpret_cast<std::uint64_t>(mapping.data());
    begin = address / page_bytes() * page_bytes();
    end = (address + mapping.size() + page_bytes() - 1) / page_bytes() * page_bytes();
  }
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

Result<void> populate(const Mapping& mapping) {
  const PageRange range(mapping);
  int rc = 0;
  do {
    rc = ::madvise(reinterpret_cast<void*>(range.begin), range.end - range.begin,
                   MADV_POPULATE_WRITE);
  } while (rc != 0 && (errno == EINTR || errno == EAGAIN));
  if (rc == 0) return {};
  return system_error(
      "MADV_POPULATE_WRITE of " + std::to_string(mapping.size()) + " bytes (needs Linux 5.14)",
      errno);
}

}  // namespace

Result<Fd> create_memfd(const std::string& name, std::uint64_t bytes) {
  if (bytes == 0 || bytes > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) {
    return Error{ginInvalidArgument,
                 "memfd " + name + ": size " + std::to_string(bytes) + ", expected 1 .. 2^63-1"};
  }
  if (auto fits = check_fits_in_memory(name, bytes); !fits) return fits.error();
  Fd fd(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return system_error("memfd_create of " + name, errno);
  int rc = 0;
  do {
    // Allocates every page now, so that the creator's cgroup is charged and no page is missing.
    rc = ::fallocate(fd.get(), 0, 0, static_cast<off_t>(bytes));
  } while (rc != 0 && errno == EINTR);
  if (rc != 0) {
    const int err = errno;
    Error error =
        system_error("allocation of " + std::to_string(bytes) + " bytes for memfd " + name, err);
    if (err == ENOSPC || err == ENOMEM) error.code = ginLimitExceeded;
    return error;
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return system_error("sealing of memfd " + name, errno);
  }
  // Allocated pages count as present (mincore) only once they have been written to.
  auto mapping = Mapping::map(fd.get(), 0, bytes);
  if (!mapping) return mapping.error().with_context("memfd " + name);
  if (auto populated = populate(mapping.value()); !populated) {
    return populated.error().with_context("memfd " + name);
  }
  return fd;
}

struct Mapping::State {
  bi::mapped_region region;
};

Mapping::Mapping() = default;
Mapping::Mapping(std::unique_ptr<State> state) : state_(std::move(state)) {}
Mapping::Mapping(Mapping&&) noexcept = default;
Mapping& Mapping::operator=(Mapping&&) noexcept = default;
Mapping::~Mapping() = default;

void* Mapping::data() const { return state_ ? state_->region.get_address() : nullptr; }
std::uint64_t Mapping::size() const { return state_ ? state_->region.get_size() : 0; }

Result<Mapping> Mapping::map(int fd, std::uint64_t offset, std::uint64_t bytes) {
  const std::string what = "mapping of " + std::to_string(bytes) + " bytes at offset " +
                           std::to_string(offset) + " of fd " + std::to_string(fd);
  auto size = file_size(fd);
  if (!size) return size.error().with_context(what);
  // Access beyond the end would be a SIGBUS later; zero bytes would map the whole file.
  if (bytes == 0 || bytes > size.value() || offset > size.value() - bytes) {
    return Error{ginInvalidArgument,
                 what + ": the file has " + std::to_string(size.value()) + " bytes"};
  }
  try {
    auto state = std::make_unique<State>();
    state->region = bi::mapped_region(MemfdHandle(fd), bi::read_write,
                                      static_cast<bi::offset_t>(offset), bytes);
    return Mapping(std::move(state));
  } catch (const bi::interprocess_exception& e) {
    const int err = static_cast<int>(e.get_native_error());
    Error error = system_error(what, err);
    if (err == EPERM || err == EACCES) {
      error.code = ginPermissionDenied;
      error.message += " (sealed against writing, or not open for reading and writing)";
    }
    return error;
  }
}

Result<std::uint64_t> check_memfd(int fd, const MemfdDemand& demand) {
  auto size = file_size(fd);
  if (!size) return size;
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0) {
    return Error{ginInvalidArgument, "fd " + std::to_string(fd) + " has no seals (" +
                                         errno_text(errno) + "); pass a memfd of memfd_create"};
  }
  constexpr int kDemanded = F_SEAL_SHRINK | F_SEAL_GROW;
  if ((seals & kDemanded) != kDemanded) {
    return Error{ginInvalidArgument,
                 "the memfd's seals are " + seal_names(seals) + "; shrink and grow are required"};
  }
  if ((::fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR) {
    return Error{ginInvalidArgument, "the memfd is not open for reading and writing"};
  }
  const std::uint64_t have = size.value();
  const bool fits = demand.bytes <= have && demand.offset <= have - demand.bytes;
  if (!fits || (demand.exact && demand.offset + demand.bytes != have)) {
    return Error{ginInvalidArgument, "the memfd has " + std::to_string(have) + " bytes, expected " +
                                         (demand.exact ? "exactly " : "at least ") + "offset " +
                                         std::to_string(demand.offset) + " + " +
                                         std::to_string(demand.bytes)};
  }
  return have;
}

Result<void> check_populated(const Mapping& mapping) {
  if (mapping.size() == 0) return {};
  const std::uint64_t page = page_bytes();
  const auto [begin, end] = PageRange(mapping);
  constexpr std::uint64_t kChunkPages = 65'536;
  std::vector<unsigned char> present(std::min(kChunkPages, (end - begin) / page));
  for (std::uint64_t at = begin; at < end; at += kChunkPages * page) {
    const std::uint64_t bytes = std::min(kChunkPages * page, end - at);
    if (::mincore(reinterpret_cast<void*>(at), bytes, present.data()) != 0) {
      return system_error("mincore", errno);
    }
    const auto last = present.begin() + static_cast<std::ptrdiff_t>(bytes / page);
    const auto missing =
        std::find_if(present.begin(), last, [](unsigned char p) { return (p & 1) == 0; });
    if (missing != last) {
      const std::uint64_t index =
          (at - begin) / page + static_cast<std::uint64_t>(missing - present.begin());
      return Error{ginInvalidArgument, "page " + std::to_string(index) + " of " +
                                           std::to_string((end - begin) / page) +
                                           " is not present; the memfd's maker must write to it "
                                           "(MADV_POPULATE_WRITE)"};
    }
  }
  return populate(mapping);
}

Result<void> seal_for_good(int fd) {
  constexpr int kFinal = F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
  if (::fcntl(fd, F_ADD_SEALS, kFinal) == 0) return {};
  const int err = errno;
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals >= 0 && (seals & kFinal) == kFinal) return {};  // sealed before
  Error error = system_error("final sealing of a memfd", err);
  if (seals >= 0) error.message += " (seals: " + seal_names(seals) + ")";
  return error;
}

}  // namespace gind
