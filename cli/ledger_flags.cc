#include "cli/ledger_flags.h"

#include "absl/strings/str_cat.h"
#include "cli/append.h"
#include "cli/flags.h"
#include "cli/interrupt.h"

namespace dpledger::cli {

void LedgerFlags::AddTo(flags::App& app) {
  AddLedgerName(app, "NAME", name, "x, or in full projects/{project}/ledgers/x")->required();
  place.AddTo(app);
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
  const std::string id = given.empty() ? RandomRequestId() : given;
  SetInterruptNote(absl::StrCat(
      "interrupted; what the server has taken stays. Repeat the command with --request-id ", id,
      " to have it done, and nothing done twice"));
  return id;
}

}  // namespace dpledger::cli
