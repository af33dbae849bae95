// How fast a bundle of 10^6 events is verified offline, and how long it takes with ε recomputed.
//
//   verify_benchmark [--seconds S]
//
// The limit: reading the same file and hashing its bytes with SHA-256, in the same run. The file is
// in the page cache for both; they take turns, and medians are printed as one JSON object.
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "bench/new_ledger.h"
#include "bench/program.h"
#include "cli/bundle_check.h"
#include "ledger_store/bundle/file.h"
#include "merkle/sha256.h"
#include "tests/ledger_store/bundle_sample.h"

namespace dpledger {
namespace {

constexpr uint64_t kEvents = 1'000'000;
constexpr double kDelta = 1e-6;

// Rounds of one writer: a sampling event and a sum query each.
bundle::SampleLedger MillionEvents() {
  bundle::SampleLedger ledger;
  for (uint64_t round = 1; round <= kEvents / 2; ++round) {
    v1::AppendBatchRequest batch;
    bench::AddRound(round, 1e-4, 1.1, batch);
    for (const v1::NewEntry& made : batch.entries()) {
      ledger.Add("trainer", [&](v1::LedgerEntry& entry) {
        entry.set_request_id(
            absl::StrFormat("01234567-89ab-cdef-0123-%012x", ledger.entries.size() / 100));
        *entry.mutable_claimed_time() = entry.recorded_time();
        *entry.mutable_event() = made.event();
      });
    }
  }
  return ledger;
}

void WriteBundle(const std::string& path) {
  const bundle::SampleLedger ledger = MillionEvents();
  auto file = bench::Must(bundle::NewFile::Make(path));
  bench::Check(file.Write(bundle::SampleBundle(ledger)));
  bench::Check(file.Commit());
}

bundle::FileSource Open(const std::string& path) {
  return bench::Must(bundle::FileSource::Open(path));
}

void Verify(const std::string& path) {
  bundle::FileSource file = Open(path);
  bundle::Verifier verifier({});
  bench::Check(bundle::VerifyBundle(file, verifier));
}

void Audit(const std::string& path) {
  const auto lineage = bench::Must(cli::VerifyFiles({path}, {}));
  bench::Check(cli::RecomputeEpsilon(lineage, kDelta).status());
}

void ReadAndHash(const std::string& path) {
  bundle::FileSource file = Open(path);
  std::string buffer(size_t{1} << 20, '\0');
  while (true) {
    const auto n = bench::Must(file.Read(buffer.data(), buffer.size()));
    if (n == 0) return;
    merkle::Sha256({std::string_view(buffer).substr(0, n)});
  }
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const bench::ScratchFolder folder;
  const std::string path = folder.path() + "/million.bundle";
  WriteBundle(path);
  std::vector<double> verify, audit, limit;
  const absl::Time end = absl::Now() + absl::Seconds(seconds);
  do {
    limit.push_back(bench::SecondsOf([&] { ReadAndHash(path); }));
    verify.push_back(bench::SecondsOf([&] { Verify(path); }));
    audit.push_back(bench::SecondsOf([&] { Audit(path); }));
  } while (verify.size() < 3 && absl::Now() < end);
  bench::Report report("store/");
  report.Add("verify_events_per_s", kEvents / bench::Median(verify), "1/s",
             kEvents / bench::Median(limit));
  report.Add("audit_million_events_s", bench::Median(audit), "s");
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
