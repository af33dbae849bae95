// dpledger budget verify: whether a budget was kept, from bundles alone.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/bundle_check.h"
#include "cli/commands.h"
#include "cli/trust_flags.h"
#include "ledger_store/bundle/difference.h"
#include "ledger_store/bundle/file.h"
#include "ledger_store/bundle/verifier.h"
#include "questions/budget_check.h"

namespace dpledger::cli {
namespace {

struct VerifyFlags {
  std::vector<std::string> bundles;
  bool partial = false;
  TrustFlags trust;
};

// Verifies the bundle and gives its entries to `check`. Returns whether keys of its own did it.
absl::StatusOr<bool> ReadBundle(const std::string& path, const VerifyFlags& flags,
                                bundle::VerifierOptions options, questions::BudgetCheck& check) {
  std::optional<bundle::Verifier> verifier;
  absl::Status broken = absl::FailedPreconditionError("there are no entries");
  uint64_t taken = 0;
  options.entries = [&](std::string_view entry) {
    const bundle::EvidenceCheck& evidence = verifier->evidence();
    if (taken++ == 0) check.Begin(evidence.checkpoint().origin, evidence.registry().origin);
    broken = check.Add(entry);
    return absl::OkStatus();
  };
  verifier.emplace(std::move(options));
  ASSIGN_OR_RETURN(bundle::FileSource file, bundle::FileSource::Open(path));
  // What the bundle is comes first, then what the budget is.
  for (const absl::Status& status : {bundle::VerifyBundle(file, *verifier),
                                     flags.trust.CheckTrust(verifier->evidence()), broken}) {
    RETURN_IF_ERROR(In(path, status));
  }
  return verifier->evidence().own_keys();
}

absl::Status Verify(const VerifyFlags& flags, Output& out) {
  ASSIGN_OR_RETURN(const bundle::VerifierOptions options, flags.trust.Options());
  questions::BudgetCheck check;
  bool own_keys = false;
  for (const std::string& path : flags.bundles) {
    ASSIGN_OR_RETURN(const bool own, ReadBundle(path, flags, options, check));
    own_keys = own_keys || own;
  }
  absl::StatusOr<v1::BudgetVerified> answer = check.Verify();
  if (const ErrorReason reason = ReasonOf(answer.status());
      reason.reason == questions::kBudgetDiffers) {
    return WithReason(answer.status(),
                      {bundle::kDifference,
                       {{"class", bundle::kBudgetClass}, {"where", reason.metadata.at("origin")}}});
  }
  RETURN_IF_ERROR(answer.status());
  answer->set_verified(!own_keys);
  RETURN_IF_ERROR(out.Answer(*answer));
  if (answer->missing().empty() || flags.partial) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "not all was checked: give the present bundles of ", answer->missing_size(),
      answer->missing_size() == 1 ? " more run" : " more runs", ", or --partial to do without"));
}

}  // namespace

void AddBudgetVerifyCommand(flags::App& budget, Command& chosen) {
  auto [command, flags] = AddCommand(
      budget, "verify",
      "Checks, offline from bundles, that a budget was kept: every grant fitted when it was made, "
      "no entry of a run cost more than its grant, and both say the same of each. Exit code 5 if "
      "it was not kept, 3 if a bundle is not what was signed, 1 if that of a run is missing or "
      "old. "
      "What a bundle says in words beside its entries is not compared: ledger verify does that.",
      "  dpledger budget verify mnist-2026.bundle run-17.bundle run-18.bundle --key-file "
      "server.keys",
      Verify, chosen);
  command
      .add_option("BUNDLE", flags.bundles, "the budget's and those of runs under it, in any order")
      ->required();
  command.add_flag("--partial", flags.partial, "is content without the bundles of all its runs");
  flags.trust.AddKeysTo(command);
}

}  // namespace dpledger::cli
