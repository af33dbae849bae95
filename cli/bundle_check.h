// Verifies ledgers and builds the history of their events, for a ledger by itself or for a fork
// with its ancestors. Not thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/server_calls.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "ledger_store/bundle/file.h"
#include "ledger_store/bundle/verifier.h"
#include "merkle/compact_tree.h"
#include "questions/answers.h"
#include "questions/subject.h"

namespace dpledger::cli {

// An error of what is read from `path`, which its message names then.
absl::Status In(const std::string& path, const absl::Status& status);

// Verifies one ledger and builds its history from the entries as they are verified.
class LedgerCheck {
 public:
  // Adds only the ledger's first `counted` entries to the history.
  LedgerCheck(bundle::VerifierOptions options, uint64_t counted);
  LedgerCheck(const LedgerCheck&) = delete;

  absl::Status VerifyFile(bundle::FileSource& file);
  absl::Status VerifyOnServer(const std::string& name, ServerCalls& server);

  const bundle::Verifier& verifier() const { return verifier_; }
  const bundle::LedgerRules& rules() const { return verifier_.rules(); }
  // How many entries the history covers.
  uint64_t counted() const { return reader_->size(); }
  // The ledger as a part of a question's subject. FAILED_PRECONDITION (NO_ANALYSIS) naming the
  // first entry without an analysis.
  absl::StatusOr<questions::LedgerPart> Part() const;

 private:
  absl::Status Add(std::string_view entry);

  const uint64_t counted_;
  std::shared_ptr<questions::HistoryReader> reader_;
  merkle::CompactTree tree_;  // of the entries in reader_
  absl::Status no_analysis_;
  bundle::Verifier verifier_;
};

// A verified ledger with its ancestors.
struct VerifiedLineage {
  // The ledger; if it is a fork, its parent; and so on.
  std::vector<std::unique_ptr<LedgerCheck>> ledgers;

  const bundle::Verifier& own() const { return ledgers.front()->verifier(); }
  // Whether nothing is missing that ε depends on: every ancestor is there, and every copy is
  // complete.
  bool whole() const;
  // The fork whose parent is missing; null if the lineage is whole.
  const v1::Fork* missing_parent() const;
};

// Verifies a bundle and the bundles of its ancestors, in order. With several files, differences
// name the file. INVALID_ARGUMENT if there are more files than ancestors.
absl::StatusOr<VerifiedLineage> VerifyFiles(const std::vector<std::string>& paths,
                                            const bundle::VerifierOptions& options);
// Verifies the ledger and its ancestors, all from one server.
absl::StatusOr<VerifiedLineage> VerifyOnServer(const std::string& name, ServerCalls& server,
                                               const bundle::VerifierOptions& options);

// Whether one of `keys` signed the original's checkpoint in a copy's entry 0. A difference of class
// import if the signature of one of them is wrong. Precondition: the ledger is a copy.
absl::StatusOr<bool> CheckOriginal(const VerifiedLineage& lineage,
                                   const std::vector<merkle::VerifierKey>& keys);

// Computes ε at `delta` from the verified entries alone. FAILED_PRECONDITION if a parent is missing
// (PARENT_MISSING), a copy is not complete (COPY_UNFINISHED), or the accountant has no answer.
absl::StatusOr<v1::ComputeEpsilonResponse> RecomputeEpsilon(
    const VerifiedLineage& lineage, double delta, const v1::AccountingOptions& options = {});

// δ at `epsilon`, in the same way.
absl::StatusOr<v1::ComputeDeltaResponse> RecomputeDelta(const VerifiedLineage& lineage,
                                                        double epsilon,
                                                        const v1::AccountingOptions& options = {});

}  // namespace dpledger::cli
