// The suite that every storage engine passes: the tests of the files conformance_*test.cc. An
// engine's own test file instantiates them all:
//
//   INSTANTIATE_TEST_SUITE_P(Embedded, LedgerStoreConformance,
//   ::testing::Values(&MakeEmbeddedEngine));
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "ledger/stored_head.h"
#include "ledger_store/store.h"
#include "tests/ledger_store/requests.h"

namespace dpledger {

// Of the heads, as a server opens its store.
inline HeadKeys ServerKeys() {
  return {std::make_shared<const merkle::Authenticator>(
              *merkle::Ed25519PrivateKey::FromSeed(std::string(32, 'k')), kHeadPurpose),
          nullptr};
}

// A place that holds one store, empty at first, gone with the object.
class Engine {
 public:
  virtual ~Engine() = default;
  // The store at this place, with all that was written to it before. One at a time.
  virtual absl::StatusOr<std::unique_ptr<LedgerStore>> Open(Clock* clock) = 0;
  // Removes the answer of the request from the closed store, behind its back. `ledger` is the first
  // that was made there.
  virtual void ForgetAnswer(const std::string& ledger, const std::string& request_id) = 0;
};

using EngineFactory = std::unique_ptr<Engine> (*)();

// The first `size` entries of a ledger, and the root of their tree.
LedgerPoint PointOf(LedgerStore& store, const std::string& name, uint64_t size);

class LedgerStoreConformance : public ::testing::TestWithParam<EngineFactory> {
 protected:
  void SetUp() override {
    engine_ = GetParam()();
    Reopen();
  }
  void Reopen() {
    store_.reset();
    absl::StatusOr<std::unique_ptr<LedgerStore>> opened = engine_->Open(&clock_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }
  void ForgetAnswer(const std::string& request_id) {
    store_.reset();
    engine_->ForgetAnswer(kLedger, request_id);
    Reopen();
  }
  void CreateLedger(const std::string& name) {
    const absl::StatusOr<v1::Ledger> created = store_->Create(CreateRequest(name));
    ASSERT_TRUE(created.ok()) << created.status();
  }
  // All entries, parsed; checks that they are dense, and that the ledger's root is that of their
  // bytes.
  std::vector<v1::LedgerEntry> WholeLedger(const std::string& name);

  TestClock clock_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<LedgerStore> store_;
};

}  // namespace dpledger
