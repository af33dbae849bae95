#include "cli/ledger_flags.h"

#include "absl/strings/str_cat.h"
#include "cli/append.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/server_calls.h"
#include "connection/connection.h"

namespace dpledger::cli {
namespace {

// The trainer declares it: a default would sign a promise that nobody gave.
constexpr char kAdjacencyChoices[] =
    "what makes two data sets neighbours\n"
    "  add-or-remove-one   one record is added or removed: usual for Poisson sampling\n"
    "  replace-one         one record is replaced by another: for batches of a fixed size\n"
    "  zero-out            one record is replaced by one that contributes nothing";

}  // namespace

void LedgerFlags::AddTo(flags::App& app) {
  AddLedgerName(app, "NAME", name, "x, or in full projects/{project}/ledgers/x")->required();
  place.AddTo(app);
}

void CreateFlags::AddTo(flags::App& app) {
  place.makes = true;
  LedgerFlags::AddTo(app);
  AddName(app, "--dataset", *declaration.mutable_dataset(), 256,
          "which data set; the same name, letter for letter, in every ledger over it")
      ->required();
  app.add_flag("--new-dataset", new_dataset,
               "the data set is a new one, however much its name is like another's");
  AddName(app, "--unit", *declaration.mutable_unit_of_privacy(), 256,
          "what one record is: example, user, hospital")
      ->required();
  AddAdjacency(app, adjacency, kAdjacencyChoices);
  AddFilter(app, filter);
  AddText(app, "--description", *declaration.mutable_description(), 4096, "your own words");
  AddRequestId(app, request_id);
}

void CreateFlags::Check() const {
  RefuseIf(adjacency == v1::ADJACENCY_UNSPECIFIED, "--adjacency",
           absl::StrCat("must be given: ", kAdjacencyChoices));
}

absl::StatusOr<v1::Ledger> CreateFlags::Create(const v1::Declaration& rest) const {
  v1::CreateLedgerRequest request;
  request.set_name(name);
  request.set_request_id(RequestId(request_id));
  request.set_new_dataset(new_dataset);
  *request.mutable_declaration() = declaration;
  request.mutable_declaration()->MergeFrom(rest);
  request.mutable_declaration()->set_adjacency(adjacency);
  if (filter.kind_case() != v1::Filter::KIND_NOT_SET)
    *request.mutable_declaration()->mutable_filter() = filter;
  return ServerCalls(place).Ask(request);
}

void ReadFlags::AddTo(flags::App& app) {
  AddLedgerName(app, "NAME", name,
                "x, or in full projects/{project}/ledgers/x; not needed where --store has but one");
  place.AddTo(app);
  app.parse_complete_callback([this] {
    place.Check();
    if (name.empty() && !place.AtRest()) throw flags::RequiredError("NAME");
  });
}

void AddRequestId(flags::App& app, std::string& request_id) {
  // Batches after the first add a dot and a number to it, within the 64 bytes that an id may have.
  AddToken(app, "--request-id", request_id, 48,
           "repeat the same command with the same id and it is done once; default: a random id");
}

void AddWriter(flags::App& app, std::string& writer) {
  AddToken(app, "--writer", writer, 64, "who writes; rounds are numbered by writer. default: cli");
}

std::string RequestId(const std::string& given) {
  const std::string id = given.empty() ? connection::NewRequestId() : given;
  SetInterruptNote(absl::StrCat(
      "interrupted; what the server has taken stays. Repeat the command with --request-id ", id,
      " to have it done, and nothing done twice"));
  return id;
}

}  // namespace dpledger::cli
