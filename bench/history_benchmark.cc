// How long ε of a long ledger takes: the first time, when all its entries are read; after the store
// was opened again, from its run-length table; and after 1000 more events.
//
//   history_benchmark [--seconds S]
//
// One ledger of 10 million events (a million if there are less than 10 seconds) in batches of
// 10,000, a sampling event and a sum query each round, three kinds of rounds in turn. The store is
// an embedded one in this folder; the questions are asked of the service, without gRPC. Figures
// after the restart are medians of five restarts. Prints one JSON object.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/new_ledger.h"
#include "bench/program.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "ledger_store/embedded/embedded_store.h"
#include "merkle/authenticator.h"
#include "server/questions/accounting_service.h"
#include "server/questions/stored_history.h"

namespace dpledger {
namespace {

constexpr char kLedger[] = "projects/bench/ledgers/long";
constexpr int kBatch = 10'000;
constexpr int kMore = 1000;
constexpr int kRestarts = 5;
constexpr int kKinds = 3;

class LongLedger {
 public:
  explicit LongLedger(const std::string& folder) : folder_(folder) {
    Open();
    bench::Check(store_->Create(bench::NewLedger(kLedger)).status());
  }

  // Seconds to open the store are not in any figure.
  void Open() {
    service_.reset();
    store_.reset();
    store_ = bench::Must(OpenEmbeddedStore({.folder = folder_}));
    server::AccountingLimits limits;
    limits.query_timeout = absl::Minutes(10);
    service_ = std::make_unique<server::AccountingService>(store_.get(), limits, nullptr,
                                                           server::TableKeeping{key_, nullptr});
  }

  void Append(int events) {
    v1::AppendBatchRequest request;
    request.set_ledger(kLedger);
    request.set_writer("trainer");
    request.set_request_id(absl::StrCat("batch-", round_));
    for (int i = 0; i < events; i += 2, ++round_)
      bench::AddRound(round_, 0.001 * static_cast<double>(1 + round_ % kKinds), 4, request);
    bench::Check(store_->Append(std::move(request)).status());
  }

  double AskMilliseconds() {
    v1::ComputeEpsilonRequest request;
    request.set_delta(1e-5);
    request.mutable_subject()->add_ledgers(kLedger);
    const absl::Time start = absl::Now();
    const auto answer = bench::Must(service_->ComputeEpsilon(request, {}));
    const double taken = absl::ToDoubleMilliseconds(absl::Now() - start);
    if (!(answer.epsilon().upper() > 0)) bench::Die("an answer without ε");
    return taken;
  }

 private:
  const std::string folder_;
  const std::shared_ptr<const merkle::Authenticator> key_ = std::make_shared<merkle::Authenticator>(
      bench::Must(merkle::Ed25519PrivateKey::Generate()), server::kHistoryPurpose);
  std::unique_ptr<LedgerStore> store_;
  std::unique_ptr<server::AccountingService> service_;
  uint64_t round_ = 0;
};

int Run(int argc, char** argv) {
  const int millions = bench::Seconds(argc, argv) < 10 ? 1 : 10;
  const bench::ScratchFolder folder;
  LongLedger ledger(folder.path());
  for (int i = 0; i < millions * 1'000'000 / kBatch; ++i) ledger.Append(kBatch);

  const double scan = ledger.AskMilliseconds();
  std::vector<double> restarted;
  std::vector<double> more;
  for (int i = 0; i < kRestarts; ++i) {
    ledger.Open();
    restarted.push_back(ledger.AskMilliseconds());
    ledger.Append(kMore);
    more.push_back(ledger.AskMilliseconds());
  }
  bench::Report report(absl::StrCat("accounting/epsilon_", millions, "m_events_"));
  report.Add("scan_ms", scan, "ms");
  report.Add("ms", bench::Median(restarted), "ms");
  report.Add("1000_more_ms", bench::Median(more), "ms");
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
