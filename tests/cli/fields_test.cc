// No field of an answer gets lost on its way to the reader: changing any one of them changes the
// text, or a reason stands here why not. (The JSON is the message itself.) Fields are found by
// reflection, so one that is added to a message is demanded too. `tuning` once left out
// planned_epsilon: it printed 1.158 where 11.07 was the search's cost.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/answer_output.h"

namespace dpledger {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Fields that are not shown, and why. A path ends at the field; what is below it is not shown
// either.
using Reasons = std::map<std::string, std::string>;
using Paths = std::set<std::string>;

bool IsBelow(const std::string& path, const std::string& field) {
  return path == field || absl::StartsWith(path, field + ".");
}

// Sets every field but those of other members of a oneof than the first that `choice` allows:
// numbers exact in the digits that texts have, no two alike.
class Filler {
 public:
  explicit Filler(std::set<std::string> left_out) : left_out_(std::move(left_out)) {}

  void Fill(Message& message, const std::string& prefix = "") {
    const Reflection& reflection = *message.GetReflection();
    std::set<const google::protobuf::OneofDescriptor*> chosen;
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor* field = message.GetDescriptor()->field(i);
      const std::string path = absl::StrCat(prefix, field->name());
      if (left_out_.contains(path)) continue;
      if (field->containing_oneof() != nullptr && !chosen.insert(field->containing_oneof()).second)
        continue;
      for (int repeat = 0; repeat < (field->is_repeated() ? 2 : 1); ++repeat) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          Fill(field->is_repeated() ? *reflection.AddMessage(&message, field)
                                    : *reflection.MutableMessage(&message, field),
               path + ".");
        } else {
          Set(message, *field, ++count_);
        }
      }
    }
  }

  // Gives the field, or its first value if it is a list, the value that belongs to `number`.
  static void Set(Message& message, const FieldDescriptor& field, uint64_t number) {
    const Reflection& reflection = *message.GetReflection();
    const bool list = field.is_repeated();
    const bool anew = list && reflection.FieldSize(message, &field) == 0;
    const double real = 0.25 + static_cast<double>(number);
    const std::string text =
        absl::StrCat(field.type() == FieldDescriptor::TYPE_BYTES ? std::string(30, 'r') : "text ",
                     number % 1000);
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_DOUBLE:
        if (anew) return reflection.AddDouble(&message, &field, real);
        return list ? reflection.SetRepeatedDouble(&message, &field, 0, real)
                    : reflection.SetDouble(&message, &field, real);
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection.SetUInt64(&message, &field, number);
      case FieldDescriptor::CPPTYPE_UINT32:
        return reflection.SetUInt32(&message, &field, static_cast<uint32_t>(number));
      case FieldDescriptor::CPPTYPE_INT64:  // of a time: another day
        return reflection.SetInt64(&message, &field, static_cast<int64_t>(number) * 100'000);
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection.SetInt32(&message, &field, static_cast<int32_t>(number));
      case FieldDescriptor::CPPTYPE_BOOL:
        return reflection.SetBool(&message, &field, true);
      case FieldDescriptor::CPPTYPE_STRING:
        if (anew) return reflection.AddString(&message, &field, text);
        return list ? reflection.SetRepeatedString(&message, &field, 0, text)
                    : reflection.SetString(&message, &field, text);
      case FieldDescriptor::CPPTYPE_ENUM:
        if (list) return reflection.AddEnumValue(&message, &field, 1);
        return reflection.SetEnumValue(&message, &field, 1);
      default:
        FAIL() << field.full_name() << ": a type that this test does not know";
    }
  }

 private:
  const std::set<std::string> left_out_;
  uint64_t count_ = 100;
};

// Changes one field of a full message in every way that readers must see, by `visit`.
using Visit = std::function<void(const std::string& path)>;
void ChangeEach(Message& root, Message& message, const std::string& prefix, const Visit& visit) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = absl::StrCat(prefix, field->name());
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Message& below = field->is_repeated() ? *reflection.MutableRepeatedMessage(&message, field, 0)
                                            : *reflection.MutableMessage(&message, field);
      ChangeEach(root, below, path + ".", visit);
      continue;
    }
    const std::unique_ptr<Message> before(message.New());
    before->CopyFrom(message);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
      reflection.SetBool(&message, field, false);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
      if (field->is_repeated()) {
        reflection.SetRepeatedEnumValue(&message, field, 0, 2);
      } else {
        reflection.SetEnumValue(&message, field, 2);
      }
    } else {
      Filler::Set(message, *field, 9000);
    }
    visit(path);
    message.CopyFrom(*before);
  }
}

// The fields of an answer, and whether `print` shows a change of them with some of the given parts
// left out.
template <typename Answer>
std::map<std::string, bool> Seen(const std::function<std::string(const Answer&)>& print,
                                 const std::vector<Paths>& left_out) {
  std::map<std::string, bool> seen;
  for (const Paths& without : left_out) {
    Answer answer;
    Filler(without).Fill(answer);
    const std::string before = print(answer);
    ChangeEach(answer, answer, "",
               [&](const std::string& path) { seen[path] |= print(answer) != before; });
  }
  return seen;
}

Paths Only(const std::map<std::string, bool>& seen, bool shown) {
  Paths only;
  for (const auto& [path, is_shown] : seen) {
    if (is_shown == shown) only.insert(path);
  }
  return only;
}

template <typename Answer>
std::string TextOf(const Answer& answer) {
  return cli::ToText(answer);
}

// Every field is shown but those with a reason; and no reason is left of a field that is shown.
template <typename Answer>
void ExpectShown(const Reasons& reasons, const std::vector<Paths>& left_out = {{}},
                 const std::function<std::string(const Answer&)>& print = TextOf<Answer>) {
  const Paths lost = Only(Seen<Answer>(print, left_out), false);
  for (const std::string& path : lost) {
    EXPECT_TRUE(std::any_of(reasons.begin(), reasons.end(),
                            [&](const auto& reason) { return IsBelow(path, reason.first); }))
        << path << " is not shown";
  }
  for (const auto& [field, reason] : reasons) {
    EXPECT_TRUE(std::any_of(lost.begin(), lost.end(),
                            [&](const std::string& path) { return IsBelow(path, field); }))
        << field << " is shown, or is no field";
  }
}

// A line of a list has these fields of its element; its JSON has the rest.
template <typename Answer>
void ExpectLine(const Paths& shown, const std::vector<Paths>& left_out = {{}}) {
  EXPECT_EQ(Only(Seen<Answer>(TextOf<Answer>, left_out), true), shown);
}

Reasons operator+(Reasons some, const Reasons& others) {
  some.insert(others.begin(), others.end());
  return some;
}
Reasons Below(const std::string& field, const Reasons& reasons) {
  Reasons below;
  for (const auto& [path, reason] : reasons) below.emplace(absl::StrCat(field, ".", path), reason);
  return below;
}

const Reasons kOfOrigins = {
    {"fork.declaration", "answers carry forks without it (LedgerReference.fork)"},
    {"import.declaration", "answers carry imports without it"},
    {"import.checkpoint", "answers carry imports without it"},
};
const Reasons kOfDetails = Below("details.ledgers", kOfOrigins);
const char kSeconds[] = "times are told to the second";

TEST(AnswerFields, OfEpsilonAreAllShown) { ExpectShown<v1::ComputeEpsilonResponse>(kOfDetails); }

TEST(AnswerFields, OfDeltaAreAllShown) { ExpectShown<v1::ComputeDeltaResponse>(kOfDetails); }

TEST(AnswerFields, OfTuningAreAllShown) {
  const Paths others = {"trials.negative_binomial", "trials.poisson", "trials.fixed",
                        "trials.least_cost"};
  ExpectShown<v1::ComputeTuningCostResponse>(
      kOfDetails, {{},
                   {"trials.negative_binomial"},
                   {"trials.negative_binomial", "trials.poisson"},
                   // An answer says which distribution was found: it is never least_cost.
                   others});
}

TEST(AnswerFields, OfCalibrationAreAllShown) {
  ExpectShown<v1::CalibrateResponse>(kOfDetails,
                                     {{},
                                      {"noise_multiplier", "by_method.error"},
                                      {"noise_multiplier", "steps"},
                                      {"noise_multiplier", "steps", "sampling_probability"}});
}

// Of the two numbers of a point, the one that was asked about has equal bounds.
TEST(AnswerFields, OfProfilesAreAllShown) {
  const auto print = [](cli::Asked asked) {
    return [asked](const v1::ComputeProfileResponse& answer) { return cli::ToText(answer, asked); };
  };
  ExpectShown<v1::ComputeProfileResponse>(
      kOfDetails + Reasons{{"points.epsilon.lower", "its bounds are equal"}}, {{}},
      print(cli::Asked::kEpsilons));
  ExpectShown<v1::ComputeProfileResponse>(
      kOfDetails + Reasons{{"points.delta.lower", "its bounds are equal"}}, {{}},
      print(cli::Asked::kDeltas));
}

TEST(AnswerFields, OfAuditsAreAllShown) { ExpectShown<v1::AuditClaimResponse>(kOfDetails); }

TEST(AnswerFields, OfLedgersAreAllShown) {
  const char kResumes[] = "what a recorder resumes from, which tells a reader nothing";
  ExpectShown<v1::Ledger>(
      kOfOrigins + Reasons{{"create_time.nanos", kSeconds},
                           {"writers.incarnation", kResumes},
                           {"writers.opened_sequence", kResumes},
                           {"writers.epochs_since", kResumes},
                           {"writers.epoch", kResumes},
                           {"writers.fixed_bins", kResumes},
                           {"writers.late_since", "that there are late entries is shown"},
                           {"writers.missing_spools", "how many there are is shown"}},
      {{}, {"import"}});
  ExpectShown<v1::Appended>({{"receipt.signature", "bytes for a program, which checked them"}});
  ExpectShown<v1::LedgerExported>({});
  ExpectShown<v1::SpoolsImported>({});
  ExpectShown<v1::RegistryFollowed>({});
  ExpectShown<v1::ContradictionProved>({});
  ExpectShown<v1::FileWritten>({{"bytes", "the file system tells"}});
}

TEST(AnswerFields, OfVerifiedLedgersAreAllShown) {
  ExpectShown<v1::LedgerVerified>({{"parents", "each is named"}, {"warnings", "notes on stderr"}},
                                  {{"answer", "delta_answer"}},
                                  [](const v1::LedgerVerified& message) {
                                    return cli::ToText(message, {7, {}});
                                  });
  v1::LedgerVerified message;
  *message.mutable_answer()->mutable_details()->mutable_method() = "pld";
  EXPECT_NE(cli::ToText(message, {}).find("method             pld"), std::string::npos);
  *message.mutable_delta_answer()->mutable_details()->mutable_method() = "rdp";
  EXPECT_NE(cli::ToText(message, {}).find("method             rdp"), std::string::npos);
  EXPECT_NE(cli::ToText(message, {7, {}}), cli::ToText(message, {70, {}}));
  EXPECT_NE(cli::ToText(message, {7, {"p"}}), cli::ToText(message, {7, {}}));
}

TEST(AnswerFields, OfBudgetsAreAllShown) {
  const char kOfRuns[] = "a budget has no runs of its own";
  const char kNamed[] = "the line above or the question names it";
  const Reasons of_runs = {{"budget", kNamed},
                           {"ledger", kNamed},
                           {"delta", kOfRuns},
                           {"crossed", kOfRuns},
                           {"odometer", kOfRuns}};
  ExpectShown<v1::ComputeBudgetResponse>(
      Below("spending", of_runs) +
          Reasons{{"budget.corrections", kOfRuns},
                  {"budget.fork", kOfRuns},
                  {"budget.import", kOfRuns},
                  {"budget.missing", kOfRuns},
                  {"budget.missing_count", kOfRuns},
                  {"budget.planned_rounds", kOfRuns},
                  {"budget.rounds", kOfRuns},
                  {"budget.root_hash", "`ledger show` shows it"},
                  {"spending.granted", kOfRuns},
                  {"grants.budget", kNamed},
                  {"present_grant.budget", kNamed},
                  {"with_more_noise.sampling", "no plan has such events"},
                  {"runs", "found by their ledgers' names: Budgets in tests/cli/ledger_test.cc"},
                  {"pace.since", "told to the day"},
                  {"pace.runs_out.nanos", kSeconds},
                  {"refused.time.nanos", kSeconds}},
      {{"grants.plan", "present_grant.plan"}}, [](const v1::ComputeBudgetResponse& answer) {
        v1::ComputeBudgetResponse open = answer;
        open.mutable_spending()->set_bound(1e6 + answer.spending().bound());
        open.set_fits(false);
        return cli::ToText(answer) + cli::ToText(open) + cli::FitText(answer) + cli::FitText(open);
      });
  ExpectShown<v1::BudgetVerified>(Below("spending", of_runs) + Below("runs.spending", of_runs) +
                                  Reasons{{"spending.filter", kNamed},
                                          {"spending.granted", kOfRuns},
                                          {"runs.spending.filter", kNamed},
                                          {"runs.spending.bound", kNamed}});
}

TEST(AnswerFields, OfOperationsAreAllShown) {
  const char kAsked[] = "how it was asked, which stands in its results ledger too";
  const Reasons of_operation = {{"request.request_id", kAsked},
                                {"request.options", kAsked},
                                {"create_time.nanos", kSeconds},
                                {"end_time.nanos", kSeconds}};
  ExpectShown<v1::Operation>(of_operation);
  ExpectLine<v1::ListOperationsResponse>(
      {"operations.name", "operations.state", "operations.done", "operations.total"});
  ExpectLine<v1::RecomputeResults>(
      {"results.now.ledger", "results.now.size", "results.before.epsilon.upper",
       "results.before.method", "results.before.version", "results.now.epsilon.upper",
       "results.now.method", "results.now.version", "results.now.refusal.message"},
      {{"operation"}, {"operation", "results.now.epsilon"}});
}

TEST(AnswerFields, OfWhatWasSaidStandInALine) {
  ExpectLine<v1::ListAnswersResponse>(
      {"answers.answer.size", "answers.answer.delta", "answers.answer.epsilon.upper",
       "answers.answer.method", "answers.answer.version", "answers.answer.compute_time.seconds",
       "answers.answer.refusal.message", "answers.operation", "answers.statement.number",
       "answers.given_back"},
      {{"answers.operation"},
       {"answers.statement"},
       {"answers.statement", "answers.answer.epsilon"}});
}

TEST(AnswerFields, OfTokensAndAccessAreAllShown) {
  const Reasons of_token = {{"name", "the caller is token:NAME"},
                            {"create_time.nanos", kSeconds},
                            {"expire_time.nanos", kSeconds},
                            {"revoke_time.nanos", kSeconds},
                            {"last_use_time.nanos", kSeconds}};
  const auto without = [](const char* field) {
    return std::vector<Paths>{{}, {absl::StrCat(field, ".revoke_time")}};
  };
  ExpectShown<v1::TokenMade>(Below("token", of_token), without("token"));
  ExpectShown<v1::ListTokensResponse>(Below("tokens", of_token), without("tokens"));
  ExpectShown<v1::RevokeTokenResponse>(Below("tokens", of_token), without("tokens"));
  ExpectShown<v1::AccessRead>({{"access.time.nanos", kSeconds}}, {{}, {"access.reads"}});
}

TEST(AnswerFields, OfStatementsAreAllShown) {
  const Reasons of_statement = {{"issuer.valid_until.nanos", kSeconds},
                                {"issue_time.nanos", kSeconds},
                                {"withdrawal.time.nanos", kSeconds},
                                {"withdrawal.number", "the statement's own"},
                                {"regime", "named where it is an odometer's"}};
  ExpectShown<v1::IssuedStatement>(of_statement);
  ExpectShown<v1::ListStatementsResponse>(Below("statements", of_statement) +
                                          Reasons{{"next_page_token", "all pages are asked for"}});
  ExpectShown<v1::StatementChecked>(Below("statement", of_statement));
  v1::IssuedStatement odometer;
  odometer.mutable_epsilon();
  odometer.set_regime(v1::ODOMETER);
  EXPECT_TRUE(absl::StrContains(cli::ToText(odometer), "no differential privacy"));
}

TEST(AnswerFields, OfListsAreThoseOfALine) {
  ExpectLine<v1::ListLedgersResponse>(
      {"ledgers.name", "ledgers.state", "ledgers.size", "ledgers.declaration.dataset",
       "ledgers.declaration.unit_of_privacy", "summaries.epsilon.upper", "summaries.delta",
       "summaries.refusal.reason",
       // of a budget
       "ledgers.declaration.kind", "summaries.spending.bound", "summaries.spending.filter",
       "summaries.spending.spent"},
      {{}, {"ledgers.declaration.kind"}, {"ledgers.declaration.kind", "summaries.epsilon"}});
  ExpectLine<v1::ListDatasetsResponse>(
      {"datasets.name", "datasets.ledger_count", "datasets.open_count", "datasets.epsilon.upper",
       "datasets.delta", "datasets.refusal.reason"},
      {{}, {"datasets.epsilon"}});
  ExpectLine<v1::ListAttentionResponse>(
      {"items.reason", "items.ledger", "items.datasets", "items.title", "items.message", "items.id",
       "items.note.acknowledged", "items.note.assigned_to", "items.note.text", "items.note.caller",
       "items.note.time.seconds", "unexamined"},
      {{}});
  const Paths of_row = {"rows.steps", "rows.answer.noise_multiplier", "rows.answer.epsilon.upper",
                        "rows.noise_per_example"};
  ExpectLine<v1::CalibrationGrid>(of_row, {{"rows.error", "rows.answer.details"}});
  ExpectLine<v1::CalibrationGrid>({"rows.batch_size", "rows.error"}, {{"rows.steps"}});
}

// The control: what is dropped is named, by its path and by what dropped it.
TEST(AnswerFields, NamesTheOneThatIsDropped) {
  const auto drop = [](const v1::ComputeTuningCostResponse& answer) {
    v1::ComputeTuningCostResponse less = answer;
    less.clear_planned_epsilon();
    return cli::ToText(less);
  };
  const auto seen = Seen<v1::ComputeTuningCostResponse>(drop, {{"details"}});
  EXPECT_EQ(Only(seen, false), (Paths{"planned_epsilon.lower", "planned_epsilon.upper"}));
}

}  // namespace
}  // namespace dpledger
