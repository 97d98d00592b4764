// SPDX-License-Identifier: Apache-2.0
// Which of libfabric's offers is taken, and what is said when none fits.
#include "gind/transports/ofi.h"

#include <gtest/gtest.h>

#include <csignal>

namespace gind {
namespace {

using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

AssertionResult says(const Result<std::unique_ptr<Transport>>& result,
                     std::initializer_list<const char*> words) {
  if (result.ok())
    return AssertionFailure() << "it was opened: " << result.value()->caps().provider;
  for (const char* word : words)
    if (result.error().message.find(word) == std::string::npos)
      return AssertionFailure() << '"' << word << "\" is not in: " << result.error().message;
  return AssertionSuccess();
}

bool here(const char* provider) {
  OfiOptions options;
  options.provider = provider;
  return make_ofi_transport(options).ok();
}

TEST(OfiProvider, AMissingProviderIsRefusedWithWhatThereIs) {
  OfiOptions options;
  options.provider = "no-such-nic";
  EXPECT_TRUE(says(make_ofi_transport(options), {"no-such-nic", "libfabric 1.", "tcp"}) ||
              says(make_ofi_transport(options), {"no-such-nic", "libfabric 2.", "tcp"}));
}

TEST(OfiProvider, AMissingDeviceIsRefusedWithWhatThereIs) {
  OfiOptions options;
  options.provider = "tcp";
  options.device = "eth999";
  EXPECT_TRUE(says(make_ofi_transport(options), {"eth999", "tcp", "offers", "lo"}));
}

TEST(OfiProvider, AnAddressOfAnotherMachineIsRefused) {
  OfiOptions options;
  options.provider = "tcp;ofi_rxm";
  options.address = "203.0.113.77";
  auto transport = make_ofi_transport(options);
  if (transport) {
    auto endpoint = transport.value()->open_endpoint();
    ASSERT_FALSE(endpoint.ok());
    EXPECT_NE(endpoint.error().message.find("203.0.113.77"), std::string::npos)
        << endpoint.error().message;
  } else {
    EXPECT_TRUE(says(transport, {"203.0.113.77"}));
  }
}

TEST(OfiProvider, AnIpAddressForAProviderWithoutOneIsRefused) {
  OfiOptions options;
  options.provider = "shm";
  options.address = "127.0.0.2";
  EXPECT_TRUE(says(make_ofi_transport(options), {"shm", "127.0.0.2", "empty"}));
}

TEST(OfiProvider, TcpIsTakenByItsShortNameAndReportedByItsFullOne) {
  OfiOptions options;
  options.provider = "TCP";
  auto transport = make_ofi_transport(options);
  ASSERT_TRUE(transport.ok()) << transport.error().message;
  EXPECT_EQ(transport.value()->caps().provider.substr(0, 3), "tcp");
  EXPECT_TRUE(transport.value()->caps().waitable);
  EXPECT_EQ(transport.value()->caps().signal_mode, SignalMode::kRecord);
  EXPECT_GE(transport.value()->caps().immediate_bytes, 4U);
}

TEST(OfiProvider, AutomaticNeverTakesAnInNodeOrDeprecatedProvider) {
  OfiOptions options;
  options.address = "127.0.0.2";
  auto transport = make_ofi_transport(options);
  ASSERT_TRUE(transport.ok()) << transport.error().message;
  for (const char* never : {"shm", "sockets", "udp", "net"})
    EXPECT_NE(transport.value()->caps().provider.substr(0, 3), std::string(never).substr(0, 3));
}

TEST(OfiSignalMode, AnUnknownModeIsRefusedWithTheKnownOnes) {
  OfiOptions options;
  options.signal_mode = "telepathy";
  EXPECT_TRUE(says(make_ofi_transport(options), {"telepathy", "record", "atomic", "sequence"}));
}

TEST(OfiSignalMode, AForcedModeThatTheProviderCannotDoIsRefusedByName) {
  if (!here("shm")) GTEST_SKIP() << "libfabric has no shm provider here";
  OfiOptions options;
  options.provider = "shm";
  options.signal_mode = "record";
  EXPECT_TRUE(says(make_ofi_transport(options), {"shm", "record", "FI_ORDER_SAW"}));
  options.signal_mode = "atomic";
  EXPECT_TRUE(says(make_ofi_transport(options), {"shm", "atomic", "FI_ORDER_WAW"}));
}

TEST(OfiSignalMode, AProviderWithoutStatedOrderGetsSequenceNumbers) {
  for (const char* provider : {"shm", "udp;ofi_rxd"}) {
    OfiOptions options;
    options.provider = provider;
    auto transport = make_ofi_transport(options);
    if (!transport) continue;
    EXPECT_EQ(transport.value()->caps().signal_mode, SignalMode::kSequence) << provider;
    EXPECT_FALSE(transport.value()->caps().ordered_sends) << provider;
  }
}

TEST(OfiSignalMode, RxdIsTreatedAsUnorderedWhateverItStates) {
  if (!here("udp;ofi_rxd")) GTEST_SKIP() << "libfabric has no udp;ofi_rxd provider here";
  OfiOptions options;
  options.provider = "udp;ofi_rxd";
  for (const char* mode : {"record", "atomic"}) {
    options.signal_mode = mode;
    EXPECT_TRUE(says(make_ofi_transport(options), {"ofi_rxd", mode, "unordered"}));
  }
}

TEST(OfiSignalMode, AForcedModeIsUsed) {
  OfiOptions options;
  options.provider = "tcp;ofi_rxm";
  for (const SignalMode mode : {SignalMode::kRecord, SignalMode::kSequence}) {
    options.signal_mode = signal_mode_name(mode);
    auto transport = make_ofi_transport(options);
    ASSERT_TRUE(transport.ok()) << transport.error().message;
    EXPECT_EQ(transport.value()->caps().signal_mode, mode);
    EXPECT_FALSE(transport.value()->caps().atomics);
  }
}

void own_handler(int) {}

TEST(OfiProcess, SignalHandlersOfTheProcessStay) {
  struct sigaction own {
  }, before{}, after{};
  own.sa_handler = own_handler;
  ASSERT_EQ(::sigaction(SIGTERM, &own, &before), 0);
  OfiOptions options;
  for (const char* provider : {"tcp", "shm"}) {
    options.provider = provider;
    auto transport = make_ofi_transport(options);
    if (!transport) continue;
    EXPECT_TRUE(transport.value()->open_endpoint().ok());
  }
  ASSERT_EQ(::sigaction(SIGTERM, &before, &after), 0);
  EXPECT_EQ(after.sa_handler, own_handler);
}

TEST(OfiProcess, PreparationTakesAwayTheHandlersThatLibrariesPutIn) {
  prepare_process_for_ofi();
  OfiOptions options;
  options.provider = "shm";
  (void)make_ofi_transport(options).ok();
  for (const int s : {SIGINT, SIGTERM, SIGSEGV, SIGBUS, SIGABRT}) {
    struct sigaction now {};
    ASSERT_EQ(::sigaction(s, nullptr, &now), 0);
    EXPECT_EQ(now.sa_handler, SIG_DFL) << s;
  }
}

}  // namespace
}  // namespace gind
