#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/bundle_check.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/ledger_place.h"
#include "cli/question_flags.h"
#include "cli/readable_check.h"
#include "cli/trust_flags.h"
#include "dpledger/v1/command.pb.h"
#include "events/names.h"
#include "merkle/compact_tree.h"

namespace dpledger::cli {
namespace {

struct VerifyFlags {
  std::vector<std::string> subjects;
  LedgerPlace place;
  TrustFlags trust;
  double delta = 0;     // 0: none
  double epsilon = -1;  // below 0: none
  MethodFlags method;

  void Check() const;
};

void VerifyFlags::Check() const {
  if (const std::string flag = method.GivenFlag(); !flag.empty() && delta == 0 && epsilon < 0) {
    throw flags::ValidationError(
        flag, "is for the epsilon at --delta or the delta at --epsilon: give one of them");
  }
  if (place.IsGiven()) {
    place.Check();
    RefuseIf(subjects.size() > 1, "SUBJECT", "must be one ledger with --server or --store");
  }
  if (subjects.empty() && !place.AtRest()) throw flags::RequiredError("SUBJECT");
}

// What the verification rests on, and what it does not cover.
std::vector<std::string> WarningsOf(const VerifiedLineage& lineage, bool original_verified) {
  std::vector<std::string> warnings;
  const bundle::LedgerRules& rules = lineage.own().rules();
  if (rules.original() != nullptr && !original_verified) {
    warnings.push_back(absl::StrCat(
        "a copy of ", rules.first().import().origin(),
        ": none of the keys is that of the original, whose signature was not verified"));
  }
  if (rules.original() != nullptr && rules.complete() && !rules.source().sealed()) {
    warnings.push_back("the original was not sealed when it was copied, and may have gone on");
  }
  if (!rules.complete()) warnings.push_back("the copy is not finished");
  if (const v1::Fork* fork = lineage.missing_parent(); fork != nullptr) {
    warnings.push_back(absl::StrCat("a fork of ", fork->parent(), ": the first ",
                                    fork->parent_size(),
                                    " entries of that are part of its cost, and not in here"));
  }
  return warnings;
}

v1::LedgerVerified MessageOf(const VerifiedLineage& lineage) {
  const bundle::LedgerRules& rules = lineage.own().rules();
  const bundle::EvidenceCheck& evidence = lineage.own().evidence();
  v1::LedgerVerified message;
  message.set_verified(!evidence.own_keys());
  message.set_origin(evidence.checkpoint().origin);
  message.set_size(rules.size());
  message.set_root_hash(merkle::ToBytes(evidence.checkpoint().root));
  message.set_state(rules.sealed() ? v1::SEALED : v1::OPEN);
  for (const merkle::VerifierKey& key : evidence.signers()) message.add_signed_by(key.ToText());
  for (const auto& cosigner : evidence.cosigners()) {
    v1::LedgerVerified::Cosigner& witness = *message.add_witnessed_by();
    witness.set_key(cosigner.key.ToText());
    witness.set_unix_seconds(cosigner.unix_seconds);
  }
  for (const std::string& unknown : evidence.unknown_signatures())
    message.add_unknown_signatures(unknown);
  message.set_registry_origin(evidence.registry().origin);
  message.set_registry_size(evidence.registry().size);
  message.set_registrations(evidence.points().size());
  message.set_writers(rules.writers());
  message.set_parents(lineage.ledgers.size() - 1);
  return message;
}

// The bundles, if bundles are to be verified.
const std::vector<std::string>* BundlesOf(const VerifyFlags& flags) {
  if (!flags.place.IsGiven()) return &flags.subjects;
  if (!flags.place.AtRest() || std::filesystem::is_directory(flags.place.stores.front()))
    return nullptr;
  return &flags.place.stores;
}

absl::StatusOr<VerifiedLineage> Read(const VerifyFlags& flags,
                                     const bundle::VerifierOptions& options) {
  if (const auto* bundles = BundlesOf(flags)) return VerifyFiles(*bundles, options);
  std::string name;
  if (!flags.subjects.empty()) {
    ASSIGN_OR_RETURN(name, events::FullLedgerName(flags.subjects.front()));
  }
  ServerCalls calls(flags.place);
  ASSIGN_OR_RETURN(name, calls.NameOr(name, "SUBJECT"));
  return VerifyOnServer(name, calls, options);
}

absl::Status Verify(const VerifyFlags& flags, Output& out) {
  ASSIGN_OR_RETURN(const bundle::VerifierOptions options, flags.trust.Options());
  ASSIGN_OR_RETURN(const VerifiedLineage lineage, Read(flags, options));
  v1::LedgerVerified answer = MessageOf(lineage);
  answer.set_older(options.older.size());
  const std::vector<std::string>* const bundles = BundlesOf(flags);
  for (size_t i = 0; bundles != nullptr && i < lineage.ledgers.size(); ++i) {
    ASSIGN_OR_RETURN(const bool events, CheckEvents((*bundles)[i], *lineage.ledgers[i]));
    if (i == 0) answer.set_events_agree(events);
  }
  // Of a fork without its parent there is no epsilon to compare with; the warning says so.
  if (lineage.own().statement().has_value() && lineage.whole()) {
    ASSIGN_OR_RETURN(const double delta, CheckStatement(lineage, *lineage.own().statement()));
    answer.set_statement_delta(delta);
  }
  bool original_verified = false;
  if (lineage.own().rules().original() != nullptr) {
    ASSIGN_OR_RETURN(original_verified, CheckOriginal(lineage, options.trusted));
  }
  RETURN_IF_ERROR(flags.trust.CheckTrust(lineage.own().evidence()));
  for (const std::string& warning : WarningsOf(lineage, original_verified))
    answer.add_warnings(warning);
  if (flags.delta > 0) {
    ASSIGN_OR_RETURN(*answer.mutable_answer(),
                     RecomputeEpsilon(lineage, flags.delta, flags.method.Options()));
  }
  if (flags.epsilon >= 0) {
    ASSIGN_OR_RETURN(*answer.mutable_delta_answer(),
                     RecomputeDelta(lineage, flags.epsilon, flags.method.Options()));
  }
  RETURN_IF_ERROR(flags.trust.Keep(lineage.own().evidence()));
  for (const std::string& warning : answer.warnings()) out.Note("warning: " + warning);
  VerifiedFrom from = {lineage.own().evidence().registered_seconds(), {}};
  for (size_t i = 1; i < lineage.ledgers.size(); ++i) {
    const LedgerCheck& parent = *lineage.ledgers[i];
    from.parents.push_back(absl::StrCat(parent.verifier().evidence().checkpoint().origin, ", ",
                                        parent.counted(), " entries"));
  }
  return out.Answer(ToText(answer, from), answer);
}

}  // namespace

void AddVerifyCommand(flags::App& ledger, Command& chosen) {
  auto [command, flags] = AddCommand(
      ledger, "verify",
      "Checks a ledger against its signed checkpoint, every entry of it: offline from a bundle, or "
      "on a server. Exit code 3, and the first difference, if it is not what was signed.",
      "  dpledger ledger verify mnist.bundle --key-file server.keys --delta 1e-5\n"
      "  dpledger ledger verify mnist.bundle --key-file server.keys --pin mnist.pin\n"
      "  dpledger ledger verify mnist.bundle --older checkpoint-of-may\n"
      "  dpledger ledger verify child.bundle parent.bundle --delta 1e-5 --group-size 4\n"
      "  dpledger ledger verify mnist --server 127.0.0.1:7070\n"
      "  dpledger ledger verify --store run.ledger --self-signed --delta 1e-5",
      Verify, chosen);
  command.add_option(
      "SUBJECT", flags.subjects,
      "a bundle, and after that of a fork its parent's; with --server or --store a ledger's name");
  flags.place.AddTo(command);
  flags.trust.AddTo(command);
  AddReal(command, "--delta", flags.delta, kOpenUnitInterval,
          "also computes epsilon at this delta from the verified entries");
  AddReal(command, "--epsilon", flags.epsilon, kFiniteNotNegative,
          "also computes delta at this epsilon from the verified entries");
  flags.method.AddTo(command);
}

}  // namespace dpledger::cli
