#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hex.h"
#include "base/status.h"
#include "cli/answer_output.h"
#include "cli/answer_parts.h"
#include "cli/bundle_check.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "cli/question_flags.h"
#include "cli/trust_flags.h"
#include "events/names.h"
#include "merkle/compact_tree.h"

namespace dpledger::cli {
namespace {

struct VerifyFlags {
  std::vector<std::string> subjects;
  std::string server;
  TrustFlags trust;
  double delta = 0;  // 0: none
  MethodFlags method;
};

// What the verification rests on, and what it does not cover.
std::vector<std::string> WarningsOf(const VerifiedLineage& lineage, bool original_verified) {
  std::vector<std::string> warnings;
  const bundle::EvidenceCheck& evidence = lineage.own().evidence();
  if (evidence.own_keys()) {
    warnings.push_back(absl::StrCat(
        "no key was given: the signatures are by the key that came with the ledger itself, ",
        evidence.signers().front().ToText(),
        "; compare it with the server's from elsewhere, and give it with --key"));
  }
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

std::string StateOf(const bundle::Verifier& verifier) {
  return verifier.rules().sealed() ? "SEALED" : "OPEN";
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

std::string TextOf(const VerifiedLineage& lineage, size_t older,
                   const std::optional<double>& statement_delta) {
  const bundle::Verifier& own = lineage.own();
  std::string text = Row("verified", own.evidence().checkpoint().origin);
  text += Row("entries", absl::StrCat(own.rules().size(), ", ", StateOf(own)));
  text += Row("root", RootOf(own));
  text += Row("signed by", absl::StrJoin(SignersOf(own), ", "));
  text += Row("registry", absl::StrCat(own.evidence().registry().origin, ", ",
                                       own.evidence().registry().size, " entries"));
  if (older > 0) text += Row("carries on", absl::StrCat(older, " older checkpoint(s)"));
  for (size_t i = 1; i < lineage.ledgers.size(); ++i) {
    const LedgerCheck& parent = *lineage.ledgers[i];
    text += Row("fork of", absl::StrCat(parent.verifier().evidence().checkpoint().origin, ", ",
                                        parent.counted(), " entries"));
  }
  if (statement_delta.has_value()) {
    text += Row("statement", absl::StrCat("agrees, at delta ", *statement_delta));
  }
  return text;
}

JsonObject JsonOf(const VerifiedLineage& lineage, size_t older,
                  const std::optional<double>& statement_delta,
                  const std::vector<std::string>& warnings) {
  const bundle::Verifier& own = lineage.own();
  JsonObject object;
  object.AddFlag("verified", true);
  object.AddText("origin", own.evidence().checkpoint().origin);
  object.AddCount("size", own.rules().size());
  object.AddText("root", RootOf(own));
  object.AddText("state", StateOf(own));
  object.AddTexts("signed_by", SignersOf(own));
  object.AddFlag("key_given", !own.evidence().own_keys());
  object.AddJson("registry", JsonObject()
                                 .AddText("origin", own.evidence().registry().origin)
                                 .AddCount("size", own.evidence().registry().size)
                                 .ToString());
  object.AddCount("writers", own.rules().writers());
  object.AddCount("older", older);
  object.AddCount("parents", lineage.ledgers.size() - 1);
  if (statement_delta.has_value()) object.AddNumber("statement_delta", *statement_delta);
  object.AddTexts("warnings", warnings);
  return object;
}

absl::Status Verify(const VerifyFlags& flags, Output& out) {
  ASSIGN_OR_RETURN(const bundle::VerifierOptions options, flags.trust.Options());
  absl::StatusOr<VerifiedLineage> lineage = VerifiedLineage();
  if (flags.server.empty()) {
    lineage = VerifyFiles(flags.subjects, options);
  } else {
    ASSIGN_OR_RETURN(const std::string name, events::FullLedgerName(flags.subjects.front()));
    ServerCalls server(flags.server);
    lineage = VerifyOnServer(name, server, options);
  }
  RETURN_IF_ERROR(lineage.status());
  std::optional<double> statement_delta;
  // Of a fork without its parent there is no epsilon to compare with; the warning says so.
  if (lineage->own().statement().has_value() && lineage->whole()) {
    ASSIGN_OR_RETURN(statement_delta, CheckStatement(*lineage, *lineage->own().statement()));
  }
  bool original_verified = false;
  if (lineage->own().rules().original() != nullptr) {
    ASSIGN_OR_RETURN(original_verified, CheckOriginal(*lineage, options.trusted));
  }
  const std::vector<std::string> warnings = WarningsOf(*lineage, original_verified);
  const size_t older = options.older.size();
  std::string text = TextOf(*lineage, older, statement_delta);
  JsonObject json = JsonOf(*lineage, older, statement_delta, warnings);
  if (flags.delta > 0) {
    ASSIGN_OR_RETURN(const v1::ComputeEpsilonResponse answer,
                     RecomputeEpsilon(*lineage, flags.delta, flags.method.Options()));
    text += ToText(answer);
    json.AddJson("answer", ToJson(answer).ToString());
  }
  for (const std::string& warning : warnings) out.Note("warning: " + warning);
  out.Answer(text, json);
  return absl::OkStatus();
}

}  // namespace

void AddVerifyCommand(CLI::App& ledger, Command& chosen) {
  CLI::App* command = AddCommand(
      ledger, "verify",
      "Checks a ledger against its signed checkpoint, every entry of it: offline from a bundle, or "
      "on a server. Exit code 3, and the first difference, if it is not what was signed.",
      "  dpledger ledger verify mnist.bundle --key-file server.keys --delta 1e-5\n"
      "  dpledger ledger verify mnist.bundle --older checkpoint-of-may\n"
      "  dpledger ledger verify child.bundle parent.bundle --delta 1e-5 --group-size 4\n"
      "  dpledger ledger verify mnist --server 127.0.0.1:7070");
  auto flags = std::make_shared<VerifyFlags>();
  command
      ->add_option("SUBJECT", flags->subjects,
                   "a bundle, and after that of a fork its parent's; with --server a ledger's name")
      ->required();
  AddServer(*command, flags->server);
  flags->trust.AddTo(*command);
  AddReal(*command, "--delta", flags->delta, kOpenUnitInterval,
          "also computes epsilon at this delta from the verified entries");
  flags->method.AddTo(*command);
  command->callback([flags, command, &chosen] {
    for (const char* flag : {"--method", "--adjacency", "--group-size"}) {
      if (flags->delta > 0 || command->count(flag) == 0) continue;
      throw CLI::ValidationError(flag, "is for the epsilon at --delta, which must be given");
    }
    if (!flags->server.empty() && flags->subjects.size() > 1) {
      throw CLI::ValidationError("SUBJECT", "must be one ledger with --server");
    }
    chosen = [flags](Output& out) { return Verify(*flags, out); };
  });
}

}  // namespace dpledger::cli
