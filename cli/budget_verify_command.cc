// dpledger budget verify: whether a budget was kept, from bundles alone.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/bundle_check.h"
#include "cli/commands.h"
#include "cli/trust_flags.h"
#include "dpledger/v1/command.pb.h"
#include "events/grant_rules.h"
#include "ledger_store/bundle/difference.h"
#include "ledger_store/bundle/file.h"
#include "ledger_store/bundle/verifier.h"
#include "questions/held_log.h"

namespace dpledger::cli {
namespace {

struct VerifyFlags {
  std::vector<std::string> bundles;
  TrustFlags trust;
};

// A bundle that was verified, and whose every entry held.
struct HeldBundle {
  questions::HeldLog log;
  std::unique_ptr<bundle::Verifier> verifier;

  const std::string& origin() const { return verifier->evidence().checkpoint().origin; }
  // That the server gives the ledger of this name (docs/formats.md, section 7).
  std::string OriginOf(const std::string& ledger) const {
    return absl::StrCat(verifier->evidence().registry().origin, "/", ledger);
  }
  v1::FilterSpending Spending() const {
    v1::FilterSpending spending;
    const questions::HeldRun& run = log.run();
    spending.set_ledger(origin());
    spending.set_filter(Name(run.filter()));
    spending.set_bound(BoundOf(run.filter()));
    spending.set_spent(run.Spent());
    if (!run.terms().under_budget) return spending;
    spending.set_budget(log.declaration().budget());
    spending.set_granted(SpentBy(run.filter(), run.terms().granted.Total()));
    return spending;
  }
};

absl::StatusOr<std::unique_ptr<HeldBundle>> ReadBundle(const std::string& path,
                                                       const VerifyFlags& flags,
                                                       bundle::VerifierOptions options) {
  auto held = std::make_unique<HeldBundle>();
  absl::Status broken;  // of the budget: what the bundle is comes first
  options.entries = [&](std::string_view entry) {
    if (broken.ok()) broken = held->log.Add(entry);
    return absl::OkStatus();
  };
  held->verifier = std::make_unique<bundle::Verifier>(std::move(options));
  ASSIGN_OR_RETURN(bundle::FileSource file, bundle::FileSource::Open(path));
  for (const absl::Status& status : {bundle::VerifyBundle(file, *held->verifier),
                                     flags.trust.CheckTrust(held->verifier->evidence()), broken}) {
    RETURN_IF_ERROR(In(path, status));
  }
  return held;
}

absl::Status Contradiction(const HeldBundle& run, const std::string& what) {
  return bundle::Differs(bundle::kBudgetClass, run.origin(), what);
}

// Both tell of the same grants; a budget may tell of more, to a run that is sealed or whose bundle
// is older. And what the budget sets aside for the run is enough for what the run has spent.
absl::Status CheckRun(const HeldBundle& budget, const HeldBundle& run) {
  const v1::Declaration& declared = run.log.declaration();
  if (run.OriginOf(declared.budget()) != budget.origin()) {
    return Contradiction(run, absl::StrCat("is under the budget ", run.OriginOf(declared.budget()),
                                           ", not under ", budget.origin()));
  }
  if (const char* field = events::NotOfBudget(budget.log.declaration(), declared)) {
    return Contradiction(run, absl::StrCat("declaration.", field, " must be the budget's"));
  }
  std::vector<const v1::BudgetGrant*> told;
  for (const v1::BudgetGrant& grant : budget.log.grants()) {
    if (budget.OriginOf(grant.ledger()) != run.origin()) continue;
    told.push_back(&grant);
    if (budget.OriginOf(grant.budget()) != budget.origin()) {
      return Contradiction(
          run, absl::StrCat("its grant ", told.size(), " is of another budget, ", grant.budget()));
    }
    // A sealed run is not told of what it gives back: compared with what it declares.
    if (!events::SameBlocks(grant, declared)) {
      return Contradiction(run, "is granted other blocks than it declares");
    }
  }
  const std::vector<v1::BudgetGrant>& grants = run.log.grants();
  for (size_t i = 0; i < std::min(told.size(), grants.size()); ++i) {
    if (told[i]->SerializeAsString() == grants[i].SerializeAsString()) continue;
    return Contradiction(run, absl::StrCat("its grant ", i + 1, " is not what the budget says"));
  }
  if (grants.size() > told.size()) {
    return Contradiction(
        run, absl::StrCat("tells of ", grants.size(), " grants, and its budget of ", told.size(),
                          ": where the budget's bundle is the older one, export "
                          "it again"));
  }
  const absl::Status holds = run.log.CheckHolds(told.empty() ? v1::BudgetGrant() : *told.back());
  return holds.ok() ? holds : Contradiction(run, std::string(holds.message()));
}

absl::Status Verify(const VerifyFlags& flags, Output& out) {
  ASSIGN_OR_RETURN(const bundle::VerifierOptions options, flags.trust.Options());
  std::vector<std::unique_ptr<HeldBundle>> all;
  for (const std::string& path : flags.bundles) {
    ASSIGN_OR_RETURN(all.emplace_back(), ReadBundle(path, flags, options));
  }
  const HeldBundle& budget = *all.front();
  if (!budget.log.run().terms().is_budget) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.bundles.front(), ": is no budget; give the budget's bundle first"));
  }
  v1::BudgetVerified answer;
  answer.set_verified(!budget.verifier->evidence().own_keys());
  answer.set_origin(budget.origin());
  answer.set_size(budget.verifier->rules().size());
  *answer.mutable_spending() = budget.Spending();
  answer.set_grants(budget.log.grants().size());
  std::set<std::string> missing;
  for (const v1::BudgetGrant& grant : budget.log.grants()) {
    missing.insert(budget.OriginOf(grant.ledger()));
  }
  for (size_t i = 1; i < all.size(); ++i) {
    RETURN_IF_ERROR(CheckRun(budget, *all[i]));
    missing.erase(all[i]->origin());
    v1::BudgetVerified::Run& run = *answer.add_runs();
    run.set_origin(all[i]->origin());
    run.set_size(all[i]->verifier->rules().size());
    *run.mutable_spending() = all[i]->Spending();
  }
  for (const std::string& origin : missing) answer.add_missing(origin);
  return out.Answer(answer);
}

}  // namespace

void AddBudgetVerifyCommand(flags::App& budget, Command& chosen) {
  auto [command, flags] = AddCommand(
      budget, "verify",
      "Checks, offline from bundles, that a budget was kept: every grant fitted when it was made, "
      "no entry of a run cost more than its grant, and both say the same of each. Exit code 5 if "
      "it was not kept, 3 if a bundle is not what was signed.",
      "  dpledger budget verify mnist-2026.bundle run-17.bundle run-18.bundle --key-file "
      "server.keys",
      Verify, chosen);
  command
      .add_option("BUNDLE", flags.bundles, "the budget's, and after that those of runs under it")
      ->required();
  flags.trust.AddTo(command);
}

}  // namespace dpledger::cli
