#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/question_flags.h"
#include "cli/server_calls.h"
#include "dpledger/v1/command.pb.h"
#include "events/proto_json.h"
#include "ledger_store/bundle/file.h"

namespace dpledger::cli {
namespace {

constexpr size_t kMaxDatasetBytes = 256, kMaxIssuerBytes = 256;

enum class Form { kMarkdown, kHtml, kJson };

struct StatementFlags {
  std::string ledger;
  std::string dataset;
  LedgerPlace place;
  Form form = Form::kMarkdown;
  double delta = 0;
  uint64_t up_to_sequence = 0;
  MethodFlags method;
  std::string output;
  bool issue = false;
  v1::Issuer issuer;

  void Check() const;
};

void StatementFlags::Check() const {
  const bool of_ledger = !ledger.empty(), of_dataset = !dataset.empty();
  RefuseIf((of_ledger && of_dataset) || (!of_ledger && !of_dataset && !place.AtRest()), "--ledger",
           "give --ledger NAME or --dataset NAME");
  RefuseIf(up_to_sequence > 0 && of_dataset, "--up-to", "is for --ledger only");
  RefuseIf(issue && place.AtRest(), "--issue", "needs a server, which keeps the register");
  RefuseIf(issue && (output.empty() || output == "-"), "--output",
           "must name a file with --issue: the register does not keep the document");
  RefuseIf(issue && std::filesystem::exists(output), "--output",
           "must name a new file with --issue: there is one already");
  for (const auto& [flag, given] : {std::pair{"--organization", !issuer.organization().empty()},
                                    {"--issuer", !issuer.name().empty()},
                                    {"--role", !issuer.role().empty()}}) {
    RefuseIf(issue && !given, flag, "must be given with --issue");
    RefuseIf(!issue && given, flag, "is for --issue");
  }
  RefuseIf(!issue && issuer.has_valid_until(), "--valid-until", "is for --issue");
}

// The statement without its two forms in words; of one that was issued they are kept, for nobody
// else has them.
v1::Statement FieldsOf(v1::Statement statement) {
  if (statement.has_issued()) return statement;
  statement.clear_html();
  statement.clear_markdown();
  return statement;
}

std::string TextOf(const v1::Statement& statement, Form form) {
  switch (form) {
    case Form::kHtml:
      return statement.html();
    case Form::kMarkdown:
      return statement.markdown();
    case Form::kJson:
      break;
  }
  return events::MessageToJson(FieldsOf(statement)) + "\n";
}

// What it is about where no flag says so: the only ledger at rest, or the data set of all of them.
absl::Status SetSubject(const ServerCalls& calls, v1::GetStatementRequest& request) {
  ASSIGN_OR_RETURN(const local::Reading open, calls.place());
  if (open.ledgers.size() > 1 && !open.dataset.empty()) {
    request.set_dataset(open.dataset);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(*request.mutable_ledger(), calls.NameOr("", "--ledger"));
  return absl::OkStatus();
}

absl::Status Print(const StatementFlags& flags, Output& out) {
  v1::GetStatementRequest request;
  ServerCalls calls(flags.place);
  if (!flags.ledger.empty()) {
    request.set_ledger(flags.ledger);
  } else if (!flags.dataset.empty()) {
    request.set_dataset(flags.dataset);
  } else {
    RETURN_IF_ERROR(SetSubject(calls, request));
  }
  request.set_delta(flags.delta);
  request.set_up_to_sequence(flags.up_to_sequence);
  *request.mutable_options() = flags.method.Options();
  v1::IssueStatementRequest issue;
  if (flags.issue) {
    *issue.mutable_statement() = request;
    *issue.mutable_issuer() = flags.issuer;
  }
  // Before the statement is issued: the register would have one that nobody has.
  std::optional<bundle::NewFile> file;
  if (!flags.output.empty() && flags.output != "-") {
    ASSIGN_OR_RETURN(bundle::NewFile made, bundle::NewFile::Make(flags.output));
    file.emplace(std::move(made));
  }
  ASSIGN_OR_RETURN(v1::Statement statement, flags.issue ? calls.Ask(issue) : calls.Ask(request));
  calls.Assume(*statement.mutable_answer()->mutable_details());
  if (file.has_value()) {
    const std::string text = TextOf(statement, flags.form);
    absl::Status kept = file->Write(text);
    if (kept.ok()) kept = file->Commit();
    if (flags.issue) {
      out.Note(absl::StrCat("statement ", statement.issued().number(), " of the register",
                            kept.ok() ? "" : "; its document is lost: withdraw it"));
    }
    RETURN_IF_ERROR(kept);
    v1::FileWritten written;
    written.set_file(flags.output);
    written.set_bytes(text.size());
    return out.Answer(written);
  }
  if (out.json()) return out.Answer("", FieldsOf(std::move(statement)));
  const std::string text = TextOf(statement, flags.form);
  for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    out.Line(std::string(line));
  }
  return absl::OkStatus();
}

}  // namespace

void AddStatementCommand(flags::App& app, Command& chosen) {
  auto [command, flags] = AddCommand(
      app, "statement",
      "The full guarantee of a ledger or of a data set, for people to print and sign.",
      "  dpledger statement --ledger mnist --server 127.0.0.1:7070\n"
      "  dpledger statement --store run.ledger\n"
      "  dpledger statement --dataset adult --format html --output adult.html --server "
      "127.0.0.1:7070\n"
      "  dpledger statement --ledger mnist --server 127.0.0.1:7070 --issue --organization "
      "'Our hospital' --issuer 'Research data office' --role controller --valid-until "
      "2027-12-31 --format html --output mnist.html",
      Print, chosen);
  AddLedgerName(command, "--ledger", flags.ledger, "about this ledger");
  AddText(command, "--dataset", flags.dataset, kMaxDatasetBytes,
          "about all ledgers over this data set");
  AddRequiredPlace(command, flags.place);
  AddChoice<Form>(command, "--format", flags.form,
                  {{"md", Form::kMarkdown}, {"html", Form::kHtml}, {"json", Form::kJson}},
                  "md (the default), html (one page that prints on A4) or json (the message)");
  AddReal(command, "--delta", flags.delta, kOpenUnitInterval,
          "in (0, 1); default: the server's usual one");
  AddCount(command, "--up-to", flags.up_to_sequence, 1,
           "a ledger only: the first so many of its entries; default: all");
  flags.method.AddTo(command);
  AddPlain(command, "--output", flags.output, "FILE", "write it to this file");
  command.add_flag("--issue", flags.issue,
                   "enters it into the server's register, as stated by whom these name:");
  AddText(command, "--organization", *flags.issuer.mutable_organization(), kMaxIssuerBytes,
          "who answers for it");
  AddText(command, "--issuer", *flags.issuer.mutable_name(), kMaxIssuerBytes,
          "the person or office that states it");
  AddText(command, "--role", *flags.issuer.mutable_role(), kMaxIssuerBytes, "in which role");
  AddTaken(command, "--valid-until", "DATE", "the day, in UTC, on whose beginning it ends",
           [&issuer = flags.issuer](const std::string& text) -> std::string {
             absl::Time day;
             if (text.size() != 10 || !absl::ParseTime("%Y-%m-%d", text, &day, nullptr))
               return Wrong("must be YYYY-MM-DD", text);
             issuer.mutable_valid_until()->set_seconds(absl::ToUnixSeconds(day));
             return "";
           });
}

}  // namespace dpledger::cli
