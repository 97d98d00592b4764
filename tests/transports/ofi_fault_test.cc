// SPDX-License-Identifier: Apache-2.0
#include "fabrics.h"
#include "gind/transports/ofi.h"

#include <dirent.h>

#include <set>
#include <thread>

namespace gind::test {
namespace {

std::set<std::string> shared_names() {
  std::set<std::string> names;
  if (DIR* dir = ::opendir("/dev/shm")) {
    while (const dirent* entry = ::readdir(dir))
      if (std::string(entry->d_name).find("gind-" + std::to_string(::getpid()) + "-") !=
          std::string::npos)
        names.insert(entry->d_name);
    ::closedir(dir);
  }
  return names;
}

TEST(OfiShm, ItsNamesAreGoneAfterTheEndpoints) {
  OfiOptions options;
  options.provider = "shm";
  auto transport = make_ofi_transport(options);
  if (!transport) GTEST_SKIP() << transport.error().message;
  {
    auto one = transport.value()->open_endpoint();
    auto two = transport.value()->open_endpoint();
    ASSERT_TRUE(one.ok() && two.ok());
    EXPECT_NE(one.value()->address(), two.value()->address());
    EXPECT_FALSE(shared_names().empty());
  }
  EXPECT_TRUE(shared_names().empty()) << *shared_names().begin();
}

class OfiPeer : public FabricTest {
 protected:
  void SetUp() override {}
  static Fabric impatient() {
    return {"impatient", [](int node, std::string& reason) -> std::shared_ptr<Transport> {
              OfiOptions options;
              options.provider = "tcp;ofi_rxm";
              options.address = node == 0 ? "127.0.0.2" : "127.0.0.3";
              options.connect_timeout = std::chrono::milliseconds(300);
              auto transport = make_ofi_transport(options);
              if (transport) return std::move(transport).value();
              reason = transport.error().message;
              return nullptr;
            }};
  }
};

TEST_F(OfiPeer, ThatNobodyListensForFailsItsRequests) {
  open(impatient());
  if (IsSkipped()) return;
  Buffer from(*a.transport, 64);
  Buffer to(*b.transport, 64);
  b.endpoint.reset();
  post_all(a, {write_request(from, 0, to, 0, 8, 1), write_request(from, 0, to, 0, 8, 2)});
  until([&] { return a.finished() == 2; }, "the failures");
  EXPECT_EQ(a.count(CompletionKind::kFailed), 2U);
  EXPECT_FALSE(a.events.back().error.empty());
}

TEST_F(OfiPeer, ThatIsDestroyedFailsLaterRequestsToo) {
  open(impatient());
  if (IsSkipped()) return;
  Buffer from(*a.transport, 64);
  Buffer to(*b.transport, 64);
  post_all(a, {write_request(from, 0, to, 0, 8, 1)});
  until([&] { return a.finished() == 1; }, "a first write");
  EXPECT_EQ(a.count(CompletionKind::kFailed), 0U);
  b.endpoint.reset();
  // One may still get into the socket and die there; none is left without an end.
  for (std::uint64_t i = 2; i < 6; ++i) {
    post_all(a, {write_request(from, 0, to, 0, 8, i)});
    until([&] { return a.finished() == i; }, "an end");
  }
  EXPECT_EQ(a.finished(), 5U);
  EXPECT_EQ(a.events.back().kind, CompletionKind::kFailed);
}

}  // namespace
}  // namespace gind::test
