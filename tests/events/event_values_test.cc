#include "events/event_values.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "accountant/event/event.h"
#include "accountant/mechanism/composition.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "events/unknown_fields.h"
#include "gmock/gmock.h"
#include "tests/events/event_rules.h"

namespace dpledger::accountant {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using ::testing::EndsWith;

v1::Event EventFromText(const std::string& text) { return FromText<v1::Event>(text); }

// ---- Every rule, one test a row ----

class EventRule : public ::testing::TestWithParam<FieldRule> {};

TEST_P(EventRule, IsCheckedAndNamed) {
  ExpectRule<v1::Event>(GetParam(),
                        [](const v1::Event& event) { return events::ValueOf(event).status(); });
}

INSTANTIATE_TEST_SUITE_P(EventProto, EventRule, ::testing::ValuesIn(EventRules()));

// ---- The rules of the values themselves, which reach a C++ user without any message ----

// A run of ε 1.828 with 1000 rounds of q -.5 beside it was certified [0, 0]; σ -1 crashed.
TEST(EventValues, OutOfTheirDomainReachNoComposition) {
  const RoundsEvent run{{{0, PoissonSampling{.01}}, {{"g", 1, 1}}}, 1000};
  const auto with = [](SamplingScheme scheme, double bound, double stddev) {
    return RoundsEvent{{std::move(scheme), {{"g", bound, stddev}}}, 4};
  };
  const double nan = std::nan("");
  const struct {
    Event event;
    const char* message;
  } rows[] = {{with({0, PoissonSampling{-.5}}, 1, 1),
               "scheme.poisson.probability: must be in (0, 1], got -0.5"},
              {with({0, PoissonSampling{nan}}, 1, 1),
               "scheme.poisson.probability: must be in (0, 1], got nan"},
              {with({0, PoissonSampling{.01}}, -1, -1),
               "queries[0].l2_norm_bound: must be finite and > 0, got -1"},
              {with({0, PoissonSampling{.01}}, 1, nan),
               "queries[0].noise_stddev: must be finite and > 0, got nan"},
              {with({0, PoissonSampling{.01}}, 1, 1e200),
               "queries[0].noise_stddev: must be 1e-100 to 1e100 times l2_norm_bound"},
              {RoundsEvent{{{0, FullBatch{}}, {{"g", 1, 1, static_cast<NoiseKind>(7)}}}, 1},
               "queries[0].noise: enum number 7 is not known to this version"},
              {RoundsEvent{{{0, FullBatch{}}, {{"g", 1, 1, NoiseKind::kRoundedGaussian}}}, 1},
               "queries[0].grid: must be finite and > 0, got 0"},
              {with({0, WithoutReplacement{5}}, 1, 1),
               "scheme.population_size: must be stated for this scheme, got 0"},
              {with({9, RandomAllocation{4, 0, 5, false}}, 1, 1),
               "scheme.random_allocation.contributions: must be in [1, 4], got 5"},
              {with({9, RandomAllocation{0, 0, 1, false}}, 1, 1),
               "scheme.random_allocation.rounds_per_epoch: must be in [1, 2^53], got 0"},
              {with({9, DisjointBatches{0, 0}}, 1, 1),
               "scheme.disjoint_batches.batches_per_epoch: must be in [1, 2^53], got 0"},
              {with({0, TruncatedPoisson{.5, 3}}, 1, 1),
               "scheme.population_size: must be stated for this scheme, got 0"},
              {Mechanism{1, DiscreteGaussian{-1, 1, 1}},
               "discrete_gaussian.sigma: must be finite and > 0, got -1"},
              {Mechanism{1, ZCDp{-1, 0}}, "zcdp.rho: must be finite and >= 0, got -1"},
              {Mechanism{0, Laplace{1}}, "count: must be in [1, 2^53], got 0"},
              {Mechanism{1, SelfComposed{{}, 3}}, "self_composed.event: must be set"},
              {Mechanism{1, PoissonSampled{.5, {}}}, "poisson_sampled.event: must be set"},
              {Mechanism{1, Composed{}}, "composed.events: must be in [1, 4096], got 0"},
              {Mechanism{1, RenyiCurve{}}, "renyi_curve.orders: must hold at least one value"},
              {Mechanism{1, PoissonSampled{.5, {Mechanism{1, Gaussian{-2}}}}},
               "poisson_sampled.event.gaussian.noise_multiplier: must be finite and > 0, got -2"}};
  for (const auto& row : rows) {
    History history;
    history.Add("w", run);
    history.Add("w", row.event);
    const absl::Status status = Resolve(history, Adjacency::kAddOrRemoveOne).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.message;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(row.message));
  }
  History history;
  history.Add("w", run);
  EXPECT_TRUE(Resolve(history, Adjacency::kAddOrRemoveOne).ok());
}

// ---- What comes out ----

TEST(EventValues, KeepsEveryFieldOfARound) {
  const auto event = events::ValueOf(
      EventFromText("rounds { scheme { population_size: 100 with_replacement { sample_size: 7 } }"
                    " queries { group: 'conv1' l2_norm_bound: 3 noise_stddev: 4 "
                    "           noise: ROUNDED_GAUSSIAN grid: 0.25 }"
                    " queries { l2_norm_bound: 0.5 noise_stddev: 2 } count: 12 }"));
  ASSERT_TRUE(event.ok()) << event.status();
  const auto& rounds = std::get<RoundsEvent>(*event);
  EXPECT_EQ(rounds.count, 12u);
  EXPECT_EQ(rounds.round.scheme, (SamplingScheme{100, WithReplacement{7}}));
  ASSERT_EQ(rounds.round.queries.size(), 2u);
  const SumQuery& first = rounds.round.queries[0];
  EXPECT_EQ(first.group, "conv1");
  EXPECT_EQ(first.l2_norm_bound, 3);
  EXPECT_EQ(first.noise_stddev, 4);
  EXPECT_EQ(first.noise, NoiseKind::kRoundedGaussian);
  EXPECT_EQ(first.grid, 0.25);
  EXPECT_EQ(rounds.round.queries[1].noise, NoiseKind::kGaussian);
}

struct SchemeCase {
  std::string text;
  SamplingScheme expected;
  std::string name;
};

TEST(EventValues, KeepsEverySchemeAndNamesItAsTheWireDoes) {
  const SchemeCase cases[] = {
      {"poisson { probability: 0.25 }", {0, PoissonSampling{0.25}}, "poisson"},
      {"population_size: 9 without_replacement { sample_size: 2 }",
       {9, WithoutReplacement{2}},
       "without_replacement"},
      {"population_size: 9 with_replacement { sample_size: 2 }",
       {9, WithReplacement{2}},
       "with_replacement"},
      {"full_batch {}", {0, FullBatch{}}, "full_batch"},
      {"disjoint_batches { batches_per_epoch: 4 epoch: 2 }",
       {0, DisjointBatches{4, 2}},
       "disjoint_batches"},
      {"random_allocation { rounds_per_epoch: 4 epoch: 2 }",
       {0, RandomAllocation{4, 2}},
       "random_allocation"},
      {"random_allocation { rounds_per_epoch: 4 contributions: 3 fixed_bins: true }",
       {0, RandomAllocation{4, 0, 3, true}},
       "random_allocation"},
      {"population_size: 9 truncated_poisson { probability: 0.5 max_sample_size: 3 }",
       {9, TruncatedPoisson{0.5, 3}},
       "truncated_poisson"},
  };
  for (const SchemeCase& scheme : cases) {
    const auto event =
        events::ValueOf(EventFromText("sampling { round: 8 scheme { " + scheme.text + " } }"));
    ASSERT_TRUE(event.ok()) << event.status();
    const auto& sampling = std::get<SamplingEvent>(*event);
    EXPECT_EQ(sampling.round, 8u);
    EXPECT_EQ(sampling.scheme, scheme.expected) << scheme.text;
    EXPECT_EQ(SchemeName(sampling.scheme), scheme.name);
  }
}

TEST(EventValues, KeepsTheShapeOfATree) {
  const auto event = events::ValueOf(EventFromText(
      "mechanism { count: 3 composed {"
      " events { self_composed { count: 5 event { gaussian { noise_multiplier: 1.5 } } } }"
      " events { poisson_sampled { sampling_probability: 0.5 event { non_private {} } } }"
      " events { no_op {} } } }"));
  ASSERT_TRUE(event.ok()) << event.status();
  const auto& mechanism = std::get<Mechanism>(*event);
  EXPECT_EQ(mechanism.count, 3u);
  const auto& composed = std::get<Composed>(mechanism.kind);
  ASSERT_EQ(composed.events.size(), 3u);
  const auto& repeated = std::get<SelfComposed>(composed.events[0].kind);
  EXPECT_EQ(repeated.count, 5u);
  EXPECT_EQ(std::get<Gaussian>(repeated.event.at(0).kind).noise_multiplier, 1.5);
  const auto& sampled = std::get<PoissonSampled>(composed.events[1].kind);
  EXPECT_EQ(sampled.sampling_probability, 0.5);
  EXPECT_TRUE(std::holds_alternative<NonPrivate>(sampled.event.at(0).kind));
  EXPECT_TRUE(std::holds_alternative<NoOp>(composed.events[2].kind));
}

// A case that the contract gains must be converted, never dropped: the value of each comes in the
// order of the wire.
TEST(EventValues, EveryMechanismCaseHasAGoodExampleAndItsOwnKind) {
  std::map<size_t, std::string> kinds;
  std::set<std::string> met;
  for (const FieldRule& rule : EventRules()) {
    const v1::Event message = EventFromText(rule.With(rule.good));
    if (!message.has_mechanism()) continue;
    const auto* kind = message.mechanism().GetReflection()->GetOneofFieldDescriptor(
        message.mechanism(), v1::MechanismEvent::descriptor()->FindOneofByName("kind"));
    const auto event = events::ValueOf(message);
    ASSERT_TRUE(event.ok()) << event.status();
    const size_t index = std::get<Mechanism>(*event).kind.index();
    EXPECT_EQ(kinds.emplace(index, kind->name()).first->second, kind->name());
    met.insert(kind->name());
  }
  met.insert("non_private");  // no field, so no rule; KeepsTheShapeOfATree holds one
  EXPECT_EQ(static_cast<int>(met.size()),
            v1::MechanismEvent::descriptor()->FindOneofByName("kind")->field_count());
}

// ---- One list of fields ----

// Calls `visit` with every message of the tree below `message` and its path, "" for the root.
void ForEachMessage(Message& message, const std::string& path,
                    const std::function<void(Message&, const std::string&)>& visit);

// "Poisson.probability" of each field, and those of the messages below.
void AddFields(const google::protobuf::Descriptor& type, std::set<std::string>& fields) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const bool is_new = fields.insert(absl::StrCat(type.name(), ".", field.name())).second;
    if (is_new && field.message_type() != nullptr) AddFields(*field.message_type(), fields);
  }
}

// The good event of each rule, and one of a kind that has no rule.
std::vector<v1::Event> GoodEvents() {
  std::vector<v1::Event> events = {EventFromText("mechanism { non_private {} }"),
                                   EventFromText("sampling { round: 1 scheme { random_allocation { "
                                                 "rounds_per_epoch: 4 fixed_bins: true } } }"),
                                   EventFromText("mechanism { report_noisy_max { "
                                                 "noise_multiplier: 1 monotonic: true } }")};
  for (const FieldRule& rule : EventRules()) events.push_back(EventFromText(rule.With(rule.good)));
  return events;
}

// Sets `field` of `message` to something else; false if the `attempt`-th way is none for its type.
bool Change(Message& message, const FieldDescriptor& field, int attempt) {
  const auto& reflection = *message.GetReflection();
  // The last: to what other fields allow too, as another noise, or another sum within tolerance.
  const auto changed = [attempt](auto value) {
    constexpr bool real = std::is_floating_point_v<decltype(value)>;
    const decltype(value) ways[] = {value + 1, value / 2, value * 2, value - 1,
                                    static_cast<decltype(value)>(real ? value + 1e-13 : value + 2)};
    return ways[attempt];
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      if (field.is_repeated()) {
        const double old = reflection.GetRepeatedDouble(message, &field, 0);
        reflection.SetRepeatedDouble(&message, &field, 0, changed(old));
      } else {
        reflection.SetDouble(&message, &field, changed(reflection.GetDouble(message, &field)));
      }
      return true;
    case FieldDescriptor::CPPTYPE_UINT64:
      if (field.is_repeated()) {
        const uint64_t old = reflection.GetRepeatedUInt64(message, &field, 0);
        reflection.SetRepeatedUInt64(&message, &field, 0, changed(old));
      } else {
        reflection.SetUInt64(&message, &field, changed(reflection.GetUInt64(message, &field)));
      }
      return true;
    case FieldDescriptor::CPPTYPE_BOOL:
      reflection.SetBool(&message, &field, !reflection.GetBool(message, &field));
      return attempt == 0;
    case FieldDescriptor::CPPTYPE_ENUM:
      reflection.SetEnumValue(&message, &field, changed(reflection.GetEnumValue(message, &field)));
      return true;
    case FieldDescriptor::CPPTYPE_STRING:
      reflection.SetString(&message, &field, "other");
      return attempt == 0;
    default:
      return false;
  }
}

std::string KeyOf(const Event& event) {
  std::string key;
  AppendKey(event, key);
  return key;
}

// The names of the fields that are set in `event`, after it was a value.
std::set<std::string> FieldsAfter(const Event& value) {
  v1::Event message;
  events::ToMessage(value, message);
  const auto again = events::ValueOf(message);
  EXPECT_TRUE(again.ok()) << message.DebugString() << again.status();
  EXPECT_TRUE(again.ok() && *again == value) << message.DebugString();
  std::set<std::string> names;
  ForEachMessage(message, "", [&](Message& part, const std::string&) {
    std::vector<const FieldDescriptor*> fields;
    part.GetReflection()->ListFields(part, &fields);
    for (const FieldDescriptor* field : fields)
      names.insert(absl::StrCat(part.GetDescriptor()->name(), ".", field->name()));
  });
  return names;
}

// Every field of every message is in its value's list: it comes back, and it tells values and their
// keys apart (but for a label, which keys leave out). Leaving a field out of a key by hand once
// merged rounds that are not equal.
TEST(EventValues, HaveEveryFieldOfTheirMessages) {
  std::set<std::string> all, back, told;
  AddFields(*v1::Event::descriptor(), all);
  for (v1::Event event : GoodEvents()) {
    const auto before = events::ValueOf(event);
    ASSERT_TRUE(before.ok()) << event.DebugString() << before.status();
    back.merge(FieldsAfter(*before));
    ForEachMessage(event, "", [&](Message& message, const std::string& path) {
      const auto& reflection = *message.GetReflection();
      for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
        const FieldDescriptor& field = *message.GetDescriptor()->field(i);
        if (field.message_type() != nullptr) continue;
        if (field.is_repeated() && reflection.FieldSize(message, &field) == 0) continue;
        if (field.real_containing_oneof() != nullptr && !reflection.HasField(message, &field))
          continue;
        const std::string kept = message.SerializeAsString();
        const std::string name = absl::StrCat(message.GetDescriptor()->name(), ".", field.name());
        for (int attempt = 0; attempt < 5; ++attempt) {
          const bool changes = Change(message, field, attempt);
          const auto after = changes ? events::ValueOf(event) : before;
          message.ParseFromString(kept);
          if (!after.ok() || *after == *before) continue;  // refused, or what an absent one means
          back.merge(FieldsAfter(*after));
          EXPECT_EQ(KeyOf(*after) == KeyOf(*before), name == "SumQuery.group")
              << path << " " << name;
          told.insert(name);
        }
      }
    });
  }
  const auto missing = [&all](const std::set<std::string>& some) {
    std::set<std::string> left = all;
    for (const std::string& name : some) left.erase(name);
    return left;
  };
  EXPECT_THAT(missing(back), ::testing::IsEmpty());
  std::erase_if(all, [](const std::string& name) {
    const std::vector<std::string> parts = absl::StrSplit(name, '.');
    const auto* type = google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(
        "dpledger.v1." + parts[0]);
    return type->FindFieldByName(parts[1])->message_type() != nullptr;
  });
  EXPECT_THAT(missing(told), ::testing::IsEmpty());
}

// ---- Unset ----

TEST(EventValues, UnsetKindIsRefused) {
  const absl::Status status = events::ValueOf(v1::Event()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FromAbsl(status.message()),
            "kind: must be set to one of sampling, sum_query, rounds, mechanism");
}

TEST(EventValues, UnsetKindInATreeIsRefusedByItsPath) {
  const absl::Status status =
      events::ValueOf(EventFromText("mechanism { composed { events { no_op {} } events {} } }"))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StartsWith(status.message(),
                               "mechanism.composed.events[1].kind: must be set to one of no_op, "))
      << status;
}

// ---- Depth and width ----

v1::Event Nested(int levels) {
  v1::Event event;
  v1::MechanismEvent* mechanism = event.mutable_mechanism();
  for (int i = 1; i < levels; ++i) {
    mechanism->mutable_self_composed()->set_count(1);
    mechanism = mechanism->mutable_self_composed()->mutable_event();
  }
  mechanism->mutable_no_op();
  return event;
}

TEST(EventValues, TreeOf32LevelsPassesAnd33AreRefused) {
  EXPECT_TRUE(events::ValueOf(Nested(32)).ok());
  const absl::Status status = events::ValueOf(Nested(33)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              EndsWith(".self_composed.event.no_op: must be at most 32 levels deep"));
}

TEST(EventValues, CompositionOf4096EventsPassesAnd4097AreRefused) {
  v1::Event event;
  v1::Composed* composed = event.mutable_mechanism()->mutable_composed();
  for (int i = 0; i < 4096; ++i) composed->add_events()->mutable_no_op();
  EXPECT_TRUE(events::ValueOf(event).ok());
  composed->add_events()->mutable_no_op();
  const absl::Status status = events::ValueOf(event).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FromAbsl(status.message()),
            "mechanism.composed.events: must be in [1, 4096], got 4097");
}

// ---- Unknown fields ----

void ForEachMessage(Message& message, const std::string& path,
                    const std::function<void(Message&, const std::string&)>& visit) {
  visit(message, path);
  const auto& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  const std::string prefix = path.empty() ? "" : path + ".";
  for (const FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr) continue;
    if (!field->is_repeated()) {
      ForEachMessage(*reflection.MutableMessage(&message, field), prefix + field->name(), visit);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      ForEachMessage(*reflection.MutableRepeatedMessage(&message, field, i),
                     absl::StrCat(prefix, field->name(), "[", i, "]"), visit);
    }
  }
}

TEST(UnknownFields, AreRefusedAtEveryDepthByPathAndNumber) {
  int injected = 0;
  for (const FieldRule& rule : EventRules()) {
    v1::Event event = EventFromText(rule.With(rule.good));
    ForEachMessage(event, "", [&](Message& message, const std::string& path) {
      auto* unknown = message.GetReflection()->MutableUnknownFields(&message);
      unknown->AddVarint(1234, 1);
      const absl::Status status = events::ValueOf(event).status();
      unknown->Clear();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << path;
      EXPECT_EQ(FromAbsl(status.message()),
                absl::StrCat(path, path.empty() ? "" : ".",
                             "1234: field number is not known to this version"));
      ++injected;
    });
    EXPECT_TRUE(events::ValueOf(event).ok()) << "the event without the injection";
  }
  EXPECT_GT(injected, 200);
}

TEST(UnknownFields, SurviveTheWireAndAreStillRefused) {
  v1::Event event = EventFromText("mechanism { gaussian { noise_multiplier: 1 } }");
  v1::Gaussian& gaussian = *event.mutable_mechanism()->mutable_gaussian();
  gaussian.GetReflection()->MutableUnknownFields(&gaussian)->AddFixed64(9, 1);
  v1::Event received;
  ASSERT_TRUE(received.ParseFromString(event.SerializeAsString()));
  EXPECT_EQ(FromAbsl(events::ValueOf(received).status().message()),
            "mechanism.gaussian.9: field number is not known to this version");
}

TEST(UnknownFields, WholeRequestsAreWalked) {
  auto request = FromText<v1::ComputeEpsilonRequest>(
      "subject { events { sum_query { query { noise: ROUNDED_GAUSSIAN } } } } options { method: "
      "PLD }");
  EXPECT_TRUE(events::CheckNoUnknownFields(request).ok());
  request.mutable_options()->set_method(static_cast<v1::Method>(77));
  EXPECT_EQ(FromAbsl(events::CheckNoUnknownFields(request).message()),
            "options.method: enum number 77 is not known to this version");
  request.mutable_subject()->mutable_events(0)->mutable_sum_query()->mutable_query()->set_noise(
      static_cast<v1::NoiseKind>(5));
  EXPECT_EQ(FromAbsl(events::CheckNoUnknownFields(request).message()),
            "subject.events[0].sum_query.query.noise: enum number 5 is not known to this version");
}

// ---- Garbage ----

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> corpus) : corpus_(std::move(corpus)) {}

  std::string Next() {
    std::string bytes = Pick();
    for (uint64_t edits = 1 + Below(3); edits > 0; --edits) Edit(bytes);
    return bytes;
  }

 private:
  uint64_t Below(uint64_t bound) { return random_() % bound; }
  const std::string& Pick() { return corpus_[Below(corpus_.size())]; }

  void Edit(std::string& bytes) {
    const size_t at = bytes.empty() ? 0 : Below(bytes.size());
    switch (Below(5)) {
      case 0:
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8)));
        break;
      case 1:
        bytes.insert(at, 1, static_cast<char>(Below(256)));
        break;
      case 2:
        if (!bytes.empty()) bytes.erase(at, 1 + Below(4));
        break;
      case 3: {  // a field's bytes all set: NaN, -1, 2^64 - 1
        for (size_t i = at; i < std::min(bytes.size(), at + 8); ++i) bytes[i] = '\xff';
        break;
      }
      default:
        bytes.append(Pick());  // protobuf merges what is appended
    }
  }

  std::mt19937_64 random_{20181206};
  std::vector<std::string> corpus_;
};

TEST(Garbage, MutatedEventsConvertOrAreRefusedByField) {
  std::vector<std::string> corpus;
  for (const FieldRule& rule : EventRules()) {
    corpus.push_back(EventFromText(rule.With(rule.good)).SerializeAsString());
  }
  Mutator mutator(corpus);
  int unreadable = 0, converted = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    v1::Event message;
    if (!message.ParseFromString(mutator.Next())) {
      ++unreadable;
      continue;
    }
    const auto event = events::ValueOf(message);
    if (event.ok()) {
      ++converted;
      continue;
    }
    ++refused;
    EXPECT_EQ(event.status().code(), absl::StatusCode::kInvalidArgument) << event.status();
    EXPECT_FALSE(ReasonOf(event.status()).metadata["field"].empty()) << event.status();
  }
  // The mutations reach all three outcomes.
  EXPECT_GT(unreadable, 1000);
  EXPECT_GT(converted, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace dpledger::accountant
