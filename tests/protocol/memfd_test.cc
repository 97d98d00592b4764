// SPDX-License-Identifier: Apache-2.0
#include "gind/common/memfd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace gind {
namespace {

constexpr std::uint64_t kPage = 4096;

bool has(const Error& error, const std::string& part) {
  return error.message.find(part) != std::string::npos;
}

Fd bare_memfd(std::uint64_t bytes) {
  Fd fd(::memfd_create("bare", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
  return fd;
}

TEST(Memfd, IsCloseOnExecZeroedAndOfTheSizeAsked) {
  auto fd = create_memfd("t", 3 * kPage);
  ASSERT_TRUE(fd) << fd.error().message;
  EXPECT_NE(::fcntl(fd.value().get(), F_GETFD) & FD_CLOEXEC, 0);
  auto mapping = Mapping::map(fd.value().get(), 0, 3 * kPage);
  ASSERT_TRUE(mapping) << mapping.error().message;
  ASSERT_EQ(mapping.value().size(), 3 * kPage);
  const auto* bytes = static_cast<const unsigned char*>(mapping.value().data());
  for (std::uint64_t i = 0; i < 3 * kPage; ++i) ASSERT_EQ(bytes[i], 0) << i;
}

TEST(Memfd, CannotShrinkOrGrow) {
  auto fd = create_memfd("t", 2 * kPage);
  ASSERT_TRUE(fd);
  EXPECT_EQ(::ftruncate(fd.value().get(), kPage), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(fd.value().get(), 3 * kPage), -1);
  EXPECT_EQ(errno, EPERM);
}

TEST(Memfd, OfNoBytesOrMoreThanTheMachineHasIsRefusedWithTheSize) {
  auto none = create_memfd("t", 0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ginInvalidArgument);
  auto huge = create_memfd("t", std::uint64_t{1} << 60);
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code, ginLimitExceeded);
  EXPECT_TRUE(has(huge.error(), std::to_string(std::uint64_t{1} << 60))) << huge.error().message;
}

TEST(Memfd, TwoMappingsShareTheirBytes) {
  auto fd = create_memfd("t", 2 * kPage);
  ASSERT_TRUE(fd);
  auto a = Mapping::map(fd.value().get(), 0, 2 * kPage);
  auto b = Mapping::map(fd.value().get(), 100, 50);  // not on a page
  ASSERT_TRUE(a);
  ASSERT_TRUE(b);
  EXPECT_EQ(b.value().size(), 50u);
  static_cast<char*>(a.value().data())[149] = 42;
  EXPECT_EQ(static_cast<char*>(b.value().data())[49], 42);
}

TEST(Memfd, MappingBeyondTheEndIsRefused) {
  auto fd = create_memfd("t", 2 * kPage);
  ASSERT_TRUE(fd);
  EXPECT_FALSE(Mapping::map(fd.value().get(), 0, 2 * kPage + 1));
  EXPECT_FALSE(Mapping::map(fd.value().get(), kPage, kPage + 1));
  EXPECT_FALSE(Mapping::map(fd.value().get(), ~std::uint64_t{0}, 2));
  EXPECT_FALSE(Mapping::map(fd.value().get(), 0, 0));
  EXPECT_FALSE(Mapping::map(-1, 0, 1));
}

TEST(Memfd, CheckAcceptsWhatCreateMakes) {
  auto fd = create_memfd("t", 2 * kPage);
  ASSERT_TRUE(fd);
  auto size = check_memfd(fd.value().get(), {0, 2 * kPage, true});
  ASSERT_TRUE(size) << size.error().message;
  EXPECT_EQ(size.value(), 2 * kPage);
  EXPECT_TRUE(check_memfd(fd.value().get(), {kPage, 10, false}));
}

TEST(Memfd, CheckRefusesMissingSealsByName) {
  Fd fd = bare_memfd(kPage);
  auto unsealed = check_memfd(fd.get(), {0, kPage, true});
  ASSERT_FALSE(unsealed);
  EXPECT_TRUE(has(unsealed.error(), "none")) << unsealed.error().message;
  ASSERT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  auto half = check_memfd(fd.get(), {0, kPage, true});
  ASSERT_FALSE(half);
  EXPECT_TRUE(has(half.error(), "shrink; shrink and grow")) << half.error().message;
}

TEST(Memfd, CheckRefusesWrongSizes) {
  auto fd = create_memfd("t", 2 * kPage);
  ASSERT_TRUE(fd);
  EXPECT_FALSE(check_memfd(fd.value().get(), {0, 2 * kPage + 1, false}));
  EXPECT_FALSE(check_memfd(fd.value().get(), {kPage, kPage + 1, false}));
  EXPECT_FALSE(check_memfd(fd.value().get(), {0, kPage, true}));
  EXPECT_FALSE(check_memfd(fd.value().get(), {~std::uint64_t{0}, 2, false}));
  EXPECT_FALSE(check_memfd(fd.value().get(), {2, ~std::uint64_t{0}, false}));
}

TEST(Memfd, CheckRefusesWhatIsNoMemfd) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Fd in(ends[0]);
  Fd out(ends[1]);
  EXPECT_FALSE(check_memfd(in.get(), {0, 1, false}));
  Fd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(file.valid());
  EXPECT_FALSE(check_memfd(file.get(), {0, 1, false}));
  auto memfd = create_memfd("t", kPage);
  ASSERT_TRUE(memfd);
  const std::string path = "/proc/self/fd/" + std::to_string(memfd.value().get());
  Fd read_only(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(read_only.valid());
  EXPECT_FALSE(check_memfd(read_only.get(), {0, kPage, true}));
}

TEST(Memfd, UnallocatedPageIsNamedBeforeAnythingIsTouched) {
  Fd fd = bare_memfd(4 * kPage);
  const char two_pages[2 * kPage] = {1};
  ASSERT_EQ(::pwrite(fd.get(), two_pages, sizeof two_pages, 0), ssize_t{2 * kPage});
  auto mapping = Mapping::map(fd.get(), 0, 4 * kPage);
  ASSERT_TRUE(mapping);
  auto populated = check_populated(mapping.value());
  ASSERT_FALSE(populated);
  EXPECT_TRUE(has(populated.error(), "page 2 of 4")) << populated.error().message;
  auto whole = create_memfd("t", 4 * kPage);
  ASSERT_TRUE(whole);
  auto good = Mapping::map(whole.value().get(), 0, 4 * kPage);
  ASSERT_TRUE(good);
  auto ok = check_populated(good.value());
  EXPECT_TRUE(ok) << ok.error().message;
}

TEST(Memfd, SealedForGoodRefusesHolesNewWritableMappingsAndSeals) {
  auto fd = create_memfd("t", 2 * kPage);
  ASSERT_TRUE(fd);
  auto mine = Mapping::map(fd.value().get(), 0, 2 * kPage);
  ASSERT_TRUE(mine);
  // Before: a hole can be punched, which is why the seal is needed.
  EXPECT_EQ(::fallocate(fd.value().get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kPage), 0);
  ASSERT_TRUE(seal_for_good(fd.value().get()));
  EXPECT_EQ(::fallocate(fd.value().get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kPage),
            -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::madvise(mine.value().data(), kPage, MADV_REMOVE), -1);
  EXPECT_EQ(::fcntl(fd.value().get(), F_ADD_SEALS, F_SEAL_WRITE), -1);
  EXPECT_EQ(errno, EPERM);
  auto second = Mapping::map(fd.value().get(), 0, 2 * kPage);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ginPermissionDenied) << second.error().message;
  static_cast<char*>(mine.value().data())[kPage] = 1;  // the old mapping still writes
  EXPECT_TRUE(seal_for_good(fd.value().get()));        // and twice is once
}

}  // namespace
}  // namespace gind
