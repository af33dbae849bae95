#include "accountant/mechanism/resolver.h"

#include <cmath>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "accountant/numeric/rounding.h"
#include "accountant/pair/sampling.h"
#include "base/absl_view.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

// Additions: about a second.
constexpr double kGreatestWork = 1e9;

absl::Status TooMany(absl::string_view what) {
  return WithReason(absl::FailedPreconditionError(what), {"COUNT_TOO_LARGE", {}});
}

// The probability that one of `count` records is in a sample.
Interval AnyOf(uint64_t count, Interval q) {
  constexpr double kRounding = 8 * kUnitRoundoff;
  const auto any = [count](double one) {
    return -std::expm1(static_cast<double>(count) * std::log1p(-one));
  };
  return {any(q.lower()) * (1 - kRounding), any(q.upper()) * (1 + kRounding)};
}

// Gathers the Gaussians of a mechanism of Nature::kGaussian.
absl::Status Gather(const Mechanism& mechanism, uint64_t outer_count, JointNoise& noise);

struct Gatherer {
  uint64_t count;
  JointNoise& noise;

  absl::Status operator()(const NoOp&) const { return absl::OkStatus(); }
  absl::Status operator()(const Gaussian& m) const {
    return noise.Add({m.noise_multiplier, m.noise_multiplier}, count);
  }
  absl::Status operator()(const SelfComposed& m) const {
    ASSIGN_OR_RETURN(const uint64_t inner, MultiplyCounts(m.count, count));
    return Gather(m.event.front(), inner, noise);
  }
  absl::Status operator()(const Composed& m) const {
    for (const Mechanism& event : m.events) RETURN_IF_ERROR(Gather(event, count, noise));
    return absl::OkStatus();
  }
  template <typename Kind>
  requires(Kind::kNature != Nature::kGaussian) absl::Status operator()(const Kind&) const {
    return absl::InternalError("more than Gaussians");
  }
};

absl::Status Gather(const Mechanism& mechanism, uint64_t outer_count, JointNoise& noise) {
  ASSIGN_OR_RETURN(const uint64_t count, MultiplyCounts(mechanism.count, outer_count));
  return std::visit(Gatherer{count, noise}, mechanism.kind);
}

}  // namespace

absl::StatusOr<uint64_t> MultiplyCounts(uint64_t a, uint64_t b) {
  if (a != 0 && b > kGreatestCount / a)
    return TooMany("the nested counts of a mechanism multiply to more than 2^53");
  return a * b;
}

Interval ShareOf(uint64_t sample_size, uint64_t population) {
  if (sample_size == population) return {1, 1};
  return Quotient(static_cast<double>(sample_size), static_cast<double>(population));
}

std::string PairKey(std::string_view name, std::initializer_list<uint64_t> whole, Interval z) {
  std::string key(name);
  for (const uint64_t value : whole) absl::StrAppend(&key, " ", value);
  absl::StrAppend(&key, " ", absl::Hex(std::bit_cast<uint64_t>(z.lower())), " ",
                  absl::Hex(std::bit_cast<uint64_t>(z.upper())));
  return key;
}

Resolver::Resolver(const Neighbours& neighbours) : neighbours_(neighbours) {
  composition_.adjacency = neighbours.adjacency;
}

absl::Status Resolver::AddCount(uint64_t count, uint64_t& total) {
  if (count > kGreatestCount - total) return TooMany("more than 2^53 equal rounds");
  total += count;
  return absl::OkStatus();
}

Composition Resolver::Finish() && {
  for (const auto& [key, count] : gaussians_) {
    composition_.steps.push_back({std::get<0>(key), {std::get<1>(key), std::get<2>(key)}, count});
  }
  for (const auto& [key, count] : allocations_) {
    const auto& [rounds, missing, z_lower, z_upper, grows] = key;
    const double factor = replaces() ? 2 : 1;  // exact
    composition_.allocations.push_back(
        {rounds, {z_lower / factor, z_upper / factor}, count, missing, grows, replaces()});
  }
  return std::move(composition_);
}

absl::Status Resolver::NoAnalysis(std::string_view what) const {
  const std::string subject(what), adjacency = AdjacencyName(neighbours_.adjacency);
  const std::string group =
      neighbours_.group_size == 1
          ? ""
          : absl::StrCat(" for groups of ", neighbours_.group_size, " records");
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(subject, ": no analysis under ", adjacency, group,
                                                 "; it is refused, not approximated")),
      {"NO_ANALYSIS", {{"subject", subject}, {"adjacency", adjacency}}});
}

absl::Status Resolver::OnlyAsDeclared(std::string_view what) const {
  if (neighbours_.adjacency == neighbours_.declared) return OnlySingleRecords(what);
  return NoAnalysis(absl::StrCat(ToAbsl(what), ", which holds under ",
                                 AdjacencyName(neighbours_.declared), " as declared"));
}

absl::Status Resolver::OnlySingleRecords(std::string_view what) const {
  return neighbours_.group_size == 1 ? absl::OkStatus() : NoAnalysis(what);
}

Interval Resolver::Distance(Interval z) const {
  const double factor = static_cast<double>(neighbours_.group_size) * (replaces() ? 2 : 1);
  const Interval least = Quotient(factor, z.upper()), greatest = Quotient(factor, z.lower());
  return {least.lower(), greatest.upper()};
}

Interval Resolver::Apart(Interval z) {
  return {Quotient(2, z.upper()).lower(), Quotient(2, z.lower()).upper()};
}

absl::Status Resolver::AddUnsampled(Interval z, uint64_t count) {
  const double factor = static_cast<double>(neighbours_.group_size) * (replaces() ? 2 : 1);
  return AddCount(
      count,
      gaussians_[{1, Quotient(z.lower(), factor).lower(), Quotient(z.upper(), factor).upper()}]);
}

absl::Status Resolver::AddPoisson(Interval q, Interval z, uint64_t count) {
  if (q.lower() >= 1) return AddUnsampled(z, count);
  const bool alone = !replaces() && neighbours_.group_size == 1;
  if (alone && q.lower() == q.upper()) {
    return AddCount(count, gaussians_[{q.lower(), z.lower(), z.upper()}]);
  }
  const double more = std::fmin(1, q.upper()), less = q.lower();
  const Interval one = {Quotient(1, z.upper()).lower(), Quotient(1, z.lower()).upper()};
  const std::string key =
      PairKey("poisson", {std::bit_cast<uint64_t>(more), std::bit_cast<uint64_t>(less)}, z);
  if (replaces()) {
    RETURN_IF_ERROR(OnlySingleRecords("Poisson-sampled Gaussian"));
    RETURN_IF_ERROR(AddPair(key, OpposedGaussianPair(more, one.upper(), one.upper()),
                            OpposedGaussianPair(less, one.lower(), one.lower()), count));
    if (less > 0 && more < 1) PairAt(key).on_sample = {{less, more}, z.upper(), true};
    return absl::OkStatus();
  }
  if (alone) {
    RETURN_IF_ERROR(AddPair(key, SampledGaussianPair(more, one.upper()),
                            less > 0 ? SampledGaussianPair(less, one.lower()) : Pair::Nothing(),
                            count));
    if (less > 0) PairAt(key).sampled = {{less, more}, z};
    if (less > 0 && more < 1) PairAt(key).on_sample = {{less, more}, z.upper(), false};
    return absl::OkStatus();
  }
  const uint64_t k = neighbours_.group_size;
  RETURN_IF_ERROR(AddPair(key, GroupSampledGaussianPair(k, more, one.upper(), Bound::kUpper),
                          GroupSampledGaussianPair(k, less, one.lower(), Bound::kLower), count));
  const Interval any = AnyOf(k, {less, more});
  if (any.lower() > 0 && any.upper() < 1) PairAt(key).on_sample = {any, z.upper(), false};
  return absl::OkStatus();
}

absl::Status Resolver::AddPair(const std::string& key, Pair upper, Pair lower, uint64_t count,
                               std::optional<RenyiBound> renyi,
                               std::optional<FixedSizeRound> fixed_size) {
  const auto [it, is_new] = pairs_.try_emplace(key, composition_.pairs.size());
  if (is_new) {
    composition_.pairs.push_back(
        {std::move(upper), std::move(lower), std::move(renyi), 0, fixed_size});
  }
  return AddCount(count, composition_.pairs[it->second].count);
}

absl::Status Resolver::SpendWork(double additions, std::string_view refusal) {
  work_ += additions;
  if (work_ <= kGreatestWork) return absl::OkStatus();
  return WithReason(absl::ResourceExhaustedError(ToAbsl(refusal)), {"QUERY_TOO_LARGE", {}});
}

bool Resolver::LeavesHalfOfTheWork(double additions) const {
  return work_ + additions <= kGreatestWork / 2;
}

absl::Status Resolver::AddCurve(RenyiBound bound, uint64_t count, double rho) {
  composition_.curves.push_back({std::move(bound), count, rho});
  return absl::OkStatus();
}

absl::Status Resolver::AddSampledCurve(SampleOf kind, Interval share, const Concentrated& whole,
                                       uint64_t count) {
  if (share.upper() <= 0) return absl::OkStatus();
  if (share.lower() >= 1) return AddCurve(whole.above, count, whole.rho);
  composition_.curves.push_back(
      {SampledCurve(kind, share.upper(), whole.above), count, whole.rho, share.lower()});
  return absl::OkStatus();
}

// ---- Trees ----

absl::Status Resolver::AddMechanism(const Mechanism& mechanism, uint64_t outer_count) {
  ASSIGN_OR_RETURN(const uint64_t count, MultiplyCounts(mechanism.count, outer_count));
  return std::visit([&](const auto& kind) { return kind.AddTo(*this, count); }, mechanism.kind);
}

absl::Status SelfComposed::AddTo(Resolver& resolver, uint64_t outer_count) const {
  ASSIGN_OR_RETURN(const uint64_t inner, MultiplyCounts(count, outer_count));
  return resolver.AddMechanism(event.front(), inner);
}

absl::Status Composed::AddTo(Resolver& resolver, uint64_t count) const {
  for (const Mechanism& part : events) RETURN_IF_ERROR(resolver.AddMechanism(part, count));
  return absl::OkStatus();
}

absl::StatusOr<JointNoise> Resolver::GaussiansOf(const Mechanism& mechanism,
                                                 std::string_view around) {
  if (NatureOf(mechanism) != Nature::kGaussian) {
    return NoAnalysis(absl::StrCat("mechanism ", ToAbsl(around), " of anything but Gaussians"));
  }
  JointNoise noise;
  RETURN_IF_ERROR(Gather(mechanism, 1, noise));
  if (!noise.empty()) Assume(NoiseKind::kGaussian);
  return noise;
}

void Resolver::Assume(NoiseKind noise) {
  composition_.assumptions.insert(noise == NoiseKind::kGaussian ? kFloatingPointNoise
                                                                : kGeneratedNoise);
}

absl::StatusOr<Composition> Resolver::Alone(const Mechanism& part) {
  Resolver below(neighbours_);
  RETURN_IF_ERROR(below.AddMechanism(part, 1));
  Composition alone = std::move(below).Finish();
  composition_.assumptions.merge(alone.assumptions);
  composition_.warnings.merge(alone.warnings);
  return alone;
}

absl::Status PoissonSampled::AddTo(Resolver& resolver, uint64_t count) const {
  const Mechanism& part = event.front();
  const double q = sampling_probability;
  resolver.composition().schemes.insert("poisson");
  const Nature nature = NatureOf(part);
  if (nature == Nature::kGaussian) {
    // Several Gaussian mechanisms on one sample are one Gaussian mechanism on it.
    ASSIGN_OR_RETURN(const JointNoise noise, resolver.GaussiansOf(part, "poisson_sampled"));
    return noise.empty() ? absl::OkStatus() : resolver.AddPoisson(q, noise.multiplier(), count);
  }
  const std::string_view what = "mechanism poisson_sampled of anything but Gaussians";
  if (resolver.replaces()) return resolver.NoAnalysis(what);
  RETURN_IF_ERROR(resolver.OnlySingleRecords(what));
  if (nature == Nature::kOfAPopulation) {
    return resolver.NoAnalysis(
        "mechanism poisson_sampled of what depends on the number of records");
  }
  ASSIGN_OR_RETURN(const Composition inner, resolver.Alone(part));
  if (inner.Empty()) return absl::OkStatus();
  const bool added = resolver.neighbours().adjacency == Adjacency::kAddOrRemoveOne;
  const std::string key = absl::StrCat("sampled ", resolver.composition().pairs.size());
  const std::string_view no_sum = "mechanism poisson_sampled of what is not noise on one sum";
  if (inner.non_private && inner.TotalCount() == 0) {
    if (!added) return resolver.NoAnalysis(no_sum);
    return resolver.AddPair(key, PoissonSampledPair(q, Everything()), Pair::Nothing(), count);
  }
  // A sample with a null record is like one without it only for sums.
  const bool refused = !added && nature > Nature::kNoiseOnASum;
  if (const auto whole = AsConcentrated(inner); whole.has_value()) {
    if (refused) return resolver.NoAnalysis(no_sum);
    return resolver.AddSampledCurve(SampleOf::kPoisson, {q, q}, *whole, count);
  }
  if (inner.non_private || !inner.curves.empty() || !inner.allocations.empty()) {
    return resolver.NoAnalysis("mechanism poisson_sampled of what has no distribution of its loss");
  }
  if (refused) return resolver.NoAnalysis(no_sum);
  if (!inner.steps.empty() && nature == Nature::kOther) {
    return resolver.NoAnalysis(
        "mechanism poisson_sampled of Gaussians beside what is not noise on one sum");
  }
  if (inner.TotalCount() > 1) {
    if (q == 1) return resolver.AddMechanism(part, count);
    return resolver.AddCurve(SampledRun{std::make_shared<const Composition>(inner), q}, count);
  }
  if (!inner.steps.empty()) {
    // A sample of a sample: what a record's absence from the outer one does to the inner mechanism
    // is what its absence from the inner one does.
    const SampledGaussian& step = inner.steps.front();
    return resolver.AddPoisson(
        Interval{MulDown(q, step.sampling_probability), MulUp(q, step.sampling_probability)},
        step.noise_multiplier, count);
  }
  const PairStep& whole = inner.pairs.front();
  RETURN_IF_ERROR(resolver.AddPair(key, PoissonSampledPair(q, whole.upper),
                                   PoissonSampledPair(q, whole.lower), count));
  if (whole.never_fails.has_value()) {
    if (const auto* bound = std::get_if<ZeroConcentrated>(&*whole.never_fails))
      resolver.PairAt(key).never_fails = SampledCurve(SampleOf::kPoisson, q, *bound);
  }
  if (whole.choice.has_value()) {
    TwoCandidates& choice = resolver.PairAt(key).choice.emplace(*whole.choice);
    choice.sampled = MulDown(choice.sampled, q);
  }
  return absl::OkStatus();
}

absl::Status SampledWithoutReplacement::AddTo(Resolver& resolver, uint64_t count) const {
  const Nature nature = NatureOf(event.front());
  if (resolver.replaces() && (nature == Nature::kNoiseOnASum || nature == Nature::kOther)) {
    RETURN_IF_ERROR(resolver.OnlySingleRecords("sampled_without_replacement"));
    ASSIGN_OR_RETURN(const Composition inner, resolver.Alone(event.front()));
    if (const auto whole = AsConcentrated(inner)) {
      resolver.composition().schemes.insert(WithoutReplacement::kName);
      return resolver.AddSampledCurve(SampleOf::kFixedSize,
                                      ShareOf(sample_size, source_dataset_size), *whole, count);
    }
  }
  ASSIGN_OR_RETURN(const JointNoise noise,
                   resolver.GaussiansOf(event.front(), "sampled_without_replacement"));
  if (noise.empty()) return absl::OkStatus();
  return resolver.AddGaussian({source_dataset_size, WithoutReplacement{sample_size}},
                              noise.multiplier(), count, "");
}

absl::Status SampledWithReplacement::AddTo(Resolver& resolver, uint64_t count) const {
  ASSIGN_OR_RETURN(const JointNoise noise,
                   resolver.GaussiansOf(event.front(), "sampled_with_replacement"));
  if (noise.empty()) return absl::OkStatus();
  return resolver.AddGaussian({source_dataset_size, WithReplacement{sample_size}},
                              noise.multiplier(), count, "");
}

absl::Status RepeatAndSelect::AddTo(Resolver& resolver, uint64_t count) const {
  if (mean == 1 && std::isfinite(shape)) return resolver.AddMechanism(event.front(), count);
  ASSIGN_OR_RETURN(Composition run, resolver.Alone(event.front()));
  resolver.composition().schemes.insert(run.schemes.begin(), run.schemes.end());
  resolver.composition().assumptions.insert(
      "repeat_and_select: runs are independent and have one law, their number is drawn as stated "
      "and kept secret, and only the best run's result is released");
  if (run.non_private) {
    resolver.composition().non_private = true;
    return absl::OkStatus();
  }
  if (run.Empty()) return absl::OkStatus();
  return resolver.AddCurve(BestOf{std::make_shared<const Composition>(std::move(run)), shape, mean},
                           count);
}

}  // namespace dpledger::accountant
