#include "cli/bundle_check.h"

#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/hex.h"
#include "base/status.h"
#include "cli/progress.h"
#include "events/declaration_rules.h"
#include "ledger_store/bundle/difference.h"
#include "ledger_store/bundle/served_ledger.h"
#include "merkle/compact_tree.h"

namespace dpledger::cli {
namespace {

constexpr uint64_t kAllEntries = std::numeric_limits<uint64_t>::max();
constexpr size_t kMaxLineage = 64;  // a server may make up parents without end

// Shows how far the verifier has come, as it reads on.
class WatchedSource : public bundle::ByteSource {
 public:
  WatchedSource(bundle::ByteSource* source, const bundle::Verifier* verifier)
      : source_(*source), verifier_(*verifier), progress_("verified") {}
  absl::StatusOr<size_t> Read(char* into, size_t max_bytes) override {
    progress_.Show(verifier_.rules().size(), verifier_.evidence().checkpoint().size);
    return source_.Read(into, max_bytes);
  }

 private:
  bundle::ByteSource& source_;
  const bundle::Verifier& verifier_;
  Progress progress_;
};

bundle::VerifierOptions WithEntries(bundle::VerifierOptions options, bundle::EntrySink entries) {
  options.entries = std::move(entries);
  return options;
}

// The fork that a ledger, or the original of a copy, begins with; null if it is none.
const v1::Fork* ForkOf(const LedgerCheck& check) {
  const v1::LedgerEntry& first = check.rules().source().first();
  return first.has_fork() ? &first.fork() : nullptr;
}

std::string NameOf(const LedgerCheck& check) {
  return check.verifier().evidence().checkpoint().origin;
}

// How the ledger after `lineage` is to be verified: the parent of the last one so far.
struct NextLedger {
  bundle::VerifierOptions options;
  uint64_t counted = kAllEntries;
};
NextLedger NextOf(const VerifiedLineage& lineage, const bundle::VerifierOptions& options) {
  NextLedger next{options, kAllEntries};
  if (lineage.ledgers.empty()) return next;
  next.counted = ForkOf(*lineage.ledgers.back())->parent_size();
  next.options.older.clear();  // of the ledger that was asked for
  next.options.root_sizes = {next.counted};
  return next;
}

// That the ledger verified last is the one that the ledger before it carries on from.
absl::Status CheckParent(const VerifiedLineage& lineage) {
  if (lineage.ledgers.size() < 2) return absl::OkStatus();
  const LedgerCheck& parent = *lineage.ledgers.back();
  const LedgerCheck& child = *lineage.ledgers[lineage.ledgers.size() - 2];
  const v1::Fork& fork = *ForkOf(child);
  const std::optional<merkle::Hash> root = parent.verifier().RootAt(fork.parent_size());
  if (root.has_value() && merkle::ToBytes(*root) == fork.parent_root()) {
    const char* field =
        events::NotInherited(parent.rules().declaration(), child.rules().declaration());
    if (field == nullptr) return absl::OkStatus();
    return bundle::Differs(bundle::kForkClass, NameOf(child),
                           absl::StrCat("declaration.", field, " must be the parent's"));
  }
  return bundle::Differs(
      bundle::kForkClass, NameOf(parent),
      absl::StrCat("the parent of ", NameOf(child), ", with root ", HexEncode(fork.parent_root()),
                   " at ", fork.parent_size(), " entries"),
      root.has_value() ? HexEncode(merkle::ToBytes(*root))
                       : absl::StrCat("a ledger of ", parent.rules().size(), " entries"));
}

absl::Status CheckWhole(const VerifiedLineage& lineage) {
  for (const auto& ledger : lineage.ledgers) {
    if (ledger->rules().complete()) continue;
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            NameOf(*ledger), ": is an unfinished copy, whose epsilon is not the original's")),
        {"COPY_UNFINISHED", {}});
  }
  const v1::Fork* fork = lineage.missing_parent();
  if (fork == nullptr) return absl::OkStatus();
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          NameOf(*lineage.ledgers.back()), ": is a fork of ", fork->parent(), ", whose first ",
          fork->parent_size(),
          " entries are part of its epsilon and are not here; give the parent's bundle too")),
      {"PARENT_MISSING", {}});
}

absl::StatusOr<questions::Subject> SubjectOf(const VerifiedLineage& lineage, uint64_t group_size) {
  RETURN_IF_ERROR(CheckWhole(lineage));
  const v1::Declaration& declaration = lineage.own().rules().declaration();
  RETURN_IF_ERROR(PrefixField("declaration", events::CheckDeclaration(declaration)));
  questions::Lineage parts;
  for (const auto& ledger : lineage.ledgers) {
    ASSIGN_OR_RETURN(questions::LedgerPart part, ledger->Part());
    parts.push_back(std::move(part));
  }
  questions::SubjectOptions options;
  options.group_size = group_size;
  return questions::SubjectOf({std::move(parts)}, options);
}

}  // namespace

absl::Status In(const std::string& path, const absl::Status& status) {
  if (status.ok()) return status;
  return WithReason(absl::Status(status.code(), absl::StrCat(path, ": ", status.message())),
                    ReasonOf(status));
}

LedgerCheck::LedgerCheck(bundle::VerifierOptions options, uint64_t counted)
    : counted_(counted),
      reader_(std::make_shared<questions::HistoryReader>()),
      verifier_(
          WithEntries(std::move(options), [this](std::string_view entry) { return Add(entry); })) {}

absl::Status LedgerCheck::Add(std::string_view entry) {
  if (!no_analysis_.ok() || reader_->size() >= counted_) return absl::OkStatus();
  tree_.Append(merkle::LeafHash(entry));
  // It may be asked for nothing but what is signed: only an epsilon depends on this.
  no_analysis_ = reader_->Add(entry);
  return absl::OkStatus();
}

absl::StatusOr<questions::LedgerPart> LedgerCheck::Part() const {
  RETURN_IF_ERROR(no_analysis_);
  questions::LedgerPart part;
  part.name = NameOf(*this);
  part.root = tree_.Root();
  part.reader = reader_;
  for (const auto& [name, writer] : rules().source().writer_statuses()) {
    part.writers.push_back(writer);
  }
  return part;
}

absl::Status LedgerCheck::VerifyFile(bundle::FileSource& file) {
  WatchedSource source(&file, &verifier_);
  return bundle::VerifyBundle(source, verifier_);
}

absl::Status LedgerCheck::VerifyOnServer(const std::string& name, ServerCalls& server) {
  Progress progress("verified");
  return bundle::VerifyServed(name, server, verifier_, [&](uint64_t verified, uint64_t size) {
    progress.Show(verified, size);
  });
}

const v1::Fork* VerifiedLineage::missing_parent() const { return ForkOf(*ledgers.back()); }

absl::StatusOr<VerifiedLineage> VerifyFiles(const std::vector<std::string>& paths,
                                            const bundle::VerifierOptions& options) {
  VerifiedLineage lineage;
  for (const std::string& path : paths) {
    if (!lineage.ledgers.empty() && lineage.missing_parent() == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": is of no use here, ", NameOf(*lineage.ledgers.back()), " is not a fork"));
    }
    NextLedger next = NextOf(lineage, options);
    ASSIGN_OR_RETURN(bundle::FileSource file, bundle::FileSource::Open(path));
    lineage.ledgers.push_back(std::make_unique<LedgerCheck>(std::move(next.options), next.counted));
    RETURN_IF_ERROR(In(path, lineage.ledgers.back()->VerifyFile(file)));
    RETURN_IF_ERROR(In(path, CheckParent(lineage)));
  }
  return lineage;
}

absl::StatusOr<VerifiedLineage> VerifyOnServer(const std::string& name, ServerCalls& server,
                                               const bundle::VerifierOptions& options) {
  VerifiedLineage lineage;
  std::string ledger = name;
  while (lineage.ledgers.size() < kMaxLineage) {
    NextLedger next = NextOf(lineage, options);
    lineage.ledgers.push_back(std::make_unique<LedgerCheck>(std::move(next.options), next.counted));
    RETURN_IF_ERROR(In(ledger, lineage.ledgers.back()->VerifyOnServer(ledger, server)));
    RETURN_IF_ERROR(In(ledger, CheckParent(lineage)));
    // The parent of a copy's original is on the original's server.
    const bool copy = lineage.ledgers.back()->rules().original() != nullptr;
    if (lineage.missing_parent() == nullptr || copy) return lineage;
    ledger = lineage.missing_parent()->parent();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat(name, ": is a fork of a fork, more than ", kMaxLineage, " deep"));
}

bool VerifiedLineage::whole() const { return CheckWhole(*this).ok(); }

absl::StatusOr<bool> CheckOriginal(const VerifiedLineage& lineage,
                                   const std::vector<merkle::VerifierKey>& keys) {
  const v1::Import& import = lineage.own().rules().first().import();
  ASSIGN_OR_RETURN(const merkle::Note note, merkle::Note::Parse(import.checkpoint()));
  const absl::Status verified = merkle::VerifyNote(note, keys).status();
  if (verified.ok()) return true;
  if (absl::IsPermissionDenied(verified)) return false;
  return bundle::Differs(bundle::kImportClass, "entry 0, import.checkpoint",
                         FromAbsl(verified.message()));
}

absl::StatusOr<v1::ComputeEpsilonResponse> RecomputeEpsilon(const VerifiedLineage& lineage,
                                                            double delta,
                                                            const v1::AccountingOptions& options) {
  ASSIGN_OR_RETURN(const questions::Subject subject, SubjectOf(lineage, options.group_size()));
  v1::ComputeEpsilonRequest request;
  request.set_delta(delta);
  *request.mutable_options() = options;
  return questions::Answer(subject, request, accountant::Limits());
}

absl::StatusOr<v1::ComputeDeltaResponse> RecomputeDelta(const VerifiedLineage& lineage,
                                                        double epsilon,
                                                        const v1::AccountingOptions& options) {
  ASSIGN_OR_RETURN(const questions::Subject subject, SubjectOf(lineage, options.group_size()));
  v1::ComputeDeltaRequest request;
  request.set_epsilon(epsilon);
  *request.mutable_options() = options;
  return questions::Answer(subject, request, accountant::Limits());
}

}  // namespace dpledger::cli
