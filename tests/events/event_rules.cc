#include "tests/events/event_rules.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace dpledger::accountant {
namespace {

using BadValues = std::vector<BadValue>;

// Every value in `values` with "<field>: <rule>, got <value>". Text format and messages spell
// numbers alike.
BadValues All(const std::string& field, const std::string& rule,
              const std::vector<std::string>& values) {
  BadValues bad;
  for (const std::string& value : values) {
    bad.push_back({value, absl::StrCat(field, ": ", rule, ", got ", value)});
  }
  return bad;
}
BadValues NotPositive(const std::string& field) {
  return All(field, "must be finite and > 0", {"0", "-1", "nan", "inf", "-inf"});
}
BadValues Negative(const std::string& field) {
  return All(field, "must be finite and >= 0", {"-1", "-5e-324", "nan", "inf", "-inf"});
}
BadValues NotSamplingProbability(const std::string& field) {
  return All(field, "must be in (0, 1]", {"0", "-0.1", "1.0000000000000002", "nan", "inf", "-inf"});
}
BadValues NotProbability(const std::string& field) {
  return All(field, "must be in [0, 1]", {"-0.1", "1.0000000000000002", "nan", "inf", "-inf"});
}
BadValues NotCount(const std::string& field) {
  return All(field, "must be in [1, 2^53]", {"0", "9007199254740993", "18446744073709551615"});
}
BadValues NotOrdinal(const std::string& field) {
  return All(field, "must be below 2^53", {"9007199254740992", "18446744073709551615"});
}

const char kMostCount[] = "9007199254740992";
const char kMostOrdinal[] = "9007199254740991";

void Append(const std::vector<FieldRule>& more, std::vector<FieldRule>& rules) {
  rules.insert(rules.end(), more.begin(), more.end());
}

std::vector<FieldRule> SumQueryRules() {
  const std::string path = "sum_query.query.";
  const auto query = [](const std::string& fields) {
    return absl::StrCat("sum_query { round: 3 query { ", fields, " } }");
  };
  return {
      {"sum_query { @ query { l2_norm_bound: 1 noise_stddev: 1 } }",
       absl::StrCat("round: ", kMostOrdinal),
       {{"round: 9007199254740992", "sum_query.round: must be below 2^53, got 9007199254740992"}}},
      {"sum_query { round: 1 @ }",
       "query { l2_norm_bound: 1 noise_stddev: 1 }",
       {{"", "sum_query.query: must be set"}}},
      {query("l2_norm_bound: @ noise_stddev: 1"), "1", NotPositive(path + "l2_norm_bound")},
      {query("l2_norm_bound: 1 noise_stddev: @"), "1e-100", NotPositive(path + "noise_stddev")},
      {query("l2_norm_bound: 1 noise_stddev: @"), "1e+100",
       All(path + "noise_stddev",
           "must be 1e-100 to 1e100 times l2_norm_bound, for others have no analysis",
           {"5e-324", "9e-101", "1e+101"})},
      {query("group: '@' l2_norm_bound: 1 noise_stddev: 1"),
       std::string(256, 'g'),
       {{std::string(257, 'g'), path + "group: must be at most 256 bytes long, got 257"}}},
      {query("l2_norm_bound: 1 noise_stddev: 1 noise: @"),
       "DISCRETE_GAUSSIAN",
       {{"3", path + "noise: enum number 3 is not known to this version"},
        {"-1", path + "noise: enum number -1 is not known to this version"}}},
      {query("l2_norm_bound: 1 noise_stddev: 1 grid: @"), "0",
       All(path + "grid", "must be 0 unless noise is ROUNDED_GAUSSIAN", {"0.5", "-1", "nan"})},
      {query("l2_norm_bound: 1 noise_stddev: 1 noise: DISCRETE_GAUSSIAN grid: @"), "0",
       All(path + "grid", "must be 0 unless noise is ROUNDED_GAUSSIAN", {"1", "inf"})},
      {query("l2_norm_bound: 3 noise_stddev: 2 noise: ROUNDED_GAUSSIAN grid: @"), "1e-9",
       NotPositive(path + "grid")},
      {query("l2_norm_bound: @ noise_stddev: 2 noise: ROUNDED_GAUSSIAN grid: 1"), kMostOrdinal,
       All(path + "l2_norm_bound", "must be a whole number in [1, 2^53)",
           {"0.5", "1.5", "9007199254740992"})},
      {query("l2_norm_bound: 1 noise_stddev: @ noise: ROUNDED_GAUSSIAN grid: 1"), "1",
       All(path + "noise_stddev", "must be a whole number in [1, 2^53)", {"0.5", "1.5", "1e+300"})},
  };
}

std::vector<FieldRule> SchemeRules() {
  const auto sampling = [](const std::string& fields) {
    return absl::StrCat("sampling { round: 1 scheme { ", fields, " } }");
  };
  const std::string path = "sampling.scheme.";
  const std::string kinds =
      "must be set to one of poisson, without_replacement, with_replacement, full_batch, "
      "disjoint_batches, random_allocation, truncated_poisson";
  const std::string not_stated = "population_size: must be stated for this scheme, got 0";
  std::vector<FieldRule> rules = {
      {"sampling { round: @ scheme { full_batch {} } }", kMostOrdinal,
       NotOrdinal("sampling.round")},
      {"sampling { round: 1 source: @ scheme { full_batch {} } }",
       "SAMPLE_DRAWN",
       {{"2", "sampling.source: enum number 2 is not known to this version"}}},
      {"sampling { round: 1 @ }",
       "scheme { full_batch {} }",
       {{"", "sampling.scheme: must be set"}, {"scheme {}", path + "kind: " + kinds}}},
      {sampling("population_size: @ full_batch {}"), kMostOrdinal,
       NotOrdinal(path + "population_size")},
      {sampling("poisson { probability: @ }"), "1",
       NotSamplingProbability(path + "poisson.probability")},
      {sampling("truncated_poisson { probability: @ max_sample_size: 5 } population_size: 9"),
       "5e-324", NotSamplingProbability(path + "truncated_poisson.probability")},
      {sampling("truncated_poisson { probability: 0.5 max_sample_size: @ } population_size: 9"),
       kMostCount, NotCount(path + "truncated_poisson.max_sample_size")},
      {sampling("truncated_poisson { probability: 0.5 max_sample_size: 1 } @"),
       "population_size: 9",
       {{"", path + not_stated}}},
      {sampling("disjoint_batches { batches_per_epoch: @ epoch: 2 }"), "1",
       NotCount(path + "disjoint_batches.batches_per_epoch")},
      {sampling("disjoint_batches { batches_per_epoch: 1 epoch: @ }"), "0",
       NotOrdinal(path + "disjoint_batches.epoch")},
      {sampling("random_allocation { rounds_per_epoch: @ epoch: 2 }"), kMostCount,
       NotCount(path + "random_allocation.rounds_per_epoch")},
      {sampling("random_allocation { rounds_per_epoch: 1 epoch: @ }"), kMostOrdinal,
       NotOrdinal(path + "random_allocation.epoch")},
      {sampling("random_allocation { rounds_per_epoch: 4 contributions: @ }"),
       "4",
       {{"5", path + "random_allocation.contributions: must be in [1, 4], got 5"}}},
  };
  for (const std::string kind : {"without_replacement", "with_replacement"}) {
    rules.push_back({sampling(kind + " { sample_size: @ } population_size: 9"), "9",
                     All(path + kind + ".sample_size", "must be in [1, 9]", {"0", "10"})});
    rules.push_back({sampling(kind + " { sample_size: 1 } @"),
                     "population_size: 1",
                     {{"", path + not_stated}}});
  }
  return rules;
}

std::vector<FieldRule> RoundsRules() {
  const std::string query = "queries { l2_norm_bound: 1 noise_stddev: 1 } ";
  const std::string full_batch = "scheme { full_batch {} } ";
  const std::string one_by_one =
      "; write the 1 rounds of the unfinished epoch one by one, each as a sampling event of that "
      "epoch and its sum_query events";
  const std::string per_epoch = "rounds.count: must be a multiple of the epoch's 4 rounds, got ";
  return {
      {"rounds { " + query + "count: 1 @ }", full_batch, {{"", "rounds.scheme: must be set"}}},
      {"rounds { " + full_batch + "count: 1 @ }",
       query,
       {{"", "rounds.queries: must hold at least one value"}}},
      {"rounds { " + full_batch + query + "count: @ }", kMostCount, NotCount("rounds.count")},
      {"rounds { " + full_batch + query + "@ }",
       "count: 1",
       {{"", "rounds.count: must be in [1, 2^53], got 0"}}},
      {"rounds { " + full_batch + query + "queries { l2_norm_bound: 1 noise_stddev: @ } count: 1 }",
       "2", NotPositive("rounds.queries[1].noise_stddev")},
      {"rounds { scheme { disjoint_batches { batches_per_epoch: 4 } } " + query + "count: @ }",
       "8",
       {{"9", per_epoch + "9" + one_by_one}, {"1", per_epoch + "1" + one_by_one}}},
      {"rounds { scheme { random_allocation { rounds_per_epoch: 4 } } " + query + "count: @ }",
       "4",
       {{"6", per_epoch + "6; write the 2 rounds of the unfinished epoch one by one, each as a "
                          "sampling event of that epoch and its sum_query events"}}},
  };
}

FieldRule MechanismRule(const std::string& fields, const std::string& good, BadValues bad) {
  for (BadValue& value : bad) value.message = "mechanism." + value.message;
  return {"mechanism { " + fields + " }", good, std::move(bad)};
}

std::vector<FieldRule> LeafRules() {
  const std::string step_counts = "single_epoch_tree_aggregation.step_counts";
  const std::string probs = "mixture_of_gaussians.sampling_probs";
  return {
      MechanismRule("count: @ no_op {}", kMostCount, NotCount("count")),
      MechanismRule("gaussian { noise_multiplier: @ }", "1",
                    NotPositive("gaussian.noise_multiplier")),
      MechanismRule("gaussian { @ }", "noise_multiplier: 2",
                    {{"", "gaussian.noise_multiplier: must be finite and > 0, got 0"}}),
      MechanismRule("laplace { noise_multiplier: @ }", "1",
                    NotPositive("laplace.noise_multiplier")),
      MechanismRule("unsupported { description: '@' }", std::string(1024, 'd'),
                    {{std::string(1025, 'd'),
                      "unsupported.description: must be at most 1024 bytes long, got 1025"}}),
      MechanismRule("discrete_laplace { noise_parameter: @ sensitivity: 1 }", "1",
                    NotPositive("discrete_laplace.noise_parameter")),
      MechanismRule("discrete_laplace { noise_parameter: 1 sensitivity: @ }", "1",
                    NotCount("discrete_laplace.sensitivity")),
      MechanismRule("discrete_gaussian { sigma: @ sensitivity: 1 }", "1",
                    NotPositive("discrete_gaussian.sigma")),
      MechanismRule("discrete_gaussian { sigma: 1 sensitivity: @ }", "1",
                    NotCount("discrete_gaussian.sensitivity")),
      MechanismRule("discrete_gaussian { sigma: 1 sensitivity: 1 dimension: @ }", "1",
                    NotCount("discrete_gaussian.dimension")),
      MechanismRule("randomized_response { noise_parameter: @ num_buckets: 2 }", "0",
                    NotProbability("randomized_response.noise_parameter")),
      MechanismRule("randomized_response { noise_parameter: 0.5 num_buckets: @ }", "2",
                    All("randomized_response.num_buckets", "must be in [2, 2^53]",
                        {"0", "1", "9007199254740993"})),
      MechanismRule("epsilon_delta { epsilon: @ delta: 0.5 }", "0",
                    Negative("epsilon_delta.epsilon")),
      MechanismRule("epsilon_delta { epsilon: 1 delta: @ }", "1",
                    NotProbability("epsilon_delta.delta")),
      MechanismRule("zcdp { rho: @ xi: 1 }", "0", Negative("zcdp.rho")),
      MechanismRule("zcdp { rho: 1 xi: @ }", "0", Negative("zcdp.xi")),
      MechanismRule("exponential_mechanism { epsilon: @ }", "0",
                    Negative("exponential_mechanism.epsilon")),
      MechanismRule("permute_and_flip { epsilon: @ }", "1", Negative("permute_and_flip.epsilon")),
      MechanismRule("report_noisy_max { noise_multiplier: @ }", "1",
                    NotPositive("report_noisy_max.noise_multiplier")),
      MechanismRule("report_noisy_max { noise_multiplier: 1 noise: @ }", "GUMBEL_NOISE",
                    {{"3", "report_noisy_max.noise: enum number 3 is not known to this version"}}),
      MechanismRule("shuffled { local_epsilon: @ people: 2 }", "0",
                    Negative("shuffled.local_epsilon")),
      MechanismRule("shuffled { local_epsilon: 1 people: @ }", "1", NotCount("shuffled.people")),
      MechanismRule("sparse_vector { threshold_noise: @ query_noise: 1 cutoff: 1 }", "2",
                    NotPositive("sparse_vector.threshold_noise")),
      MechanismRule("sparse_vector { threshold_noise: 1 query_noise: @ cutoff: 1 }", "2",
                    NotPositive("sparse_vector.query_noise")),
      MechanismRule("sparse_vector { threshold_noise: 1 query_noise: 1 cutoff: @ }", "3",
                    NotCount("sparse_vector.cutoff")),
      MechanismRule(
          "mixture_of_gaussians { standard_deviation: @ sensitivities: 1 sampling_probs: 1 }", "2",
          NotPositive("mixture_of_gaussians.standard_deviation")),
      MechanismRule("mixture_of_gaussians { standard_deviation: 1 sensitivities: [0, @] "
                    "sampling_probs: [0.5, 0.5] }",
                    "1", Negative("mixture_of_gaussians.sensitivities[1]")),
      MechanismRule("mixture_of_gaussians { standard_deviation: 1 sensitivities: [0, 1] "
                    "sampling_probs: [@, 1] }",
                    "0", NotProbability(probs + "[0]")),
      MechanismRule("mixture_of_gaussians { standard_deviation: 1 sensitivities: [0, 1] "
                    "sampling_probs: [@] }",
                    "0.25, 0.75",
                    {{"0.5, 0.25", probs + ": must sum to 1 within 1e-12, got 0.75"},
                     {"1", probs + ": must be as many as sensitivities (2), got 1"}}),
      MechanismRule("mixture_of_gaussians { standard_deviation: 1 @ }",
                    "sensitivities: 1 sampling_probs: 1",
                    {{"", "mixture_of_gaussians.sensitivities: must hold at least one value"}}),
      MechanismRule("truncated_subsampled_gaussian { dataset_size: @ sampling_probability: 0.5 "
                    "truncated_batch_size: 2 noise_multiplier: 1 }",
                    "4", NotCount("truncated_subsampled_gaussian.dataset_size")),
      MechanismRule("truncated_subsampled_gaussian { dataset_size: 4 sampling_probability: @ "
                    "truncated_batch_size: 2 noise_multiplier: 1 }",
                    "0.5",
                    NotSamplingProbability("truncated_subsampled_gaussian.sampling_probability")),
      MechanismRule("truncated_subsampled_gaussian { dataset_size: 4 sampling_probability: 0.5 "
                    "truncated_batch_size: @ noise_multiplier: 1 }",
                    "2", NotCount("truncated_subsampled_gaussian.truncated_batch_size")),
      MechanismRule("truncated_subsampled_gaussian { dataset_size: 4 sampling_probability: 0.5 "
                    "truncated_batch_size: 2 noise_multiplier: @ }",
                    "1", NotPositive("truncated_subsampled_gaussian.noise_multiplier")),
      MechanismRule("single_epoch_tree_aggregation { noise_multiplier: @ step_counts: 4 }", "1",
                    NotPositive("single_epoch_tree_aggregation.noise_multiplier")),
      MechanismRule("single_epoch_tree_aggregation { noise_multiplier: 1 step_counts: [4, @] }",
                    "1", NotCount(step_counts + "[1]")),
      MechanismRule("single_epoch_tree_aggregation { noise_multiplier: 1 @ }", "step_counts: 1",
                    {{"", step_counts + ": must hold at least one value"}}),
      MechanismRule("matrix_mechanism { sensitivity: @ noise_stddev: 1 }", "1",
                    NotPositive("matrix_mechanism.sensitivity")),
      MechanismRule("matrix_mechanism { sensitivity: 1 noise_stddev: @ }", "1",
                    NotPositive("matrix_mechanism.noise_stddev")),
      MechanismRule("matrix_mechanism { sensitivity: 1 noise_stddev: 1 noise: @ }",
                    "ROUNDED_GAUSSIAN",
                    {{"DISCRETE_GAUSSIAN",
                      "matrix_mechanism.noise: must be GAUSSIAN or ROUNDED_GAUSSIAN, got "
                      "DISCRETE_GAUSSIAN"},
                     {"3", "matrix_mechanism.noise: enum number 3 is not known to this version"}}),
      MechanismRule(
          "matrix_mechanism { noise_stddev: 1 @ }",
          "tree { steps: 8 participation { max_participations: 1 min_separation: 1 } }",
          {{"", "matrix_mechanism.encoder: must be set to one of sensitivity, tree, toeplitz"},
           {"tree { steps: 8 }",
            "matrix_mechanism.tree.schedule: must be set to one of participation, "
            "balls_in_bins"},
           {"toeplitz { steps: 8 coefficients: 1 }",
            "matrix_mechanism.toeplitz.schedule: must be set to one of participation, "
            "cyclic_poisson, balls_in_bins, min_separation_sampling"}}),
      MechanismRule("matrix_mechanism { noise_stddev: 1 tree { steps: @ participation { "
                    "max_participations: 1 min_separation: 1 } } }",
                    kMostCount, NotCount("matrix_mechanism.tree.steps")),
      MechanismRule("matrix_mechanism { noise_stddev: 1 tree { steps: 8 participation { "
                    "max_participations: @ min_separation: 1 } } }",
                    "1024",
                    All("matrix_mechanism.tree.participation.max_participations",
                        "must be in [1, 1024]", {"0", "1025"})),
      MechanismRule("matrix_mechanism { noise_stddev: 1 tree { steps: 8 participation { "
                    "max_participations: 1 min_separation: @ } } }",
                    kMostCount, NotCount("matrix_mechanism.tree.participation.min_separation")),
      MechanismRule(
          "matrix_mechanism { noise_stddev: 1 toeplitz { steps: @ coefficients: 1 "
          "participation { max_participations: 1 min_separation: 1 } } }",
          "65536", All("matrix_mechanism.toeplitz.steps", "must be in [1, 65536]", {"0", "65537"})),
      MechanismRule(
          "matrix_mechanism { noise_stddev: 1 toeplitz { steps: 2 coefficients: [@] "
          "participation { max_participations: 1 min_separation: 1 } } }",
          "1, 0.5",
          {{"", "matrix_mechanism.toeplitz.coefficients: must be in [1, 2], got 0"},
           {"1, 1, 1", "matrix_mechanism.toeplitz.coefficients: must be in [1, 2], got 3"},
           {"0, 0", "matrix_mechanism.toeplitz.coefficients[0]: must be finite and > 0, got 0"},
           {"1, 2",
            "matrix_mechanism.toeplitz.coefficients[1]: must not be above the one before it, got "
            "2"},
           {"1, nan",
            "matrix_mechanism.toeplitz.coefficients[1]: must be finite and >= 0, got nan"}}),
      MechanismRule("matrix_mechanism { noise_stddev: 1 toeplitz { steps: 8 coefficients: [1, 0.5] "
                    "cyclic_poisson { period: @ probability: 0.5 } } }",
                    "2",
                    All("matrix_mechanism.toeplitz.cyclic_poisson.period", "must be in [2, 8]",
                        {"0", "1", "9"})),
      MechanismRule("matrix_mechanism { noise_stddev: 1 toeplitz { steps: 8 coefficients: 1 "
                    "cyclic_poisson { period: 2 probability: @ } } }",
                    "0.5",
                    NotSamplingProbability("matrix_mechanism.toeplitz.cyclic_poisson.probability")),
      MechanismRule("matrix_mechanism { noise_stddev: 1 toeplitz { steps: 8 coefficients: 1 "
                    "cyclic_poisson { period: 2 probability: 1 groups: @ } } }",
                    "GROUPS_DRAWN_ONE_BY_ONE",
                    {{"7",
                      "matrix_mechanism.toeplitz.cyclic_poisson.groups: enum number 7 is not known "
                      "to this version"}}),
      MechanismRule(
          "matrix_mechanism { noise_stddev: 1 toeplitz { steps: 8 coefficients: 1 "
          "balls_in_bins { bins: @ } } }",
          "8",
          All("matrix_mechanism.toeplitz.balls_in_bins.bins", "must be in [1, 8]", {"0", "9"})),
      MechanismRule(
          "matrix_mechanism { noise_stddev: 1 toeplitz { steps: 8 coefficients: 1 "
          "min_separation_sampling { probability: @ min_separation: 2 } } }",
          "0.5",
          NotSamplingProbability("matrix_mechanism.toeplitz.min_separation_sampling.probability")),
      MechanismRule("matrix_mechanism { noise_stddev: 1 toeplitz { steps: 8 coefficients: 1 "
                    "min_separation_sampling { probability: 1 min_separation: @ } } }",
                    "8",
                    All("matrix_mechanism.toeplitz.min_separation_sampling.min_separation",
                        "must be in [1, 8]", {"0", "9"})),
      MechanismRule(
          "matrix_mechanism { noise_stddev: 1 tree { steps: 4096 balls_in_bins { "
          "bins: @ } } }",
          "2048",
          All("matrix_mechanism.tree.balls_in_bins.bins", "must be in [1, 2048]", {"0", "2049"})),
      MechanismRule("matrix_mechanism { noise_stddev: 1 tree { steps: @ balls_in_bins { "
                    "bins: 1 } } }",
                    "65536",
                    All("matrix_mechanism.tree.steps", "must be in [1, 65536]", {"0", "65537"})),
      MechanismRule(
          "renyi_curve { orders: @ epsilons: 1 }", "1.5",
          All("renyi_curve.orders[0]", "must be finite and > 1", {"1", "0", "nan", "inf"})),
      MechanismRule("renyi_curve { orders: [2, @] epsilons: [1, 1] }", "2.5",
                    All("renyi_curve.orders[1]", "must be finite and > 2", {"2", "1.5", "inf"})),
      MechanismRule("renyi_curve { orders: [2, 3] epsilons: [1, @] }", "inf",
                    All("renyi_curve.epsilons[1]", "must be >= 0", {"-1", "nan", "-inf"})),
      MechanismRule("renyi_curve { orders: [2, 3] epsilons: [@] }", "1, 2",
                    {{"1", "renyi_curve.epsilons: must be as many as orders (2), got 1"},
                     {"1, 2, 3", "renyi_curve.epsilons: must be as many as orders (2), got 3"}}),
      MechanismRule("renyi_curve { @ }", "orders: 2 epsilons: 0",
                    {{"", "renyi_curve.orders: must hold at least one value"}}),
  };
}

std::vector<FieldRule> TreeRules() {
  const std::string inner = "gaussian { noise_multiplier: 1 }";
  const std::string event = "event { " + inner + " } ";
  const std::string shape = "repeat_and_select.shape";
  const std::string shape_rule = "must be > -1 (infinity = Poisson)";
  std::vector<FieldRule> rules = {
      MechanismRule("poisson_sampled { sampling_probability: @ " + event + "}", "1",
                    NotSamplingProbability("poisson_sampled.sampling_probability")),
      MechanismRule(
          "sampled_without_replacement { source_dataset_size: 9 sample_size: @ " + event + "}", "9",
          All("sampled_without_replacement.sample_size", "must be in [1, 9]", {"0", "10"})),
      MechanismRule(
          "sampled_without_replacement { source_dataset_size: @ sample_size: 1 " + event + "}", "1",
          NotCount("sampled_without_replacement.source_dataset_size")),
      MechanismRule(
          "sampled_with_replacement { source_dataset_size: 9 sample_size: @ " + event + "}", "10",
          NotCount("sampled_with_replacement.sample_size")),
      MechanismRule(
          "sampled_with_replacement { source_dataset_size: @ sample_size: 1 " + event + "}", "1",
          NotCount("sampled_with_replacement.source_dataset_size")),
      MechanismRule("repeat_and_select { mean: @ shape: 0 " + event + "}", "1",
                    All("repeat_and_select.mean", "must be finite and >= 1",
                        {"0", "0.5", "-1", "nan", "inf"})),
      MechanismRule("repeat_and_select { mean: @ shape: inf " + event + "}", "0.5",
                    NotPositive("repeat_and_select.mean")),
      MechanismRule("repeat_and_select { mean: 2 shape: @ " + event + "}", "-0.5",
                    All(shape, shape_rule, {"-1", "-2", "nan", "-inf"})),
      MechanismRule("repeat_and_select { mean: 2 shape: @ " + event + "}", "inf",
                    All(shape, shape_rule, {"-1.5"})),
      MechanismRule("self_composed { count: @ " + event + "}", kMostCount,
                    NotCount("self_composed.count")),
      MechanismRule("composed { @ }", "events { " + inner + " }",
                    {{"", "composed.events: must be in [1, 4096], got 0"}}),
      MechanismRule("composed { events { no_op {} } events { no_op {} } events { @ } }", inner,
                    {{"gaussian { noise_multiplier: -1 }",
                      "composed.events[2].gaussian.noise_multiplier: must be finite and > 0, "
                      "got -1"}}),
  };
  // A tree below: required, and checked even where the node itself has no analysis.
  const std::vector<std::pair<std::string, std::string>> nodes = {
      {"poisson_sampled", "sampling_probability: 0.5"},
      {"sampled_without_replacement", "source_dataset_size: 9 sample_size: 3"},
      {"sampled_with_replacement", "source_dataset_size: 9 sample_size: 3"},
      {"repeat_and_select", "mean: 2 shape: 1"},
      {"self_composed", "count: 2"},
  };
  for (const auto& [name, fields] : nodes) {
    rules.push_back(MechanismRule(
        absl::StrCat(name, " { ", fields, " @ }"), event,
        {{"", name + ".event: must be set"},
         {"event { zcdp { rho: -1 } }", name + ".event.zcdp.rho: must be finite and >= 0, got -1"},
         {"event { count: 0 no_op {} }", name + ".event.count: must be in [1, 2^53], got 0"}}));
  }
  return rules;
}

}  // namespace

std::vector<FieldRule> EventRules() {
  std::vector<FieldRule> rules = SumQueryRules();
  Append(SchemeRules(), rules);
  Append(RoundsRules(), rules);
  Append(LeafRules(), rules);
  Append(TreeRules(), rules);
  return rules;
}

}  // namespace dpledger::accountant
