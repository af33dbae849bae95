#include "accountant/from_proto/event_from_proto.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "accountant/from_proto/field_checks.h"
#include "accountant/from_proto/mechanism_from_proto.h"
#include "accountant/from_proto/unknown_fields.h"

namespace dpledger::accountant {
namespace {

constexpr size_t kMaxGroupName = 256;

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
  return HasNoUnknownFields(m) && m.has_scheme() && IsAllKnown(m.scheme());
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

absl::StatusOr<FixedSizeSampling> Convert(const v1::FixedSize& m, uint64_t population,
                                          bool with_replacement) {
  RETURN_IF_ERROR(WholeIn(1, population, "sample_size", m.sample_size()));
  return FixedSizeSampling{m.sample_size(), with_replacement};
}
absl::StatusOr<PoissonSampling> Convert(const v1::Poisson& m) {
  RETURN_IF_ERROR(SamplingProbability("probability", m.probability()));
  return PoissonSampling{m.probability()};
}
absl::StatusOr<DisjointBatches> Convert(const v1::DisjointBatches& m) {
  RETURN_IF_ERROR(Count("batches_per_epoch", m.batches_per_epoch()));
  RETURN_IF_ERROR(Ordinal("epoch", m.epoch()));
  return DisjointBatches{m.batches_per_epoch(), m.epoch()};
}
absl::StatusOr<RandomAllocation> Convert(const v1::RandomAllocation& m) {
  RETURN_IF_ERROR(Count("rounds_per_epoch", m.rounds_per_epoch()));
  RETURN_IF_ERROR(Ordinal("epoch", m.epoch()));
  return RandomAllocation{m.rounds_per_epoch(), m.epoch()};
}
absl::StatusOr<TruncatedPoisson> Convert(const v1::TruncatedPoisson& m) {
  RETURN_IF_ERROR(SamplingProbability("probability", m.probability()));
  RETURN_IF_ERROR(Count("max_sample_size", m.max_sample_size()));
  return TruncatedPoisson{m.probability(), m.max_sample_size()};
}

absl::StatusOr<SamplingScheme> Convert(const v1::SamplingScheme& m) {
  if (m.kind_case() == v1::SamplingScheme::KIND_NOT_SET) return KindOf(m).status();
  const uint64_t population = m.population_size();
  RETURN_IF_ERROR(Ordinal("population_size", population));

  SamplingScheme scheme{population, FullBatch{}};
  switch (m.kind_case()) {
    case v1::SamplingScheme::kPoisson: {
      ASSIGN_OR_RETURN(scheme.kind, Within("poisson", Convert(m.poisson())));
      break;
    }
    case v1::SamplingScheme::kWithoutReplacement: {
      RETURN_IF_ERROR(PopulationIsStated(population));
      ASSIGN_OR_RETURN(scheme.kind, Within("without_replacement",
                                           Convert(m.without_replacement(), population, false)));
      break;
    }
    case v1::SamplingScheme::kWithReplacement: {
      RETURN_IF_ERROR(PopulationIsStated(population));
      ASSIGN_OR_RETURN(scheme.kind,
                       Within("with_replacement", Convert(m.with_replacement(), population, true)));
      break;
    }
    case v1::SamplingScheme::kDisjointBatches: {
      ASSIGN_OR_RETURN(scheme.kind, Within("disjoint_batches", Convert(m.disjoint_batches())));
      break;
    }
    case v1::SamplingScheme::kRandomAllocation: {
      ASSIGN_OR_RETURN(scheme.kind, Within("random_allocation", Convert(m.random_allocation())));
      break;
    }
    case v1::SamplingScheme::kTruncatedPoisson: {
      RETURN_IF_ERROR(PopulationIsStated(population));
      ASSIGN_OR_RETURN(scheme.kind, Within("truncated_poisson", Convert(m.truncated_poisson())));
      break;
    }
    case v1::SamplingScheme::kFullBatch:
    case v1::SamplingScheme::KIND_NOT_SET:  // refused above
      break;
  }
  return scheme;
}

template <typename Message>
absl::StatusOr<SamplingScheme> SchemeOf(const Message& m) {
  RETURN_IF_ERROR(MustBeSet(m.has_scheme(), "scheme"));
  return Within("scheme", Convert(m.scheme()));
}

// ---- Sum queries and rounds ----

absl::StatusOr<NoiseKind> Convert(v1::NoiseKind noise) {
  switch (noise) {
    case v1::GAUSSIAN:
      return NoiseKind::kGaussian;
    case v1::ROUNDED_GAUSSIAN:
      return NoiseKind::kRoundedGaussian;
    case v1::DISCRETE_GAUSSIAN:
      return NoiseKind::kDiscreteGaussian;
    default:
      return FieldError("noise", absl::StrCat("enum number ", noise, " is not known"));
  }
}

absl::StatusOr<SumQuery> Convert(const v1::SumQuery& m) {
  RETURN_IF_ERROR(Text(0, kMaxGroupName, "group", m.group()));
  RETURN_IF_ERROR(Positive("l2_norm_bound", m.l2_norm_bound()));
  RETURN_IF_ERROR(Positive("noise_stddev", m.noise_stddev()));
  ASSIGN_OR_RETURN(const NoiseKind noise, Convert(m.noise()));
  if (noise == NoiseKind::kRoundedGaussian) {
    RETURN_IF_ERROR(Positive("grid", m.grid()));
    RETURN_IF_ERROR(WholeDouble("l2_norm_bound", m.l2_norm_bound()));
    RETURN_IF_ERROR(WholeDouble("noise_stddev", m.noise_stddev()));
  } else {
    RETURN_IF_ERROR(Must(m.grid() == 0, "be 0 unless noise is ROUNDED_GAUSSIAN", "grid", m.grid()));
  }
  return SumQuery{m.group(), m.l2_norm_bound(), m.noise_stddev(), noise, m.grid()};
}

absl::StatusOr<Event> Convert(const v1::SamplingEvent& m) {
  RETURN_IF_ERROR(Ordinal("round", m.round()));
  ASSIGN_OR_RETURN(SamplingScheme scheme, SchemeOf(m));
  return SamplingEvent{m.round(), std::move(scheme)};
}

absl::StatusOr<Event> Convert(const v1::SumQueryEvent& m) {
  RETURN_IF_ERROR(Ordinal("round", m.round()));
  RETURN_IF_ERROR(MustBeSet(m.has_query(), "query"));
  ASSIGN_OR_RETURN(SumQuery query, Within("query", Convert(m.query())));
  return SumQueryEvent{m.round(), std::move(query)};
}

// Rounds of one epoch depend on each other: the unit of account is the epoch.
struct RoundsPerEpoch {
  uint64_t operator()(const DisjointBatches& batches) const { return batches.batches_per_epoch; }
  uint64_t operator()(const RandomAllocation& rounds) const { return rounds.rounds_per_epoch; }
  template <typename Independent>
  uint64_t operator()(const Independent&) const {
    return 1;
  }
};

absl::StatusOr<Event> Convert(const v1::RoundsEvent& m) {
  ASSIGN_OR_RETURN(SamplingScheme scheme, SchemeOf(m));
  Round round{std::move(scheme), {}};
  RETURN_IF_ERROR(NotEmpty("queries", m.queries_size()));
  for (int i = 0; i < m.queries_size(); ++i) {
    ASSIGN_OR_RETURN(SumQuery query, Within(Element("queries", i), Convert(m.queries(i))));
    round.queries.push_back(std::move(query));
  }
  RETURN_IF_ERROR(Count("count", m.count()));
  const uint64_t per_epoch = std::visit(RoundsPerEpoch{}, round.scheme.kind);
  if (m.count() % per_epoch != 0) {
    return FieldError("count", absl::StrCat("must be a multiple of the epoch's ", per_epoch,
                                            " rounds, got ", m.count()));
  }
  return RoundsEvent{std::move(round), m.count()};
}

absl::StatusOr<Event> Convert(const v1::MechanismEvent& m) {
  ASSIGN_OR_RETURN(Mechanism mechanism, MechanismFromProto(m));
  return mechanism;
}

}  // namespace

absl::StatusOr<Event> EventFromProto(const v1::Event& event) {
  if (!IsAllKnown(event)) RETURN_IF_ERROR(CheckNoUnknownFields(event));
  switch (event.kind_case()) {
    case v1::Event::kSampling:
      return Within("sampling", Convert(event.sampling()));
    case v1::Event::kSumQuery:
      return Within("sum_query", Convert(event.sum_query()));
    case v1::Event::kRounds:
      return Within("rounds", Convert(event.rounds()));
    case v1::Event::kMechanism:
      return Within("mechanism", Convert(event.mechanism()));
    case v1::Event::KIND_NOT_SET:
      break;
  }
  return KindOf(event).status();
}

}  // namespace dpledger::accountant
