#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/hex.h"
#include "base/status.h"
#include "cli/answer_output.h"
#include "cli/answer_parts.h"
#include "cli/bundle_check.h"
#include "cli/commands.h"
#include "cli/difference_advice.h"
#include "cli/flags.h"
#include "cli/help.h"
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
};

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

v1::LedgerState StateOf(const bundle::Verifier& verifier) {
  return verifier.rules().sealed() ? v1::SEALED : v1::OPEN;
}

std::vector<std::string> SignersOf(const bundle::Verifier& verifier) {
  std::vector<std::string> signers;
  for (const merkle::VerifierKey& key : verifier.evidence().signers()) {
    signers.push_back(key.ToText());
  }
  return signers;
}

std::string RootOf(const bundle::Verifier& verifier) {
  return HexEncode(merkle::ToBytes(verifier.evidence().checkpoint().root));
}

std::string Time(int64_t unix_seconds) {
  return absl::FormatTime("%Y-%m-%d %H:%MZ", absl::FromUnixSeconds(unix_seconds),
                          absl::UTCTimeZone());
}

// What else was found out than that the ledger is what was signed.
struct Findings {
  size_t older = 0;                       // checkpoints that it carries on
  bool events = false;                    // events.jsonl says what the entries say
  std::optional<double> statement_delta;  // statement.json agrees
  std::vector<std::string> warnings;
};

std::string TextOf(const VerifiedLineage& lineage, const Findings& findings) {
  const bundle::Verifier& own = lineage.own();
  const bundle::EvidenceCheck& evidence = own.evidence();
  std::string text;
  if (evidence.own_keys()) {
    text = Row("SELF-SIGNED", "no key of yours signed this: whoever made it may have made it up");
  }
  text +=
      Row(evidence.own_keys() ? "agrees with itself" : "verified", evidence.checkpoint().origin);
  text +=
      Row("entries", absl::StrCat(own.rules().size(), ", ", v1::LedgerState_Name(StateOf(own))));
  text += Row("root", RootOf(own));
  for (const std::string& signer : SignersOf(own)) text += Row("signed by log", signer);
  text += Row("registered", absl::StrCat("by ", Time(evidence.registered_seconds()),
                                         ", as the server's clock says"));
  for (const auto& cosigner : evidence.cosigners()) {
    text +=
        Row("signed by witness", absl::StrCat(cosigner.key.ToText(), " at ",
                                              Time(static_cast<int64_t>(cosigner.unix_seconds))));
  }
  if (!evidence.unknown_signatures().empty()) {
    text += Row("not looked at",
                absl::StrCat("signatures by ", absl::StrJoin(evidence.unknown_signatures(), ", "),
                             ", whose keys were not given"));
  }
  text += Row("registry",
              absl::StrCat(evidence.registry().origin, ", ", evidence.registry().size, " entries"));
  text += Row("head", absl::StrCat("the registry's latest, after ", evidence.points().size(),
                                   " registration(s), each the beginning of the next"));
  if (findings.older > 0)
    text += Row("carries on", absl::StrCat(findings.older, " older checkpoint(s)"));
  for (size_t i = 1; i < lineage.ledgers.size(); ++i) {
    const LedgerCheck& parent = *lineage.ledgers[i];
    text += Row("fork of", absl::StrCat(parent.verifier().evidence().checkpoint().origin, ", ",
                                        parent.counted(), " entries"));
  }
  if (findings.events) text += Row("events.jsonl", "says what the entries say");
  if (findings.statement_delta.has_value()) {
    text += Row("statement", absl::StrCat("agrees, at delta ", *findings.statement_delta));
  }
  return text;
}

v1::LedgerVerified MessageOf(const VerifiedLineage& lineage, const Findings& findings) {
  const bundle::Verifier& own = lineage.own();
  const bundle::EvidenceCheck& evidence = own.evidence();
  v1::LedgerVerified message;
  message.set_verified(!evidence.own_keys());
  message.set_origin(evidence.checkpoint().origin);
  message.set_size(own.rules().size());
  message.set_root_hash(merkle::ToBytes(evidence.checkpoint().root));
  message.set_state(StateOf(own));
  for (const std::string& signer : SignersOf(own)) message.add_signed_by(signer);
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
  message.set_writers(own.rules().writers());
  message.set_older(findings.older);
  message.set_parents(lineage.ledgers.size() - 1);
  message.set_events_agree(findings.events);
  if (findings.statement_delta.has_value()) message.set_statement_delta(*findings.statement_delta);
  for (const std::string& warning : findings.warnings) message.add_warnings(warning);
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
  Findings findings;
  findings.older = options.older.size();
  const std::vector<std::string>* const bundles = BundlesOf(flags);
  for (size_t i = 0; bundles != nullptr && i < lineage.ledgers.size(); ++i) {
    ASSIGN_OR_RETURN(const bool events, CheckEvents((*bundles)[i], *lineage.ledgers[i]));
    if (i == 0) findings.events = events;
  }
  // Of a fork without its parent there is no epsilon to compare with; the warning says so.
  if (lineage.own().statement().has_value() && lineage.whole()) {
    ASSIGN_OR_RETURN(findings.statement_delta, CheckStatement(lineage, *lineage.own().statement()));
  }
  bool original_verified = false;
  if (lineage.own().rules().original() != nullptr) {
    ASSIGN_OR_RETURN(original_verified, CheckOriginal(lineage, options.trusted));
  }
  RETURN_IF_ERROR(flags.trust.CheckTrust(lineage.own().evidence()));
  findings.warnings = WarningsOf(lineage, original_verified);
  std::string text = TextOf(lineage, findings);
  v1::LedgerVerified answer = MessageOf(lineage, findings);
  if (flags.delta > 0) {
    ASSIGN_OR_RETURN(*answer.mutable_answer(),
                     RecomputeEpsilon(lineage, flags.delta, flags.method.Options()));
    text += ToText(answer.answer());
  }
  if (flags.epsilon >= 0) {
    ASSIGN_OR_RETURN(*answer.mutable_delta_answer(),
                     RecomputeDelta(lineage, flags.epsilon, flags.method.Options()));
    text += ToText(answer.delta_answer());
  }
  RETURN_IF_ERROR(flags.trust.Keep(lineage.own().evidence()));
  for (const std::string& warning : findings.warnings) out.Note("warning: " + warning);
  out.Answer(text, answer);
  return absl::OkStatus();
}

}  // namespace

void AddVerifyCommand(flags::App& ledger, Command& chosen) {
  flags::App* command = AddCommand(
      ledger, "verify",
      "Checks a ledger against its signed checkpoint, every entry of it: offline from a bundle, or "
      "on a server. Exit code 3, and the first difference, if it is not what was signed.",
      "  dpledger ledger verify mnist.bundle --key-file server.keys --delta 1e-5\n"
      "  dpledger ledger verify mnist.bundle --key-file server.keys --pin mnist.pin\n"
      "  dpledger ledger verify mnist.bundle --older checkpoint-of-may\n"
      "  dpledger ledger verify child.bundle parent.bundle --delta 1e-5 --group-size 4\n"
      "  dpledger ledger verify mnist --server 127.0.0.1:7070\n"
      "  dpledger ledger verify --store run.ledger --self-signed --delta 1e-5");
  auto flags = std::make_shared<VerifyFlags>();
  command->add_option(
      "SUBJECT", flags->subjects,
      "a bundle, and after that of a fork its parent's; with --server or --store a ledger's name");
  flags->place.AddTo(*command);
  flags->trust.AddTo(*command);
  AddReal(*command, "--delta", flags->delta, kOpenUnitInterval,
          "also computes epsilon at this delta from the verified entries");
  AddReal(*command, "--epsilon", flags->epsilon, kFiniteNotNegative,
          "also computes delta at this epsilon from the verified entries");
  flags->method.AddTo(*command);
  command->callback([flags, command, &chosen] {
    for (const char* flag : {"--method", "--adjacency", "--group-size"}) {
      if (flags->delta > 0 || flags->epsilon >= 0 || command->count(flag) == 0) continue;
      throw flags::ValidationError(
          flag, "is for the epsilon at --delta or the delta at --epsilon: give one of them");
    }
    if (flags->place.IsGiven()) {
      flags->place.Check();
      if (flags->subjects.size() > 1) {
        throw flags::ValidationError("SUBJECT", "must be one ledger with --server or --store");
      }
    }
    if (flags->subjects.empty() && !flags->place.AtRest()) throw flags::RequiredError("SUBJECT");
    chosen = [flags](Output& out) { return WithAdvice(Verify(*flags, out)); };
  });
}

}  // namespace dpledger::cli
