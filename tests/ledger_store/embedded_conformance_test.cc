#include "ledger_store/embedded/embedded_store.h"
#include "ledger_store/embedded/keys.h"
#include "ledger_store/embedded/rocksdb_options.h"
#include "rocksdb/db.h"
#include "tests/ledger_store/conformance_test.h"
#include "tests/ledger_store/temp_folder.h"

namespace dpledger {
namespace {

class EmbeddedEngine : public Engine {
 public:
  absl::StatusOr<std::unique_ptr<LedgerStore>> Open(Clock* clock) override {
    EmbeddedOptions options;
    options.folder = folder_.path() + "/store";
    options.clock = clock;
    options.keys = ServerKeys();
    return OpenEmbeddedStore(options);
  }
  void ForgetAnswer(const std::string&, const std::string& request_id) override {
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(
        rocksdb::DB::Open(embedded::DatabaseOptions(nullptr), folder_.path() + "/store", &opened)
            .ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    std::string answer;
    ASSERT_TRUE(db->Get({}, embedded::RequestKey(0, request_id), &answer).ok());
    ASSERT_TRUE(db->Delete({}, embedded::RequestKey(0, request_id)).ok());
  }

 private:
  TempFolder folder_;
};

std::unique_ptr<Engine> MakeEmbeddedEngine() { return std::make_unique<EmbeddedEngine>(); }

INSTANTIATE_TEST_SUITE_P(Embedded, LedgerStoreConformance, ::testing::Values(&MakeEmbeddedEngine));

}  // namespace
}  // namespace dpledger
