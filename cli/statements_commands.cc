// statements list, check, withdraw: the register of statements that were issued.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/server_calls.h"
#include "cli/shown_text.h"
#include "cli/trust_flags.h"
#include "dpledger/v1/command.pb.h"
#include "events/proto_json.h"
#include "ledger_store/bundle/difference.h"
#include "merkle/checkpoint.h"
#include "merkle/compact_tree.h"
#include "merkle/proof.h"
#include "merkle/sha256.h"
#include "merkle/tlog_proof.h"

namespace dpledger::cli {
namespace {

constexpr char kRegisterOrigin[] = "/projects/statements/ledgers/register";
constexpr size_t kMaxDatasetBytes = 256, kMaxReasonBytes = 1024;

// What a statement is about.
struct AboutFlags {
  std::string ledger;
  std::string dataset;

  void AddTo(flags::App& command, const std::string& help) {
    AddLedgerName(command, "--ledger", ledger, help + " this ledger");
    AddText(command, "--dataset", dataset, kMaxDatasetBytes, help + " this data set");
  }
  template <typename Request>
  void Set(Request& request) const {
    if (!ledger.empty()) request.set_ledger(ledger);
    if (!dataset.empty()) request.set_dataset(dataset);
  }
  void RefuseBoth() const {
    RefuseIf(!ledger.empty() && !dataset.empty(), "--ledger", "must not be given with --dataset");
  }
};

// ---- list ----

struct ListFlags {
  LedgerPlace place;
  AboutFlags about;

  void Check() const { about.RefuseBoth(); }
};

absl::Status List(const ListFlags& flags, Output& out) {
  v1::ListStatementsRequest request;
  flags.about.Set(request);
  return out.Answer(ServerCalls(flags.place).AskAll(request));
}

// ---- check ----

struct CheckFlags {
  std::string file;
  LedgerPlace place;
  KeyFlags keys;

  void Check() const {
    RefuseIf(place.AtRest() && keys.keys.empty() && keys.key_file.empty(), "--key",
             "must be given with --store: who hands over a document can hand over a register");
  }
};

absl::Status Differs(const std::string& where, const std::string& how,
                     const char* kind = bundle::kDocumentClass) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat(where, ": ", how)),
                    {bundle::kDifference, {{"class", kind}, {"where", where}}});
}

// That the register, as it was signed, holds what was found, and that this is about the file.
absl::Status CheckProof(const v1::FindStatementResponse& found, const CheckFlags& flags,
                        v1::StatementChecked& checked) {
  v1::LedgerEntry entry;
  v1::StatementNote note;
  if (!entry.ParseFromString(found.entry()) ||
      !events::MessageFromJson(entry.note().text(), "", note, events::Unknown::kPassedOver).ok() ||
      (note.issued().markdown_sha256() != checked.sha256() &&
       note.issued().html_sha256() != checked.sha256())) {
    return Differs("register", "the entry that the server names does not hold the file's hash");
  }
  *checked.mutable_statement() = note.issued();
  // The register's last word may be another: a server can keep it to itself.
  if (found.statement().has_withdrawal())
    *checked.mutable_statement()->mutable_withdrawal() = found.statement().withdrawal();
  const auto proof = merkle::ParseTlogProof(found.proof());
  if (!proof.ok()) return Differs("proof", std::string(proof.status().message()));
  const auto checkpoint = merkle::ParseCheckpoint(proof->checkpoint.text);
  if (!checkpoint.ok()) return Differs("proof", std::string(checkpoint.status().message()));
  if (!absl::EndsWith(checkpoint->origin, kRegisterOrigin))
    return Differs("proof", absl::StrCat("is of ", checkpoint->origin, ", which is no register"));
  const absl::Status included =
      merkle::VerifyInclusion(merkle::LeafHash(found.entry()), proof->index, checkpoint->size,
                              checkpoint->root, proof->hashes);
  if (!included.ok()) return Differs("proof", std::string(included.message()));
  checked.set_origin(checkpoint->origin);
  checked.set_size(checkpoint->size);
  ASSIGN_OR_RETURN(const std::vector<merkle::VerifierKey> keys, flags.keys.Keys());
  if (keys.empty()) return absl::OkStatus();
  const absl::Status trusted =
      merkle::OpenCheckpoint(proof->checkpoint, checkpoint->origin, keys).status();
  if (!trusted.ok())
    return Differs("signature", std::string(trusted.message()), bundle::kSignatureClass);
  checked.set_verified(true);
  return absl::OkStatus();
}

absl::Status Check(const CheckFlags& flags, Output& out) {
  ASSIGN_OR_RETURN(const std::string document, ReadFile(flags.file));
  v1::StatementChecked checked;
  checked.set_file(flags.file);
  checked.set_sha256(HexEncode(merkle::ToBytes(merkle::Sha256({document}))));
  v1::FindStatementRequest request;
  request.set_sha256(checked.sha256());
  const absl::StatusOr<v1::FindStatementResponse> found = ServerCalls(flags.place).Ask(request);
  if (absl::IsNotFound(found.status())) {
    return Differs(flags.file,
                   "no statement with this file's SHA-256 is in the register: it was changed, was "
                   "not issued, or was issued by another server");
  }
  RETURN_IF_ERROR(found.status());
  RETURN_IF_ERROR(CheckProof(*found, flags, checked));
  RETURN_IF_ERROR(out.Answer(checked));
  const v1::IssuedStatement& statement = checked.statement();
  if (statement.has_withdrawal()) {
    return Differs(flags.file,
                   absl::StrCat("was withdrawn: ", Shown(statement.withdrawal().reason())));
  }
  const v1::Issuer& issuer = statement.issuer();
  if (issuer.has_valid_until() &&
      issuer.valid_until().seconds() <= absl::ToUnixSeconds(absl::Now())) {
    return Differs(flags.file, "is not valid any more");
  }
  return absl::OkStatus();
}

// ---- withdraw ----

struct WithdrawFlags {
  uint64_t number = 0;
  connection::ServerAccess server;
  AboutFlags about;
  std::string reason;

  void Check() const {
    about.RefuseBoth();
    if (about.ledger.empty() && about.dataset.empty())
      throw flags::RequiredError("what it is about: --ledger or --dataset");
  }
};

absl::Status Withdraw(const WithdrawFlags& flags, Output& out) {
  v1::WithdrawStatementRequest request;
  request.set_number(flags.number);
  flags.about.Set(request);
  request.set_reason(flags.reason);
  return out.Answer(ServerCalls(flags.server).Ask(request));
}

void AddList(flags::App& statements, Command& chosen) {
  auto [command, flags] =
      AddCommand(statements, "list", "Lists the statements that were issued, the newest first.",
                 "  dpledger statements list --server 127.0.0.1:7070\n"
                 "  dpledger statements list --server 127.0.0.1:7070 --dataset adult --json",
                 List, chosen);
  AddRequiredPlace(command, flags.place);
  flags.about.AddTo(command, "only those about");
}

void AddCheck(flags::App& statements, Command& chosen) {
  auto [command, flags] = AddCommand(
      statements, "check",
      "Says who issued a document that you were handed, and whether it still stands. The file must "
      "be as it was issued, to the byte. Ends with 3 if it does not stand. Whether it was "
      "withdrawn "
      "is the server's word, or that of the bundle's day.",
      "  dpledger statements check adult.html --server 127.0.0.1:7070\n"
      "  dpledger statements check adult.html --store register.bundle --key "
      "'ledger.example.org+…'",
      Check, chosen);
  command.add_option("FILE", flags.file, "the Markdown or the HTML page")->required();
  AddRequiredPlace(command, flags.place);
  flags.keys.AddTo(command);
}

void AddWithdraw(flags::App& statements, Command& chosen) {
  auto [command, flags] = AddCommand(
      statements, "withdraw",
      "Says in the register that nobody is to rely on a statement any more. Its entry stays.",
      "  dpledger statements withdraw 17 --dataset adult --reason 'a run was missing' --server "
      "127.0.0.1:7070",
      Withdraw, chosen);
  AddCount(command, "NUMBER", flags.number, 1, "the statement's number in the register")
      ->required();
  AddRequiredServer(command, flags.server);
  flags.about.AddTo(command, "it is about");
  AddText(command, "--reason", flags.reason, kMaxReasonBytes,
          "your own words, kept in the register")
      ->required();
}

}  // namespace

void AddStatementsCommands(flags::App& app, Command& chosen) {
  flags::App& statements =
      AddGroup(app, "statements", "The register of statements that somebody answers for.",
               "  dpledger statements check adult.html --server 127.0.0.1:7070\n"
               "  dpledger statements list --server 127.0.0.1:7070");
  AddList(statements, chosen);
  AddCheck(statements, chosen);
  AddWithdraw(statements, chosen);
}

}  // namespace dpledger::cli
