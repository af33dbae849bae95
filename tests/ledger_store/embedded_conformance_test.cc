#include "ledger_store/embedded/embedded_store.h"
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
    return OpenEmbeddedStore(options);
  }

 private:
  TempFolder folder_;
};

std::unique_ptr<Engine> MakeEmbeddedEngine() { return std::make_unique<EmbeddedEngine>(); }

INSTANTIATE_TEST_SUITE_P(Embedded, LedgerStoreConformance, testing::Values(&MakeEmbeddedEngine));

}  // namespace
}  // namespace dpledger
