// No field of an answer gets lost on its way to the reader: changing any one of them changes the
// text. (The JSON is the message itself.) Fields are found by reflection, so one that is added to a
// message is demanded too. `tuning` once left out planned_epsilon: it printed 1.158 where 11.07 was
// the search's cost.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/answer_output.h"
#include "cli/profile_output.h"
#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Fields that are not shown, and why. A path ends at the field; what is below it is not shown
// either.
const std::map<std::string, std::string> kNotShown = {
    {"details.ledgers.fork.declaration", "answers carry forks without it (LedgerReference.fork)"},
    {"details.ledgers.import.declaration", "answers carry imports without it"},
    {"details.ledgers.import.checkpoint", "answers carry imports without it"},
    {"trials.least_cost", "an answer says which distribution was found"},
};

bool IsShown(const std::string& path) {
  for (const auto& [field, reason] : kNotShown) {
    if (path == field || absl::StartsWith(path, field + ".")) return false;
  }
  return true;
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
      if (left_out_.contains(path) || !IsShown(path)) continue;
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
    const double real = 0.25 + static_cast<double>(number);
    const std::string text =
        absl::StrCat(field.type() == FieldDescriptor::TYPE_BYTES ? std::string(30, 'r') : "text ",
                     number % 1000);
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return reflection.SetDouble(&message, &field, real);
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection.SetUInt64(&message, &field, number);
      case FieldDescriptor::CPPTYPE_BOOL:
        return reflection.SetBool(&message, &field, true);
      case FieldDescriptor::CPPTYPE_STRING:
        if (field.is_repeated()) return reflection.AddString(&message, &field, text);
        return reflection.SetString(&message, &field, text);
      case FieldDescriptor::CPPTYPE_ENUM:
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
      reflection.SetEnumValue(&message, field, 2);
    } else if (field->is_repeated()) {
      reflection.SetRepeatedString(&message, field, 0, "another text");
    } else {
      Filler::Set(message, *field, 9000);
    }
    visit(path);
    message.CopyFrom(*before);
  }
}

// The fields of `answer` whose change `print` does not show, whichever of the given parts are left
// out.
template <typename Answer>
std::set<std::string> Lost(const std::function<std::string(const Answer&)>& print,
                           const std::vector<std::set<std::string>>& left_out = {{}}) {
  std::map<std::string, bool> seen;
  for (const std::set<std::string>& without : left_out) {
    Answer answer;
    Filler(without).Fill(answer);
    const std::string before = print(answer);
    ChangeEach(answer, answer, "",
               [&](const std::string& path) { seen[path] |= print(answer) != before; });
  }
  std::set<std::string> lost;
  for (const auto& [path, shown] : seen) {
    if (!shown) lost.insert(path);
  }
  EXPECT_GT(seen.size(), 30u);
  return lost;
}

template <typename Answer>
std::string TextOf(const Answer& answer) {
  return cli::ToText(answer);
}

using None = std::set<std::string>;

TEST(AnswerFields, OfEpsilonAreAllShown) {
  EXPECT_EQ(Lost<v1::ComputeEpsilonResponse>(TextOf<v1::ComputeEpsilonResponse>), None());
}

TEST(AnswerFields, OfDeltaAreAllShown) {
  EXPECT_EQ(Lost<v1::ComputeDeltaResponse>(TextOf<v1::ComputeDeltaResponse>), None());
}

TEST(AnswerFields, OfTuningAreAllShown) {
  EXPECT_EQ(Lost<v1::ComputeTuningCostResponse>(
                TextOf<v1::ComputeTuningCostResponse>,
                {{},
                 {"trials.negative_binomial"},
                 {"trials.negative_binomial", "trials.poisson"},
                 {"trials.negative_binomial", "trials.poisson", "trials.fixed"}}),
            None());
}

TEST(AnswerFields, OfCalibrationAreAllShown) {
  EXPECT_EQ(Lost<v1::CalibrateResponse>(TextOf<v1::CalibrateResponse>,
                                        {{},
                                         {"noise_multiplier", "by_method.error"},
                                         {"noise_multiplier", "steps"},
                                         {"noise_multiplier", "steps", "sampling_probability"}}),
            None());
}

// Of the two numbers of a point, the one that was asked about has equal bounds.
TEST(AnswerFields, OfProfilesAreAllShown) {
  const auto lost = [](cli::Asked asked) {
    return Lost<v1::ComputeProfileResponse>(
        [asked](const v1::ComputeProfileResponse& answer) { return cli::ToText(answer, asked); });
  };
  EXPECT_EQ(lost(cli::Asked::kEpsilons), (None{"points.epsilon.lower"}));
  EXPECT_EQ(lost(cli::Asked::kDeltas), (None{"points.delta.lower"}));
}

TEST(AnswerFields, OfAuditsAreAllShown) {
  EXPECT_EQ(Lost<v1::AuditClaimResponse>(TextOf<v1::AuditClaimResponse>), None());
}

// The control: what is dropped is named, by its path and by what dropped it.
TEST(AnswerFields, NamesTheOneThatIsDropped) {
  const auto drop = [](const v1::ComputeTuningCostResponse& answer) {
    v1::ComputeTuningCostResponse less = answer;
    less.clear_planned_epsilon();
    return cli::ToText(less);
  };
  EXPECT_EQ(Lost<v1::ComputeTuningCostResponse>(drop),
            (None{"planned_epsilon.lower", "planned_epsilon.upper"}));
}

}  // namespace
}  // namespace dpledger
