// The module's own functions: epsilon from a ledger's entries, and whether a budget was kept from
// those of several, which the caller has verified. The questions about events alone are those of
// accounting/include/dpledger_accounting.h.
//
// One ledger, and one budget with its runs, a module, in its one thread. Only
// questions/history_reader.h says what an entry costs.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "accounting/call.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "events/declaration_rules.h"
#include "events/proto_json.h"
#include "events/wire_errors.h"
#include "questions/answers.h"
#include "questions/budget_check.h"
#include "questions/history_reader.h"
#include "questions/subject.h"

namespace dpledger::accounting {
namespace {

constexpr absl::Duration kTimeLimit = absl::Seconds(30);  // most answers take less than one

struct Ledger {
  std::shared_ptr<questions::HistoryReader> reader = std::make_shared<questions::HistoryReader>();
  absl::Status no_analysis;  // of the first entry that has none
};
Ledger& TheLedger() {
  static auto& ledger = *new Ledger;
  return ledger;
}

questions::BudgetCheck& TheBudget() {
  static auto& check = *new questions::BudgetCheck;
  return check;
}

// Until `take` has an error, which is the caller's to keep.
absl::Status ForEachEntry(std::string_view tile,
                          absl::FunctionRef<absl::Status(std::string_view)> take) {
  while (!tile.empty()) {
    if (tile.size() < 2) return absl::DataLossError("the tile is cut off");
    const size_t size = static_cast<uint8_t>(tile[0]) << 8 | static_cast<uint8_t>(tile[1]);
    if (tile.size() - 2 < size) return absl::DataLossError("the tile is cut off");
    if (!take(tile.substr(2, size)).ok()) break;
    tile.remove_prefix(2 + size);
  }
  return absl::OkStatus();
}

absl::Status AddTile(std::string_view tile) {
  Ledger& ledger = TheLedger();
  if (!ledger.no_analysis.ok()) return absl::OkStatus();
  return ForEachEntry(
      tile, [&](std::string_view entry) { return ledger.no_analysis = ledger.reader->Add(entry); });
}

absl::StatusOr<questions::Subject> SubjectOf(const std::string& name, const merkle::Hash& root,
                                             uint64_t group_size) {
  const Ledger& ledger = TheLedger();
  RETURN_IF_ERROR(ledger.no_analysis);
  if (ledger.reader->size() == 0) return absl::FailedPreconditionError("there are no entries");
  RETURN_IF_ERROR(ledger.reader->CheckComplete());
  const v1::LedgerEntry& first = ledger.reader->first();
  if (first.has_fork()) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "it is a fork of ", first.fork().parent(), ", whose first ", first.fork().parent_size(),
            " entries are part of its epsilon and are not here")),
        {"PARENT_MISSING", {}});
  }
  questions::LedgerPart part;
  part.name = name;
  part.root = root;
  part.reader = ledger.reader;
  for (const auto& [unused, writer] : ledger.reader->writers()) part.writers.push_back(writer);
  RETURN_IF_ERROR(PrefixField("declaration", events::CheckDeclaration(part.declaration())));
  questions::SubjectOptions options;
  options.group_size = group_size;
  return questions::SubjectOf({{std::move(part)}}, options);
}

absl::StatusOr<std::string> AnswerEpsilon(const std::string& name, const merkle::Hash& root,
                                          std::string_view question) {
  v1::ComputeEpsilonRequest request;
  RETURN_IF_ERROR(events::MessageFromJson(question, "a question about epsilon", request));
  ASSIGN_OR_RETURN(const questions::Subject subject,
                   SubjectOf(name, root, request.options().group_size()));
  accountant::Limits limits;
  limits.deadline = absl::Now() + kTimeLimit;
  ASSIGN_OR_RETURN(const auto response, questions::Answer(subject, request, limits));
  return Serialize(Encoding::kJson, response);
}

absl::StatusOr<std::string> AnswerBudget() {
  ASSIGN_OR_RETURN(const v1::BudgetVerified answer, TheBudget().Verify());
  return Serialize(Encoding::kJson, answer);
}

// Gives it to the caller of a function below, whose code it returns.
int32_t Give(absl::StatusOr<std::string> result, void** answer, size_t* answer_size) {
  const int32_t code = result.status().raw_code();
  if (!result.ok()) result = Serialize(Encoding::kJson, events::WithErrorInfo(result.status()));
  *answer = std::malloc(result->size());
  *answer_size = *answer == nullptr ? 0 : result->size();
  std::memcpy(*answer, result->data(), *answer_size);
  return *answer == nullptr ? static_cast<int32_t>(absl::StatusCode::kResourceExhausted) : code;
}

}  // namespace
}  // namespace dpledger::accounting

extern "C" {

// The ledger's next entries, each behind its length in 16 bits, as tiles have them. Whether they
// are cut off; an entry without analysis is an error of the answer.
int32_t dpledger_ledger_add(const char* tile, size_t size) {
  return dpledger::accounting::AddTile({tile, size}).raw_code();
}

// `question`: a ComputeEpsilonRequest in JSON without a subject. Returns 0 and puts the
// ComputeEpsilonResponse into *answer, or returns a code and puts there the google.rpc.Status, both
// in JSON. *answer is the caller's, as dpledger_accounting_call's is.
int32_t dpledger_ledger_epsilon(const char* name, const uint8_t* root, const char* question,
                                size_t question_size, void** answer, size_t* answer_size) {
  using namespace dpledger;
  merkle::Hash hash;
  std::copy(root, root + hash.size(), hash.begin());
  return accounting::Give(accounting::AnswerEpsilon(name, hash, {question, question_size}), answer,
                          answer_size);
}

// questions/budget_check.h: the next ledger, whose entries follow, in tiles as above; and the
// BudgetVerified in JSON, as dpledger_ledger_epsilon gives its answer.
void dpledger_budget_begin(const char* origin, const char* registry) {
  dpledger::accounting::TheBudget().Begin(origin, registry);
}
int32_t dpledger_budget_add(const char* tile, size_t size) {
  using namespace dpledger::accounting;
  return ForEachEntry({tile, size}, [](std::string_view entry) { return TheBudget().Add(entry); })
      .raw_code();
}
int32_t dpledger_budget_verify(void** answer, size_t* answer_size) {
  return dpledger::accounting::Give(dpledger::accounting::AnswerBudget(), answer, answer_size);
}

}  // extern "C"
