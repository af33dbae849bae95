#include "certify/steps.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "base/value_rules.h"
#include "certify/laws.h"

namespace dpledger::certify {
namespace {

constexpr int kMostLevels = 32;
constexpr uint64_t kMostAtoms = 4096;
constexpr size_t kMostAtomsOfAll = 8192;
constexpr double kGreatestSigma = 2000;  // of discrete noise of one dimension

using rules::Within;

// How often an event at this depth of the tree runs, among `runs` of everything around it.
absl::StatusOr<double> RunsOf(const v1::MechanismEvent& event, double runs, int level) {
  if (level > kMostLevels) return FieldError("event", "must be at most 32 levels deep");
  for (const auto& [field, count] :
       {std::pair("count", event.has_count() ? event.count() : 1),
        {"self_composed.count", event.has_self_composed() ? event.self_composed().count() : 1}}) {
    RETURN_IF_ERROR(rules::Count(field, count));
    if (count > static_cast<uint64_t>(kMostRuns) / static_cast<uint64_t>(runs))
      return Unknown("more than 2^53 runs");
    runs *= static_cast<double>(count);
  }
  return runs;
}

}  // namespace

absl::Status Unknown(std::string_view what) {
  return absl::UnimplementedError(absl::StrCat(ToAbsl(what), ": not covered by this checker"));
}

absl::Status Steps::AddPair(Pair pair, v1::MechanismEvent event, double count) {
  event.clear_count();
  const auto [known, added] = places_.try_emplace(event.SerializeAsString(), above_.pairs.size());
  if (added) {
    atoms_ += pair.remove.atoms.size();
    if (IsBoundAlone(event)) above_alone_.insert(above_.pairs.size());
    above_.pairs.push_back(std::move(pair));
  }
  if (above_.pairs.size() > kMostKinds || atoms_ > kMostAtomsOfAll)
    return Unknown("more than 64 pairs, or 8192 outcomes of all of them");
  return AddRuns(count, above_.pairs[known->second].count);
}

void Steps::AddCurve(Curve curve, const Ball& rho, double count) {
  curve.count = count;
  above_.curves.push_back(std::move(curve));
  below_variance_ = below_variance_ + Ball(2.0) * rho * count;
}

absl::Status Steps::Mechanism(const v1::MechanismEvent& event, double runs, int level) {
  ASSIGN_OR_RETURN(const double count, RunsOf(event, runs, level));
  switch (event.kind_case()) {
    case v1::MechanismEvent::kComposed:
      RETURN_IF_ERROR(rules::NotEmpty("composed.events", event.composed().events_size()));
      for (int i = 0; i < event.composed().events_size(); ++i) {
        RETURN_IF_ERROR(Within(rules::Element("composed.events", i),
                               Mechanism(event.composed().events(i), count, level + 1)));
      }
      return absl::OkStatus();
    case v1::MechanismEvent::kSelfComposed:
      return Within("self_composed.event",
                    Mechanism(event.self_composed().event(), count, level + 1));
    case v1::MechanismEvent::kPoissonSampled: {
      Ball q = 1.0;
      ASSIGN_OR_RETURN(const Ball square, SampledSquare(event.poisson_sampled(), q, level));
      return AddGaussian(square, Sampling{q}, count);
    }
    case v1::MechanismEvent::kGaussian:
    case v1::MechanismEvent::kMatrixMechanism: {
      ASSIGN_OR_RETURN(const Ball square, OneSquare(event));
      return AddGaussian(square, {}, count);
    }
    case v1::MechanismEvent::kNoOp:
      return absl::OkStatus();
    case v1::MechanismEvent::kNonPrivate:
      return AddPair(Everything(), event, count);
    case v1::MechanismEvent::kZcdp:
      return Within("zcdp", Zcdp(event.zcdp(), count));
    case v1::MechanismEvent::kRenyiCurve:
      return Within("renyi_curve", Renyi(event.renyi_curve(), count));
    case v1::MechanismEvent::kDiscreteGaussian:
      return Within("discrete_gaussian", DiscreteGaussian(event.discrete_gaussian(), count));
    case v1::MechanismEvent::kSingleEpochTreeAggregation:
      return Within("single_epoch_tree_aggregation",
                    Tree(event.single_epoch_tree_aggregation(), count));
    case v1::MechanismEvent::KIND_NOT_SET:
      return FieldError("kind", "must be set");
    default:
      return WithPair(event, count);
  }
}

absl::StatusOr<Ball> Steps::OneSquare(const v1::MechanismEvent& event) const {
  if (event.has_matrix_mechanism()) {
    const v1::MatrixMechanism& matrix = event.matrix_mechanism();
    if (matrix.encoder_case() != v1::MatrixMechanism::kSensitivity)
      return Unknown("a matrix mechanism without a stated sensitivity");
    v1::SumQuery query;  // the same three numbers
    query.set_l2_norm_bound(matrix.sensitivity());
    query.set_noise_stddev(matrix.noise_stddev());
    query.set_noise(matrix.noise());
    return Within("matrix_mechanism", Square(query));
  }
  const double noise = event.gaussian().noise_multiplier();
  RETURN_IF_ERROR(rules::Positive("gaussian.noise_multiplier", noise));
  const Ball mu = Ball(1.0) / noise;
  return mu * mu;
}

absl::StatusOr<Ball> Steps::SampledSquare(const v1::PoissonSampled& sampled, Ball& q,
                                          int level) const {
  const double own = sampled.sampling_probability();
  RETURN_IF_ERROR(rules::SamplingProbability("poisson_sampled.sampling_probability", own));
  q = q * own;
  if (sampled.event().has_poisson_sampled() && !replaced()) {
    if (level >= kMostLevels) return FieldError("event", "must be at most 32 levels deep");
    if (sampled.event().has_count() && sampled.event().count() != 1)
      return Unknown("several samples of one sample");
    return SampledSquare(sampled.event().poisson_sampled(), q, level + 1);
  }
  return Within("poisson_sampled.event", JointSquare(sampled.event(), 1, level + 1));
}

absl::StatusOr<Ball> Steps::JointSquare(const v1::MechanismEvent& event, double runs,
                                        int level) const {
  ASSIGN_OR_RETURN(const double count, RunsOf(event, runs, level));
  if (event.has_self_composed())
    return JointSquare(event.self_composed().event(), count, level + 1);
  if (event.has_composed()) {
    RETURN_IF_ERROR(rules::NotEmpty("composed.events", event.composed().events_size()));
    Ball sum = 0.0;
    for (const v1::MechanismEvent& part : event.composed().events()) {
      ASSIGN_OR_RETURN(const Ball square, JointSquare(part, count, level + 1));
      sum = sum + square;
    }
    return sum;
  }
  if (!event.has_gaussian() && !event.has_matrix_mechanism())
    return Unknown("a Poisson sample of anything but Gaussians");
  ASSIGN_OR_RETURN(const Ball square, OneSquare(event));
  return square * count;
}

absl::Status Steps::Zcdp(const v1::ZCDp& zcdp, double count) {
  RETURN_IF_ERROR(rules::NonNegative("rho", zcdp.rho()));
  RETURN_IF_ERROR(rules::NonNegative("xi", zcdp.xi()));
  if (to_.group_size > 1) return Unknown("zcdp for groups of records");
  AddCurve({zcdp.xi(), zcdp.rho(), {}, {}, 0}, zcdp.rho(), count);
  return absl::OkStatus();
}

absl::Status Steps::Renyi(const v1::RenyiCurve& curve, double count) {
  RETURN_IF_ERROR(rules::NotEmpty("orders", curve.orders_size()));
  RETURN_IF_ERROR(rules::AsMany("epsilons", static_cast<size_t>(curve.epsilons_size()), "orders",
                                static_cast<size_t>(curve.orders_size())));
  if (to_.group_size > 1) return Unknown("renyi_curve for groups of records");
  Curve read = {0.0, 0.0, {}, {}, 0};
  Ball rho = HUGE_VAL;
  for (int i = 0; i < curve.orders_size(); ++i) {
    const double last = i == 0 ? 1 : curve.orders(i - 1);
    RETURN_IF_ERROR(rules::GreaterThan(last, rules::Element("orders", i), curve.orders(i)));
    RETURN_IF_ERROR(rules::NonNegativeOrInfinite(rules::Element("epsilons", i), curve.epsilons(i)));
    read.orders.push_back(curve.orders(i)), read.epsilons.push_back(curve.epsilons(i));
    rho = Min(rho, Ball(curve.epsilons(i)) / curve.orders(i));
  }
  if (!rho.IsFinite()) return Unknown("a Rényi curve that is infinite");
  AddCurve(std::move(read), rho, count);
  return absl::OkStatus();
}

absl::Status Steps::DiscreteGaussian(const v1::DiscreteGaussian& noise, double count) {
  RETURN_IF_ERROR(rules::Positive("sigma", noise.sigma()));
  RETURN_IF_ERROR(rules::WholeIn(1, rules::kMaxWhole, "sensitivity", noise.sensitivity()));
  if (noise.has_dimension())
    RETURN_IF_ERROR(rules::WholeIn(1, rules::kMaxWhole, "dimension", noise.dimension()));
  const double whole = static_cast<double>(noise.sensitivity()) * Times();
  if (noise.dimension() == 1) {
    if (noise.sigma() > kGreatestSigma || whole > kGreatestSigma * std::fmin(1, noise.sigma()))
      return Unknown("discrete_gaussian of one dimension with σ, or distance over σ, above 2000");
    const auto distance = static_cast<uint64_t>(whole);
    const std::string name =
        absl::StrCat("discrete ", distance, " ", Ball(noise.sigma()).Exactly());
    return AddEnclosed(name, count, [&] {
      return absl::StatusOr<Enclosed>(DiscreteGaussianPair(noise.sigma(), distance));
    });
  }
  const Ball distance = Ball(whole) / noise.sigma();
  AddCurve({0.0, distance * distance / 2.0, {}, {}, 0}, 0.0, count);
  return absl::OkStatus();
}

absl::Status Steps::Tree(const v1::SingleEpochTreeAggregation& tree, double count) {
  RETURN_IF_ERROR(rules::Positive("noise_multiplier", tree.noise_multiplier()));
  RETURN_IF_ERROR(rules::NotEmpty("step_counts", tree.step_counts_size()));
  if (to_.adjacency == v1::ADD_OR_REMOVE_ONE || to_.group_size > 1)
    return Unknown("single_epoch_tree_aggregation under add-or-remove or for groups");
  uint64_t most = 0;
  for (int i = 0; i < tree.step_counts_size(); ++i) {
    RETURN_IF_ERROR(rules::Count(rules::Element("step_counts", i), tree.step_counts(i)));
    most = std::max<uint64_t>(most, tree.step_counts(i));
  }
  const Ball mu = Ball(1.0) / tree.noise_multiplier();
  return AddGaussian(mu * mu * static_cast<double>(std::bit_width(most)), {}, count);
}

bool Steps::IsBoundAlone(const v1::MechanismEvent& event) {
  return event.has_sparse_vector() || event.has_exponential_mechanism() ||
         event.has_permute_and_flip() || event.has_report_noisy_max();
}

absl::StatusOr<Pair> Steps::BoundOf(const v1::MechanismEvent& event) const {
  if (event.has_sparse_vector()) {
    ASSIGN_OR_RETURN(const Ball epsilon, SparseVector(event.sparse_vector()));
    return EpsilonDeltaPair(epsilon, 0.0);
  }
  if (event.has_report_noisy_max()) {
    const v1::ReportNoisyMax& choice = event.report_noisy_max();
    RETURN_IF_ERROR(rules::Positive("noise_multiplier", choice.noise_multiplier()));
    const Ball epsilon = Ball((choice.monotonic() ? 1 : 2) * Times()) / choice.noise_multiplier();
    if (choice.noise() == v1::GUMBEL_NOISE) return BoundedRangePair(epsilon);
    if (choice.noise() == v1::LAPLACE_NOISE || choice.noise() == v1::EXPONENTIAL_NOISE)
      return LaplacePair(epsilon);
    return FieldError("noise", "must be one of NoisyMaxNoise");
  }
  if (to_.group_size > 1) return Unknown("choices for groups of records");
  const bool ranged = event.has_exponential_mechanism();
  const double epsilon =
      ranged ? event.exponential_mechanism().epsilon() : event.permute_and_flip().epsilon();
  RETURN_IF_ERROR(rules::NonNegative("epsilon", epsilon));
  if (epsilon == 0) return EpsilonDeltaPair(0.0, 0.0);
  return ranged ? BoundedRangePair(epsilon) : LaplacePair(epsilon);
}

absl::StatusOr<Ball> Steps::SparseVector(const v1::SparseVector& sparse) const {
  RETURN_IF_ERROR(rules::Positive("threshold_noise", sparse.threshold_noise()));
  RETURN_IF_ERROR(rules::Positive("query_noise", sparse.query_noise()));
  RETURN_IF_ERROR(rules::Count("cutoff", sparse.cutoff()));
  Ball answers;
  arb_set_ui(answers.get(), sparse.cutoff());
  const Ball ways = answers * (sparse.monotonic() ? 1.0 : 2.0);
  return Ball(Times()) / sparse.threshold_noise() + ways * Times() / sparse.query_noise();
}

absl::Status Steps::WithPair(const v1::MechanismEvent& event, double count) {
  const auto* kind = event.GetReflection()->GetOneofFieldDescriptor(
      event, event.GetDescriptor()->FindOneofByName("kind"));
  const std::string name = kind->name();
  if (event.has_laplace()) {
    const double noise = event.laplace().noise_multiplier();
    RETURN_IF_ERROR(Within(name, rules::Positive("noise_multiplier", noise)));
    return AddPair(LaplacePair(Ball(Times()) / noise), event, count);
  }
  if (event.has_discrete_laplace()) {
    const v1::DiscreteLaplace& noise = event.discrete_laplace();
    RETURN_IF_ERROR(Within(name, rules::Positive("noise_parameter", noise.noise_parameter())));
    RETURN_IF_ERROR(
        Within(name, rules::WholeIn(1, rules::kMaxWhole, "sensitivity", noise.sensitivity())));
    const double distance = static_cast<double>(noise.sensitivity()) * Times();
    if (distance > kMostAtoms) return Unknown("discrete_laplace of a distance above 4096");
    return AddPair(DiscreteLaplacePair(noise.noise_parameter(), static_cast<uint64_t>(distance)),
                   event, count);
  }
  if (IsBoundAlone(event)) {
    ASSIGN_OR_RETURN(Pair bound, Within(name, BoundOf(event)));
    return AddPair(std::move(bound), event, count);
  }
  if (to_.group_size > 1) return Unknown(name + " for groups of records");
  if (event.has_epsilon_delta()) {
    const v1::EpsilonDelta& stated = event.epsilon_delta();
    RETURN_IF_ERROR(Within(name, rules::NonNegative("epsilon", stated.epsilon())));
    RETURN_IF_ERROR(Within(name, rules::Probability("delta", stated.delta())));
    return AddPair(EpsilonDeltaPair(stated.epsilon(), stated.delta()), event, count);
  }
  if (event.has_randomized_response() && to_.adjacency != v1::ADD_OR_REMOVE_ONE) {
    const v1::RandomizedResponse& response = event.randomized_response();
    const double noise = response.noise_parameter();
    RETURN_IF_ERROR(Within(name, rules::Probability("noise_parameter", noise)));
    RETURN_IF_ERROR(
        Within(name, rules::WholeIn(2, rules::kMaxWhole, "num_buckets", response.num_buckets())));
    return AddPair(replaced() ? RandomizedResponsePair(noise, response.num_buckets())
                              : RandomizedResponseAgainstUniform(noise, response.num_buckets()),
                   event, count);
  }
  return Unknown(name);
}

absl::StatusOr<Claimed> Steps::Take() {
  RETURN_IF_ERROR(FinishEpochs());
  Claimed claimed;
  claimed.below = above_;
  claimed.below.curves.clear();
  claimed.below.pairs.clear();
  for (size_t i = 0; i < above_.pairs.size(); ++i) {
    if (!above_alone_.contains(i)) claimed.below.pairs.push_back(above_.pairs[i]);
  }
  for (EnclosedStep& step : enclosed_) claimed.below.pairs.push_back(std::move(step.below));
  claimed.below.variance = above_.variance + below_variance_;
  claimed.is_partial = !enclosed_.empty();
  claimed.reached = above_.curves.empty() && above_alone_.empty();
  claimed.close = above_.curves.empty() && above_alone_.size() == enclosed_.size();
  claimed.above = std::move(above_);
  return claimed;
}

}  // namespace dpledger::certify
