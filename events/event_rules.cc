#include "events/event_rules.h"

#include "absl/strings/str_cat.h"
#include "events/field_checks.h"
#include "events/unknown_fields.h"

namespace dpledger::events {
namespace {

constexpr size_t kMaxGroupName = 256;
// An entry has at most 65,535 bytes; what stands around an event in it takes less than 300.
constexpr size_t kMaxEventBytes = 65'200;
// Noise multipliers whose squares stay far from the ends of doubles: others have no analysis.
constexpr double kLeastNoise = 1e-100, kGreatestNoise = 1e100;

// ---- Nothing unknown, the short way ----

// Nearly every event of a training run is a Poisson sample or a sum query. For them these tell
// without a walk by reflection what CheckNoUnknownFields tells of any message: true means that it
// would find nothing, false nothing at all.

template <typename Message>
bool HasNoUnknownFields(const Message& m) {
  // Looking this up takes longer than asking it.
  static const google::protobuf::Reflection* const reflection = m.GetReflection();
  return reflection->GetUnknownFields(m).empty();
}

bool IsAllKnown(const v1::SamplingScheme& m) {
  return HasNoUnknownFields(m) && m.has_poisson() && HasNoUnknownFields(m.poisson());
}
bool IsAllKnown(const v1::SamplingEvent& m) {
  return HasNoUnknownFields(m) && m.has_scheme() && IsAllKnown(m.scheme()) &&
         v1::SampleSource_IsValid(m.source());
}
bool IsAllKnown(const v1::SumQuery& m) {
  return HasNoUnknownFields(m) && v1::NoiseKind_IsValid(m.noise());
}
bool IsAllKnown(const v1::SumQueryEvent& m) {
  return HasNoUnknownFields(m) && m.has_query() && IsAllKnown(m.query());
}
bool IsAllKnown(const v1::Event& m) {
  if (!HasNoUnknownFields(m)) return false;
  if (m.has_sampling()) return IsAllKnown(m.sampling());
  return m.has_sum_query() && IsAllKnown(m.sum_query());
}

// ---- Sampling schemes ----

absl::Status PopulationIsStated(uint64_t population) {
  return population > 0 ? absl::OkStatus()
                        : FieldError("population_size", "must be stated for this scheme, got 0");
}

absl::Status CheckFixedSize(const v1::FixedSize& m, uint64_t population) {
  return WholeIn(1, population, "sample_size", m.sample_size());
}
absl::Status CheckFields(const v1::Poisson& m) {
  return SamplingProbability("probability", m.probability());
}
absl::Status CheckFields(const v1::DisjointBatches& m) {
  RETURN_IF_ERROR(Count("batches_per_epoch", m.batches_per_epoch()));
  return Ordinal("epoch", m.epoch());
}
absl::Status CheckFields(const v1::RandomAllocation& m) {
  RETURN_IF_ERROR(Count("rounds_per_epoch", m.rounds_per_epoch()));
  RETURN_IF_ERROR(Ordinal("epoch", m.epoch()));
  if (m.contributions() <= m.rounds_per_epoch()) return absl::OkStatus();
  return FieldError("contributions",
                    absl::StrCat("must be at most the epoch's ", m.rounds_per_epoch(),
                                 " rounds (absent: one), got ", m.contributions()));
}
absl::Status CheckFields(const v1::TruncatedPoisson& m) {
  RETURN_IF_ERROR(SamplingProbability("probability", m.probability()));
  return Count("max_sample_size", m.max_sample_size());
}

template <typename Message>
absl::Status CheckSchemeOf(const Message& m) {
  RETURN_IF_ERROR(MustBeSet(m.has_scheme(), "scheme"));
  return Within("scheme", CheckScheme(m.scheme()));
}

// ---- Sum queries and rounds ----

absl::Status CheckFields(const v1::SamplingEvent& m) {
  RETURN_IF_ERROR(Ordinal("round", m.round()));
  return CheckSchemeOf(m);
}

absl::Status CheckFields(const v1::SumQueryEvent& m) {
  RETURN_IF_ERROR(Ordinal("round", m.round()));
  RETURN_IF_ERROR(MustBeSet(m.has_query(), "query"));
  return Within("query", CheckSumQuery(m.query()));
}

absl::Status CheckFields(const v1::RoundsEvent& m) {
  RETURN_IF_ERROR(CheckSchemeOf(m));
  RETURN_IF_ERROR(NotEmpty("queries", m.queries_size()));
  for (int i = 0; i < m.queries_size(); ++i) {
    RETURN_IF_ERROR(Within(Element("queries", i), CheckSumQuery(m.queries(i))));
  }
  RETURN_IF_ERROR(Count("count", m.count()));
  const uint64_t per_epoch = RoundsPerEpoch(m.scheme());
  if (m.count() % per_epoch == 0) return absl::OkStatus();
  return FieldError("count", absl::StrCat("must be a multiple of the epoch's ", per_epoch,
                                          " rounds, got ", m.count()));
}

// Samples and single queries are small by their own rules.
template <typename Message>
absl::Status CheckBytes(const Message& m) {
  const size_t bytes = m.ByteSizeLong();
  if (bytes <= kMaxEventBytes) return absl::OkStatus();
  return FieldError("", absl::StrCat("must be at most ", kMaxEventBytes, " bytes, got ", bytes));
}

absl::Status CheckKind(const v1::Event& event) {
  switch (event.kind_case()) {
    case v1::Event::kSampling:
      return Within("sampling", CheckFields(event.sampling()));
    case v1::Event::kSumQuery:
      return Within("sum_query", CheckFields(event.sum_query()));
    case v1::Event::kRounds:
      RETURN_IF_ERROR(Within("rounds", CheckBytes(event.rounds())));
      return Within("rounds", CheckFields(event.rounds()));
    case v1::Event::kMechanism:
      RETURN_IF_ERROR(Within("mechanism", CheckBytes(event.mechanism())));
      return Within("mechanism", CheckMechanism(event.mechanism()));
    case v1::Event::KIND_NOT_SET:
      break;
  }
  return KindOf(event).status();
}

}  // namespace

absl::Status CheckScheme(const v1::SamplingScheme& m) {
  const uint64_t population = m.population_size();
  RETURN_IF_ERROR(Ordinal("population_size", population));
  switch (m.kind_case()) {
    case v1::SamplingScheme::kPoisson:
      return Within("poisson", CheckFields(m.poisson()));
    case v1::SamplingScheme::kWithoutReplacement:
      RETURN_IF_ERROR(PopulationIsStated(population));
      return Within("without_replacement", CheckFixedSize(m.without_replacement(), population));
    case v1::SamplingScheme::kWithReplacement:
      RETURN_IF_ERROR(PopulationIsStated(population));
      return Within("with_replacement", CheckFixedSize(m.with_replacement(), population));
    case v1::SamplingScheme::kDisjointBatches:
      return Within("disjoint_batches", CheckFields(m.disjoint_batches()));
    case v1::SamplingScheme::kRandomAllocation:
      return Within("random_allocation", CheckFields(m.random_allocation()));
    case v1::SamplingScheme::kTruncatedPoisson:
      RETURN_IF_ERROR(PopulationIsStated(population));
      return Within("truncated_poisson", CheckFields(m.truncated_poisson()));
    case v1::SamplingScheme::kFullBatch:
      return absl::OkStatus();
    case v1::SamplingScheme::KIND_NOT_SET:
      break;
  }
  return KindOf(m).status();
}

absl::Status CheckSumQuery(const v1::SumQuery& m) {
  RETURN_IF_ERROR(Text(0, kMaxGroupName, "group", m.group()));
  RETURN_IF_ERROR(Positive("l2_norm_bound", m.l2_norm_bound()));
  RETURN_IF_ERROR(Positive("noise_stddev", m.noise_stddev()));
  if (!v1::NoiseKind_IsValid(m.noise())) {
    return FieldError("noise",
                      absl::StrCat("enum number ", m.noise(), " is not known to this version"));
  }
  if (m.noise() == v1::ROUNDED_GAUSSIAN) {
    RETURN_IF_ERROR(Positive("grid", m.grid()));
    RETURN_IF_ERROR(WholeDouble("l2_norm_bound", m.l2_norm_bound()));
    RETURN_IF_ERROR(WholeDouble("noise_stddev", m.noise_stddev()));
  } else {
    RETURN_IF_ERROR(Must(m.grid() == 0, "be 0 unless noise is ROUNDED_GAUSSIAN", "grid", m.grid()));
  }
  const double multiplier = m.noise_stddev() / m.l2_norm_bound();
  return Must(multiplier >= kLeastNoise && multiplier <= kGreatestNoise,
              "be 1e-100 to 1e100 times l2_norm_bound, for others have no analysis", "noise_stddev",
              m.noise_stddev());
}

uint64_t RoundsPerEpoch(const v1::SamplingScheme& scheme) {
  switch (scheme.kind_case()) {
    case v1::SamplingScheme::kDisjointBatches:
      return scheme.disjoint_batches().batches_per_epoch();
    case v1::SamplingScheme::kRandomAllocation:
      return scheme.random_allocation().rounds_per_epoch();
    case v1::SamplingScheme::kPoisson:
    case v1::SamplingScheme::kWithoutReplacement:
    case v1::SamplingScheme::kWithReplacement:
    case v1::SamplingScheme::kFullBatch:
    case v1::SamplingScheme::kTruncatedPoisson:
    case v1::SamplingScheme::KIND_NOT_SET:
      break;
  }
  return 1;
}

absl::Status CheckEvent(const v1::Event& event) {
  if (!IsAllKnown(event)) RETURN_IF_ERROR(CheckNoUnknownFields(event));
  return CheckKind(event);
}

}  // namespace dpledger::events
