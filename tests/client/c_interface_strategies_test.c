// libdpledger in C99, against a real server: what each strategy releases.
// tests/client/c_interface_test.cc runs it, and reads what is then in the ledgers.
#include <math.h>
#include <stddef.h>

#include "tests/client/c_interface_support.h"

// One step of a privatizer whose noise is that of the seed, with all that it is given.
static void one_step(const dpledger_privatizer_options* options, dpledger_recorder* recorder,
                     const dpledger_gradient_rows* rows, const double* norms, const int64_t* sums,
                     size_t sum_count, float* released) {
  const dpledger_sampling_scheme scheme = poisson(0, 0.25);
  dpledger_privatizer* privatizer = NULL;
  CHECK_OK(dpledger_privatizer_create_non_private_for_testing(options, recorder, 11, &privatizer,
                                                              error));
  CHECK_OK(dpledger_privatizer_begin_step_by_scheme(privatizer, &scheme, error));
  if (norms != NULL) {
    CHECK_OK(dpledger_privatizer_accumulate_with_norms(privatizer, rows, norms,
                                                       rows->count * options->group_count, error));
  } else if (rows != NULL) {
    CHECK_OK(dpledger_privatizer_accumulate(privatizer, rows, error));
  }
  if (sums != NULL) {
    CHECK_OK(dpledger_privatizer_add_sums(privatizer, sums, sum_count, error));
  }
  CHECK_OK(dpledger_privatizer_finish(privatizer, released,
                                      dpledger_privatizer_dimension(privatizer), error));
  dpledger_privatizer_free(privatizer);
}

// The multiplier of the whole round (McMahan et al. 2018, eq. 1), from what the ledger is told.
static double round_multiplier(const dpledger_privatizer* privatizer) {
  const size_t count = dpledger_privatizer_query_count(privatizer);
  double inverse_square = 0;
  size_t i;
  for (i = 0; i < count; ++i) {
    dpledger_sum_query query = {sizeof(query)};
    double ratio;
    CHECK_OK(dpledger_privatizer_query(privatizer, i, &query, error));
    CHECK(query.noise == DPLEDGER_ROUNDED_GAUSSIAN && query.grid > 0);
    CHECK(strstr(query.group, "[NON-PRIVATE TEST MODE]") != NULL);
    ratio = query.l2_norm_bound / query.noise_stddev;
    inverse_square += ratio * ratio;
  }
  return 1 / sqrt(inverse_square);
}

// The clipped sum of `gradients`, three coordinates a row, is `expected`.
static void check_strategy(const dpledger_privatizer_options* options, dpledger_recorder* recorder,
                           const float* gradients, const double* norms, const double* expected,
                           size_t query_count) {
  const dpledger_gradient_rows rows = rows_of(gradients, 1);
  dpledger_privatizer* privatizer = NULL;
  float noise[3], noised[3];
  int i;
  CHECK_OK(dpledger_privatizer_create_non_private_for_testing(options, recorder, 11, &privatizer,
                                                              error));
  CHECK(dpledger_privatizer_query_count(privatizer) == query_count);
  CHECK(fabs(round_multiplier(privatizer) / options->noise_multiplier - 1) < 1e-5);
  dpledger_privatizer_free(privatizer);
  one_step(options, recorder, NULL, NULL, NULL, 0, noise);
  one_step(options, recorder, &rows, norms, NULL, 0, noised);
  for (i = 0; i < 3; ++i) {
    CHECK(noise[i] != 0);
    CHECK(fabs((double)noised[i] - (double)noise[i] - expected[i]) < 1e-5);
  }
}

static void check_adaptive(const dpledger_adaptive_clip_norm* adaptive,
                           dpledger_recorder* recorder) {
  const float gradients[] = {0, 0, 3};
  const double expected[] = {0, 0, 1};
  const dpledger_gradient_rows rows = rows_of(gradients, 1);
  const dpledger_sampling_scheme scheme = poisson(0, 0.25);
  const dpledger_clip_group group = group_of("adaptive", 3, 1.0);
  dpledger_privatizer_options options = options_of(&group, 1, 1.0);
  dpledger_privatizer* privatizer = NULL;
  float released[3];
  options.adaptive = adaptive;
  check_strategy(&options, recorder, gradients, NULL, expected, 2);
  CHECK_OK(dpledger_privatizer_create_non_private_for_testing(&options, recorder, 11, &privatizer,
                                                              error));
  CHECK_OK(dpledger_privatizer_begin_step_by_scheme(privatizer, &scheme, error));
  CHECK_OK(dpledger_privatizer_accumulate(privatizer, &rows, error));
  CHECK_OK(dpledger_privatizer_finish(privatizer, released, 3, error));
  CHECK(dpledger_privatizer_clip_norm(privatizer) != 1.0);
  CHECK(dpledger_privatizer_clip_norm(privatizer) >= 0.1);
  CHECK(dpledger_privatizer_clip_norm(privatizer) <= 10);
  dpledger_privatizer_free(privatizer);
}

// The same numbers in 16 bits: 3, 4 and 6 have few digits.
static void check_formats(dpledger_recorder* recorder) {
  const float float32[] = {3, 4, 6};
  const uint16_t bfloat16[] = {0x4040, 0x4080, 0x40c0}, float16[] = {0x4200, 0x4400, 0x4600};
  const dpledger_clip_group group = group_of("formats", 3, 1.0);
  const dpledger_privatizer_options options = options_of(&group, 1, 1.5);
  dpledger_gradient_rows rows = rows_of(float32, 1);
  float released[3][3];
  one_step(&options, recorder, &rows, NULL, NULL, 0, released[0]);
  rows.first = bfloat16;
  rows.format = DPLEDGER_BFLOAT16;
  one_step(&options, recorder, &rows, NULL, NULL, 0, released[1]);
  rows.first = float16;
  rows.format = DPLEDGER_FLOAT16;
  one_step(&options, recorder, &rows, NULL, NULL, 0, released[2]);
  CHECK(memcmp(released[0], released[1], sizeof(released[0])) == 0);
  CHECK(memcmp(released[0], released[2], sizeof(released[0])) == 0);
}

// Threads share the work and change nothing.
static void check_threads(dpledger_recorder* recorder) {
  enum { kDimension = 300000 };
  const dpledger_clip_group group = group_of("threads", kDimension, 1.0);
  dpledger_privatizer_options options = options_of(&group, 1, 1.5);
  float* const memory = malloc(3 * kDimension * sizeof(float));
  dpledger_gradient_rows rows = rows_of(memory, 1);
  size_t i;
  CHECK(memory != NULL);
  for (i = 0; i < kDimension; ++i) memory[i] = (float)(i % 7);
  one_step(&options, recorder, &rows, NULL, NULL, 0, memory + kDimension);
  options.threads = 2;
  one_step(&options, recorder, &rows, NULL, NULL, 0, memory + 2 * kDimension);
  CHECK(memcmp(memory + kDimension, memory + 2 * kDimension, kDimension * sizeof(float)) == 0);
  free(memory);
}

static void strategies(const char* server, const char* folder) {
  const float gradients[] = {3, 4, 6};
  dpledger_recorder* const recorder = open_recorder(server, "strategies", folder);
  const double norm = sqrt(61);
  check_formats(recorder);
  check_threads(recorder);
  {
    const dpledger_clip_group group = group_of("flat", 3, 1.0);
    dpledger_privatizer_options options = options_of(&group, 1, 1.5);
    const double expected[] = {3 / norm, 4 / norm, 6 / norm};
    check_strategy(&options, recorder, gradients, NULL, expected, 1);
    check_strategy(&options, recorder, gradients, &norm, expected, 1);
    options.microbatches = 1;
    check_strategy(&options, recorder, gradients, NULL, expected, 1);
  }
  {
    const dpledger_clip_group groups[] = {group_of("first", 2, 1.0), group_of("second", 1, 2.0)};
    dpledger_privatizer_options options = options_of(groups, 2, 1.5);
    const double norms[] = {5, 6}, expected[] = {0.6, 0.8, 2};
    check_strategy(&options, recorder, gradients, NULL, expected, 2);
    check_strategy(&options, recorder, gradients, norms, expected, 2);
    options.allocation = DPLEDGER_LEAST_VARIANCE;
    check_strategy(&options, recorder, gradients, NULL, expected, 2);
  }
  {
    // (3, 4 | 6) with scales 1 and 2 is (3, 4, 12), of norm 13.
    const size_t sizes[] = {2, 1};
    const double scales[] = {1, 2}, expected[] = {3 / 13.0, 4 / 13.0, 6 / 13.0};
    dpledger_clip_group group = group_of("joint", 3, 1.0);
    const dpledger_privatizer_options options = options_of(&group, 1, 1.5);
    group.part_sizes = sizes;
    group.part_scales = scales;
    group.part_count = 2;
    check_strategy(&options, recorder, gradients, NULL, expected, 1);
  }
  {
    dpledger_clip_group group = group_of("normalised", 3, 0);
    const dpledger_privatizer_options options = options_of(&group, 1, 1.5);
    const double expected[] = {3 / (norm + 2), 4 / (norm + 2), 6 / (norm + 2)};
    group.gamma = 2;
    check_strategy(&options, recorder, gradients, NULL, expected, 1);
  }
  {
    dpledger_adaptive_clip_norm adaptive = {sizeof(adaptive)};
    adaptive.rule = DPLEDGER_MEAN_NORM;
    adaptive.alpha = 1;
    adaptive.beta = 2;
    adaptive.noise_multiplier = 10;
    adaptive.expected_batch_size = 1;
    check_adaptive(&adaptive, recorder);
    adaptive.rule = DPLEDGER_NORM_QUANTILE;
    adaptive.alpha = adaptive.beta = 0;
    adaptive.quantile = 0.5;
    adaptive.learning_rate = 0.2;
    check_adaptive(&adaptive, recorder);
  }
  CHECK_OK(dpledger_recorder_close(recorder, error));
  dpledger_recorder_free(recorder);
}

// Two ranks and the one with the privatizer release what a single process does, to the bit.
static void ranks(const char* server, const char* folder) {
  const float gradients[4][3] = {{3, 4, 6}, {-1, 2, 1}, {0.5f, 0, 0}, {9, 9, 9}};
  const dpledger_gradient_rows all = rows_of(gradients[0], 4);
  const dpledger_clip_group group = group_of("weights", 3, 1.0);
  const dpledger_privatizer_options options = options_of(&group, 1, 1.5);
  dpledger_recorder* const recorder = open_recorder(server, "ranks", folder);
  dpledger_sum* sums[2] = {NULL, NULL};
  const int64_t* values = NULL;
  size_t count = 0, rank;
  float alone[3], together[3];
  for (rank = 0; rank < 2; ++rank) {
    const dpledger_gradient_rows share = rows_of(gradients[2 * rank], 2);
    CHECK_OK(dpledger_sum_create(&options, &sums[rank], error));
    CHECK(dpledger_sum_dimension(sums[rank]) == 3);
    CHECK_OK(dpledger_sum_accumulate(sums[rank], &share, error));
  }
  CHECK_OK(dpledger_sum_values(sums[1], &values, &count, error));
  CHECK(count == 3);
  CHECK(dpledger_sum_rows(sums[1]) == 2);
  CHECK_OK(dpledger_sum_add_sums_of(sums[0], values, count, dpledger_sum_rows(sums[1]), error));
  CHECK(dpledger_sum_rows(sums[0]) == 4);
  CHECK_OK(dpledger_sum_values(sums[0], &values, &count, error));
  one_step(&options, recorder, NULL, NULL, values, count, together);
  one_step(&options, recorder, &all, NULL, NULL, 0, alone);
  CHECK(memcmp(alone, together, sizeof(alone)) == 0);

  CHECK_FAILS(dpledger_sum_set_clip_norm(sums[0], 2, error), DPLEDGER_FAILED_PRECONDITION,
              "sum: is of another clip norm");
  CHECK_OK(dpledger_sum_clear(sums[0], error));
  CHECK(values[0] == 0 && values[1] == 0 && values[2] == 0);
  CHECK(dpledger_sum_rows(sums[0]) == 0);
  CHECK_OK(dpledger_sum_set_clip_norm(sums[0], 2, error));
  CHECK(dpledger_sum_clip_norm(sums[0]) == 2);
  for (rank = 0; rank < 2; ++rank) dpledger_sum_free(sums[rank]);
  CHECK_OK(dpledger_recorder_close(recorder, error));
  dpledger_recorder_free(recorder);
}

// One run's estimates, of four steps in which only the second has a gradient, if `rows` is one.
static void estimate(const dpledger_correlated_options* options, dpledger_recorder* recorder,
                     const dpledger_gradient_rows* rows, float estimates[4][3]) {
  dpledger_correlated_run* run = NULL;
  int step;
  CHECK_OK(
      dpledger_correlated_run_begin_non_private_for_testing(options, recorder, 3, &run, error));
  CHECK(dpledger_correlated_run_dimension(run) == 3);
  for (step = 0; step < 4; ++step) {
    CHECK(dpledger_correlated_run_steps_done(run) == (uint64_t)step);
    if (rows != NULL && step == 1) {
      CHECK_OK(dpledger_correlated_run_accumulate(run, rows, error));
    }
    CHECK_FAILS(dpledger_correlated_run_finish_step(run, estimates[step], 4, error),
                DPLEDGER_INVALID_ARGUMENT, "count: must be 3, got 4");
    CHECK_OK(dpledger_correlated_run_finish_step(run, estimates[step], 3, error));
  }
  CHECK_FAILS(dpledger_correlated_run_finish_step(run, estimates[0], 3, error),
              DPLEDGER_FAILED_PRECONDITION, "all 4 planned steps are done");
  dpledger_correlated_run_free(run);
}

// The number of records that a run draws in its first four steps, without finishing the fourth.
static size_t drawn_by(const dpledger_correlated_options* options, dpledger_recorder* recorder) {
  dpledger_correlated_run* run = NULL;
  const uint64_t* records = NULL;
  size_t total = 0, count = 0, i;
  float values[3];
  int step;
  CHECK_OK(dpledger_correlated_run_begin(options, recorder, &run, error));
  for (step = 0; step < 4; ++step) {
    CHECK_OK(dpledger_correlated_run_draw(run, &records, &count, error));
    for (i = 0; i < count; ++i) CHECK(records[i] < 1000 && (i == 0 || records[i - 1] < records[i]));
    total += count;
    if (step < 3) CHECK_OK(dpledger_correlated_run_finish_step(run, values, 3, error));
  }
  dpledger_correlated_run_free(run);
  return total;
}

// Runs that draw their records; `options` are those of version 1, of a run of four steps.
static void sampled(dpledger_correlated_options options, dpledger_recorder* recorder,
                    const double* coefficients) {
  dpledger_correlated_run* run = NULL;
  const uint64_t* records = NULL;
  size_t count = 0;
  options.encoder = DPLEDGER_BANDED_TOEPLITZ;
  options.coefficients = coefficients;
  options.coefficient_count = 2;
  options.weights = options.decays = NULL;
  options.buffer_count = 0;
  // A caller of version 1 has no sampling.
  options.struct_size = offsetof(dpledger_correlated_options, sampling);
  options.sampling = 77;
  CHECK_OK(
      dpledger_correlated_run_begin_non_private_for_testing(&options, recorder, 3, &run, error));
  CHECK_FAILS(dpledger_correlated_run_draw(run, &records, &count, error),
              DPLEDGER_FAILED_PRECONDITION, "sampling: was not given to the run");
  dpledger_correlated_run_free(run);
  options.struct_size = sizeof(options);
  CHECK_FAILS(dpledger_correlated_run_begin(&options, recorder, &run, error),
              DPLEDGER_INVALID_ARGUMENT, "sampling: must be a constant from 0 to 2, got 77");
  options.sampling = DPLEDGER_NO_SAMPLING;
  options.period = 2;
  CHECK_FAILS(dpledger_correlated_run_begin(&options, recorder, &run, error),
              DPLEDGER_INVALID_ARGUMENT, "period: must be 0, as this sampling does not read it");
  options.sampling = DPLEDGER_BALLS_IN_BINS;
  options.population_size = 1000;
  CHECK_FAILS(dpledger_correlated_run_begin(&options, recorder, &run, error),
              DPLEDGER_INVALID_ARGUMENT, "max_participations: must be in [1, 1], got 2");
  options.max_participations = options.min_separation = 1;
  // Every record is in two of four steps.
  CHECK(drawn_by(&options, recorder) == 2000);
  options.probability = 0.5;
  CHECK_FAILS(dpledger_correlated_run_begin(&options, recorder, &run, error),
              DPLEDGER_INVALID_ARGUMENT, "probability: must be 0, as this sampling does not read");
  options.sampling = DPLEDGER_CYCLIC_POISSON;
  options.draw_groups = 1;
  // 2000 chances of a half.
  count = drawn_by(&options, recorder);
  CHECK(count > 800 && count < 1200);
  options.period = 1;
  CHECK_FAILS(dpledger_correlated_run_begin(&options, recorder, &run, error),
              DPLEDGER_INVALID_ARGUMENT,
              "sampling.period: must be at least the number of coefficients, 2");
}

// Each encoder's estimates are of the clipped sums, and the ledger gets the run's mechanism.
static void correlated(const char* server, const char* folder) {
  const float gradients[] = {3, 4, 6};
  const double coefficients[] = {1, 0.5, 0.375}, weights[] = {0.5}, decays[] = {0.75};
  const dpledger_gradient_rows rows = rows_of(gradients, 1);
  const dpledger_clip_group group = group_of("weights", 3, 1.0);
  const dpledger_privatizer_options sums = options_of(&group, 1, 4.0);
  dpledger_recorder* const recorder = open_recorder(server, "correlated", folder);
  const double norm = sqrt(61);
  dpledger_correlated_options options = {sizeof(options)};
  dpledger_correlated_run* run = NULL;
  uint64_t begin = 0, end = 0;
  int step, i;
  options.sums = &sums;
  options.steps = 4;
  options.max_participations = 2;
  options.min_separation = 2;
  for (options.encoder = DPLEDGER_TREE_AGGREGATION; options.encoder <= DPLEDGER_BUFFERED_TOEPLITZ;
       ++options.encoder) {
    const int banded = options.encoder == DPLEDGER_BANDED_TOEPLITZ;
    const int buffered = options.encoder == DPLEDGER_BUFFERED_TOEPLITZ;
    float noise[4][3], noised[4][3];
    options.coefficients = banded ? coefficients : NULL;
    options.coefficient_count = banded ? 3 : 0;
    options.weights = buffered ? weights : NULL;
    options.decays = buffered ? decays : NULL;
    options.buffer_count = buffered ? 1 : 0;
    estimate(&options, recorder, NULL, noise);
    estimate(&options, recorder, &rows, noised);
    for (step = 0; step < 4; ++step) {
      for (i = 0; i < 3; ++i) {
        const double expected = step == 1 ? gradients[i] / norm : 0;
        CHECK(noise[step][i] != 0);
        CHECK(fabs((double)noised[step][i] - (double)noise[step][i] - expected) < 1e-5);
      }
    }
    CHECK_OK(dpledger_correlated_run_begin(&options, recorder, &run, error));
    CHECK_OK(dpledger_correlated_run_accumulate_with_norms(run, &rows, &norm, 1, error));
    CHECK_OK(dpledger_correlated_run_finish_step(run, noise[0], 3, error));
    dpledger_correlated_run_free(run);
  }
  sampled(options, recorder, coefficients);
  run = NULL;
  CHECK_FAILS(dpledger_correlated_run_begin(&options, recorder, &run, error),
              DPLEDGER_INVALID_ARGUMENT, "encoder: must be a constant from 1 to 3, got 4");
  CHECK(run == NULL);
  options.encoder = DPLEDGER_TREE_AGGREGATION;
  CHECK_FAILS(dpledger_correlated_run_begin(&options, recorder, &run, error),
              DPLEDGER_INVALID_ARGUMENT, "weights: must be none for this encoder, got 1");
  options.encoder = DPLEDGER_BUFFERED_TOEPLITZ;
  options.buffer_count = 17;
  CHECK_FAILS(dpledger_correlated_run_begin(&options, recorder, &run, error),
              DPLEDGER_INVALID_ARGUMENT, "weights: must be at most 16, got 17");
  options.sums = NULL;
  CHECK_FAILS(dpledger_correlated_run_begin(&options, recorder, &run, error),
              DPLEDGER_INVALID_ARGUMENT, "sums: must not be NULL");
  CHECK_OK(dpledger_cyclic_batch(10, 4, 5, &begin, &end, error));
  CHECK(begin == 2 && end == 5);
  CHECK_FAILS(dpledger_cyclic_batch(10, 11, 5, &begin, &end, error), DPLEDGER_INVALID_ARGUMENT,
              "batches_per_epoch: ");
  CHECK_OK(dpledger_recorder_close(recorder, error));
  dpledger_recorder_free(recorder);
}

int main(int argc, char** argv) {
  static const program_part kParts[] = {
      {"strategies", strategies}, {"ranks", ranks}, {"correlated", correlated}};
  return run_part(argc, argv, kParts, sizeof(kParts) / sizeof(kParts[0]));
}
