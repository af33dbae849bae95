#include "ledger/history_table.h"

#include <string>
#include <utility>

#include "events/field_checks.h"
#include "ledger/event_from_proto.h"

namespace dpledger::accountant {
namespace {

using events::Element;
using events::Within;

struct ToScheme {
  v1::SamplingScheme& scheme;
  void operator()(const FullBatch&) const { scheme.mutable_full_batch(); }
  void operator()(const PoissonSampling& poisson) const {
    scheme.mutable_poisson()->set_probability(poisson.probability);
  }
  void operator()(const FixedSizeSampling& fixed) const {
    v1::FixedSize& size = fixed.with_replacement ? *scheme.mutable_with_replacement()
                                                 : *scheme.mutable_without_replacement();
    size.set_sample_size(fixed.sample_size);
  }
  void operator()(const DisjointBatches& batches) const {
    scheme.mutable_disjoint_batches()->set_batches_per_epoch(batches.batches_per_epoch);
    scheme.mutable_disjoint_batches()->set_epoch(batches.epoch);
  }
  void operator()(const RandomAllocation& allocation) const {
    scheme.mutable_random_allocation()->set_rounds_per_epoch(allocation.rounds_per_epoch);
    scheme.mutable_random_allocation()->set_epoch(allocation.epoch);
    if (allocation.contributions > 1)  // else as absent, as in tables of old
      scheme.mutable_random_allocation()->set_contributions(allocation.contributions);
    scheme.mutable_random_allocation()->set_fixed_bins(allocation.fixed_bins);
  }
  void operator()(const TruncatedPoisson& truncated) const {
    scheme.mutable_truncated_poisson()->set_probability(truncated.probability);
    scheme.mutable_truncated_poisson()->set_max_sample_size(truncated.max_sample_size);
  }
};

v1::NoiseKind ToProto(NoiseKind noise) {
  switch (noise) {
    case NoiseKind::kGaussian:
      return v1::GAUSSIAN;
    case NoiseKind::kRoundedGaussian:
      return v1::ROUNDED_GAUSSIAN;
    case NoiseKind::kDiscreteGaussian:
      return v1::DISCRETE_GAUSSIAN;
  }
  return v1::GAUSSIAN;
}

void ToProto(const Round& round, v1::StoredRounds& stored) {
  stored.mutable_scheme()->set_population_size(round.scheme.population_size);
  std::visit(ToScheme{*stored.mutable_scheme()}, round.scheme.kind);
  for (const SumQuery& query : round.queries) {
    v1::SumQuery& proto = *stored.add_queries();
    proto.set_group(query.group);
    proto.set_l2_norm_bound(query.l2_norm_bound);
    proto.set_noise_stddev(query.noise_stddev);
    proto.set_noise(ToProto(query.noise));
    proto.set_grid(query.grid);
  }
}

// Through the events that make such a round, so that one place checks their fields.
absl::StatusOr<Round> FromProto(const v1::StoredRounds& stored) {
  v1::Event event;
  event.mutable_sampling()->set_round(stored.number());
  *event.mutable_sampling()->mutable_scheme() = stored.scheme();
  ASSIGN_OR_RETURN(const Event sampling, EventFromProto(event));
  Round round{std::get<SamplingEvent>(sampling).scheme, {}};
  for (int i = 0; i < stored.queries_size(); ++i) {
    *event.mutable_sum_query()->mutable_query() = stored.queries(i);
    ASSIGN_OR_RETURN(const Event sum, Within(Element("queries", i), EventFromProto(event)));
    round.queries.push_back(std::get<SumQueryEvent>(sum).query);
  }
  return round;
}

}  // namespace

void ToTable(const History& history, v1::StoredHistory& table) {
  table.clear_closed();
  table.clear_open();
  const History::Parts parts = history.ToParts();
  for (const History::CountedRound& counted : parts.closed) {
    v1::StoredRounds& stored = *table.add_closed();
    stored.set_writer(counted.writer);
    stored.set_count(counted.count);
    ToProto(counted.round, stored);
  }
  for (const auto& [writer, open] : parts.open) {
    v1::StoredRounds& stored = *table.add_open();
    stored.set_writer(writer);
    stored.set_number(open.number);
    ToProto(open.round, stored);
  }
}

absl::StatusOr<History> FromTable(const v1::StoredHistory& table,
                                  std::vector<Mechanism> mechanisms) {
  History::Parts parts;
  for (int i = 0; i < table.closed_size(); ++i) {
    const v1::StoredRounds& stored = table.closed(i);
    ASSIGN_OR_RETURN(Round round, Within(Element("closed", i), FromProto(stored)));
    parts.closed.push_back({std::move(round), stored.count(), stored.writer()});
  }
  for (int i = 0; i < table.open_size(); ++i) {
    const v1::StoredRounds& stored = table.open(i);
    ASSIGN_OR_RETURN(Round round, Within(Element("open", i), FromProto(stored)));
    parts.open[stored.writer()] = {stored.number(), std::move(round)};
  }
  parts.mechanisms = std::move(mechanisms);
  History history = History::FromParts(std::move(parts));
  v1::StoredHistory again = table;
  ToTable(history, again);
  if (again.SerializeAsString() != table.SerializeAsString()) {
    return FieldError("closed", "must be spelled as this version writes it");
  }
  return history;
}

}  // namespace dpledger::accountant
