// Ledgers verified, and what their events come to: a ledger by itself, or a fork with the ledgers
// that it carries on from. Not thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/bundle_file.h"
#include "cli/server_calls.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "ledger/questions.h"
#include "ledger/subject.h"
#include "ledger_store/bundle/verifier.h"
#include "merkle/compact_tree.h"

namespace dpledger::cli {

// One ledger, and what its entries come to as they are verified.
class LedgerCheck {
 public:
  // Of the ledger's entries only the first `counted` are added to the history.
  LedgerCheck(bundle::VerifierOptions options, uint64_t counted);
  LedgerCheck(const LedgerCheck&) = delete;

  absl::Status VerifyFile(FileSource& file);
  absl::Status VerifyOnServer(const std::string& name, ServerCalls& server);

  const bundle::Verifier& verifier() const { return verifier_; }
  const bundle::LedgerRules& rules() const { return verifier_.rules(); }
  // How many entries are in the history.
  uint64_t counted() const { return reader_->size(); }
  // As a question takes it. FAILED_PRECONDITION (NO_ANALYSIS) naming the first entry that has no
  // analysis.
  absl::StatusOr<accountant::LedgerPart> Part() const;

 private:
  absl::Status Add(std::string_view entry);

  const uint64_t counted_;
  std::shared_ptr<accountant::HistoryReader> reader_;
  merkle::CompactTree tree_;  // of what reader_ has taken
  absl::Status no_analysis_;
  bundle::Verifier verifier_;
};

// What is known of a ledger once it is verified.
struct VerifiedLineage {
  // The ledger, then the parent of which it is a fork, and so on.
  std::vector<std::unique_ptr<LedgerCheck>> ledgers;

  const bundle::Verifier& own() const { return ledgers.front()->verifier(); }
  // Whether nothing is missing that epsilon depends on.
  bool whole() const;
  // The fork whose parent is not there; null if the lineage is whole.
  const v1::Fork* missing_parent() const;
};

// The bundle, and the bundles of its parents in order. Differences name the file if there are
// several. INVALID_ARGUMENT for a file too many.
absl::StatusOr<VerifiedLineage> VerifyFiles(const std::vector<std::string>& paths,
                                            const bundle::VerifierOptions& options);
// The ledger and, if it is a fork, its parents, all from one server.
absl::StatusOr<VerifiedLineage> VerifyOnServer(const std::string& name, ServerCalls& server,
                                               const bundle::VerifierOptions& options);

// Whether one of these keys signed the checkpoint of the original of which the ledger is a copy. A
// difference of class import if one did so wrongly. Precondition: it is a copy.
absl::StatusOr<bool> CheckOriginal(const VerifiedLineage& lineage,
                                   const std::vector<merkle::VerifierKey>& keys);

// ε at `delta`, from the verified entries alone. FAILED_PRECONDITION: a parent is missing
// (PARENT_MISSING), a copy is not complete (COPY_UNFINISHED), or the accountant has no answer.
absl::StatusOr<v1::ComputeEpsilonResponse> RecomputeEpsilon(
    const VerifiedLineage& lineage, double delta, const v1::AccountingOptions& options = {});

// δ at `epsilon`, in the same way.
absl::StatusOr<v1::ComputeDeltaResponse> RecomputeDelta(const VerifiedLineage& lineage,
                                                        double epsilon,
                                                        const v1::AccountingOptions& options = {});

}  // namespace dpledger::cli
