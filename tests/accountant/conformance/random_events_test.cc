// Events that nobody would write: made up at random, message by message, with a fixed seed. Some
// are valid; whatever they are, they are answered honestly or refused.
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "absl/time/clock.h"
#include "events/event_json.h"
#include "events/event_values.h"
#include "tests/accountant/conformance/question_rules.h"
#include "tests/support/sampled_cases.h"

namespace dpledger::accountant::conformance {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Fills messages through reflection, so that a field added to the contract is tried as well.
class Inventor {
 public:
  explicit Inventor(uint64_t seed) : random_(seed) {}

  v1::Event Invent() {
    // Most fields of most events are sane, or every event would fall at the first.
    strangeness_ = std::vector<double>{0, 0, 0.02, 0.2}[random_() % 4];
    deepest_ = 1 + static_cast<int>(random_() % (random_() % 16 == 0 ? 40 : 4));
    v1::Event event;
    Fill(event, 0);
    return event;
  }

 private:
  bool Strange() { return Uniform() < strangeness_; }
  double Uniform() { return std::uniform_real_distribution<double>()(random_); }

  double Real(const std::string& field) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    static constexpr double kStrange[] = {0.0,   -1.0,  -0.0,    1e-310,    1e-300,
                                          1e-12, 1e300, 1.0,     kInfinity, -kInfinity,
                                          1e16,  2.0,   1 + 1e-9};
    if (Strange())
      return random_() % 8 == 0 ? std::nan("") : kStrange[random_() % std::size(kStrange)];
    if (field == "delta") return std::pow(10, -10 * Uniform());
    if (field.find("prob") != std::string::npos || field == "noise_parameter")
      return random_() % 8 == 0 ? 1 : std::pow(10, -4 * Uniform());
    return std::pow(10, 3 * Uniform() - 1.5);
  }

  uint64_t Whole(const std::string& field) {
    static constexpr uint64_t kStrange[] = {0, uint64_t{1} << 53, (uint64_t{1} << 53) + 1,
                                            ~uint64_t{0}, uint64_t{1} << 32};
    if (Strange()) return kStrange[random_() % std::size(kStrange)];
    if (field == "population_size" || field.find("dataset_size") != std::string::npos) return 10000;
    return 1 + random_() % (field == "count" ? 64 : 5);
  }

  void Fill(Message& message, int depth) {
    const auto* descriptor = message.GetDescriptor();
    for (int i = 0; i < descriptor->oneof_decl_count(); ++i) {
      const auto* oneof = descriptor->oneof_decl(i);
      if (oneof->field_count() == 1) continue;  // an optional field
      if (Strange()) continue;
      const FieldDescriptor* field =
          oneof->field(static_cast<int>(random_() % oneof->field_count()));
      // Leaves at the end of a branch.
      for (int tries = 0; depth >= deepest_ && tries < 100 && IsNode(field); ++tries)
        field = oneof->field(static_cast<int>(random_() % oneof->field_count()));
      Set(message, field, depth);
    }
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const FieldDescriptor* field = descriptor->field(i);
      if (field->real_containing_oneof() != nullptr || Strange()) continue;
      if (field->has_presence() && field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE &&
          random_() % 2 == 0) {
        continue;
      }
      if (!field->is_repeated()) {
        Set(message, field, depth);
        continue;
      }
      // Lists that go together have the same length in most messages.
      const int size = Strange() ? static_cast<int>(random_() % 6) : 2;
      for (int k = 0; k < size; ++k) Set(message, field, depth);
    }
    MakeConsistent(message);
  }

  static bool IsNode(const FieldDescriptor* field) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return false;
    for (int i = 0; i < field->message_type()->field_count(); ++i) {
      if (field->message_type()->field(i)->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
        return true;
    }
    return false;
  }

  void Set(Message& message, const FieldDescriptor* field, int depth) {
    const auto* reflection = message.GetReflection();
    const bool list = field->is_repeated();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        Fill(list ? *reflection->AddMessage(&message, field)
                  : *reflection->MutableMessage(&message, field),
             depth + (field->message_type() == v1::MechanismEvent::descriptor() ? 1 : 0));
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        list ? reflection->AddDouble(&message, field, Real(field->name()))
             : reflection->SetDouble(&message, field, Real(field->name()));
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        list ? reflection->AddUInt64(&message, field, Whole(field->name()))
             : reflection->SetUInt64(&message, field, Whole(field->name()));
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        reflection->SetEnumValue(&message, field,
                                 Strange() ? 99 : static_cast<int>(random_() % 4 == 0));
        break;
      default:
        break;
    }
  }

  // What one field at a time does not give: sums to one, orders that grow, a grid's whole numbers.
  void MakeConsistent(Message& message) {
    if (Strange()) return;
    if (auto* mixture = dynamic_cast<v1::MixtureOfGaussians*>(&message)) {
      double sum = 0;
      for (const double p : mixture->sampling_probs()) sum += p;
      for (double& p : *mixture->mutable_sampling_probs()) p /= sum;
    } else if (auto* curve = dynamic_cast<v1::RenyiCurve*>(&message)) {
      double last = 1;
      for (double& order : *curve->mutable_orders()) last = order = last + std::fabs(order);
    } else if (auto* query = dynamic_cast<v1::SumQuery*>(&message)) {
      if (query->noise() == v1::ROUNDED_GAUSSIAN) {
        query->set_l2_norm_bound(100);
        query->set_noise_stddev(77);
      } else {
        query->set_grid(0);
      }
    } else if (auto* tuned = dynamic_cast<v1::RepeatAndSelect*>(&message)) {
      tuned->set_mean(1 + tuned->mean());
    }
  }

  std::mt19937_64 random_;
  double strangeness_ = 0;
  int deepest_ = 1;
};

Limits Small() {
  Limits limits;
  limits.deadline = absl::Now() + absl::Seconds(2);
  limits.max_fft_bins = 1 << 14;
  return limits;
}

TEST(RandomEvents, AreAnsweredHonestlyOrRefused) {
  Inventor inventor(20240601);
  Fates fates;
  dpledger::testing::SampledCases sampled(4);
  for (int i = 0; i < 400; ++i) {
    const v1::Event event = inventor.Invent();
    if (!sampled.Next()) continue;
    ExpectHonestAnswers(event, std::pow(10, -1 - i % 12), Small(), fates);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(fates.invalid, 8);
  EXPECT_GT(fates.answered, 20);
}

// The line of an event file says what the message says.
TEST(RandomEvents, SurviveTheEventFile) {
  Inventor inventor(7);
  for (int i = 0; i < 300; ++i) {
    const v1::Event event = inventor.Invent();
    if (!events::ValueOf(event).ok()) continue;
    std::string line;
    ASSERT_TRUE(google::protobuf::util::MessageToJsonString(event, &line).ok());
    const auto read = events::EventFromJson(line);
    ASSERT_TRUE(read.ok()) << read.status() << line;
    EXPECT_EQ(read->SerializeAsString(), event.SerializeAsString()) << line;
  }
}

}  // namespace
}  // namespace dpledger::accountant::conformance
