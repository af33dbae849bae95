// libdpledger in C99, against a real server: what a trainer does with it. tests/client/
// c_interface_test.cc runs it, and reads what is then in the ledgers.
//
//   c_interface_program train|strategies|schemes|samplers|ranks SERVER FOLDER
#include <math.h>

#include "tests/client/c_interface_check.h"

static dpledger_error* error;

static dpledger_recorder* open_recorder(const char* server, const char* ledger,
                                        const char* folder) {
  char spool[1024];
  dpledger_declaration declaration = {sizeof(declaration)};
  dpledger_recorder_options options = {sizeof(options)};
  dpledger_recorder* recorder = NULL;
  CHECK(snprintf(spool, sizeof(spool), "%s/%s", folder, ledger) < (int)sizeof(spool));
  declaration.dataset = "adult";
  declaration.unit_of_privacy = "example";
  declaration.released = "all checkpoints";
  declaration.description = "mod\xc3\xa8le";
  declaration.adjacency = DPLEDGER_ZERO_OUT;
  declaration.parameters = DPLEDGER_FIXED;
  declaration.planned_rounds = 3;
  declaration.plan_independent = 1;
  options.server = server;
  options.ledger = ledger;
  options.writer = "c";
  options.declaration = &declaration;
  options.spool_folder = spool;
  options.release_timeout_seconds = 60;
  CHECK_OK(dpledger_recorder_open(&options, &recorder, error));
  return recorder;
}

static dpledger_sampling_scheme poisson(uint64_t population_size, double probability) {
  dpledger_sampling_scheme scheme = {sizeof(scheme)};
  scheme.kind = DPLEDGER_POISSON;
  scheme.population_size = population_size;
  scheme.probability = probability;
  return scheme;
}

static dpledger_clip_group group_of(const char* name, size_t size, double clip_norm) {
  dpledger_clip_group group = {sizeof(group)};
  group.name = name;
  group.size = size;
  group.clip_norm = clip_norm;
  return group;
}

static dpledger_privatizer_options options_of(const dpledger_clip_group* groups, size_t count,
                                              double noise_multiplier) {
  dpledger_privatizer_options options = {sizeof(options)};
  options.groups = groups;
  options.group_count = count;
  options.noise_multiplier = noise_multiplier;
  return options;
}

static dpledger_gradient_rows rows_of(const float* first, size_t count) {
  dpledger_gradient_rows rows = {sizeof(rows)};
  rows.first = first;
  rows.count = count;
  return rows;
}

// Three steps of a run, its end, and what cannot be done then.
static void train(const char* server, const char* folder) {
  enum { kPopulation = 1000, kDimension = 5, kSteps = 3 };
  const dpledger_clip_group group = group_of("weights", kDimension, 1.0);
  const dpledger_privatizer_options options = options_of(&group, 1, 1.5);
  const dpledger_sampling_scheme scheme = poisson(kPopulation, 0.1);
  dpledger_recorder* const recorder = open_recorder(server, "train", folder);
  dpledger_privatizer* privatizer = NULL;
  dpledger_sampler* sampler = NULL;
  float sum[kDimension];
  uint64_t undelivered = 7;
  int step;

  CHECK(strcmp(dpledger_recorder_ledger(recorder), "projects/default/ledgers/train") == 0);
  CHECK_OK(dpledger_sampler_create(&scheme, &sampler, error));
  CHECK_OK(dpledger_privatizer_create(&options, recorder, &privatizer, error));
  CHECK(dpledger_privatizer_dimension(privatizer) == kDimension);
  CHECK(dpledger_privatizer_clip_norm(privatizer) == 1.0);
  CHECK_FAILS(dpledger_privatizer_begin_step(privatizer, sampler, error),
              DPLEDGER_FAILED_PRECONDITION, "sampler: has no fresh sample");
  for (step = 0; step < kSteps; ++step) {
    const uint64_t* sample = NULL;
    size_t size = 0, i;
    CHECK_OK(dpledger_sampler_draw(sampler, &sample, &size, error));
    CHECK(size > 0 && size < kPopulation);
    CHECK_OK(dpledger_privatizer_begin_step(privatizer, sampler, error));
    for (i = 0; i < size; ++i) {
      const float gradient[kDimension] = {1, 2, 3, 4, (float)sample[i]};
      const dpledger_gradient_rows rows = rows_of(gradient, 1);
      CHECK(sample[i] < kPopulation && (i == 0 || sample[i] > sample[i - 1]));
      CHECK_OK(dpledger_privatizer_accumulate(privatizer, &rows, error));
    }
    // A buffer of another size loses nothing.
    CHECK_FAILS(dpledger_privatizer_finish(privatizer, sum, kDimension - 1, error),
                DPLEDGER_INVALID_ARGUMENT, "count: must be 5, got 4");
    CHECK(strcmp(dpledger_error_field(error), "count") == 0);
    CHECK(strcmp(dpledger_error_reason(error), "INVALID_FIELD") == 0);
    CHECK_OK(dpledger_privatizer_finish(privatizer, sum, kDimension, error));
    CHECK(*dpledger_error_message(error) == '\0' && *dpledger_error_field(error) == '\0');
    CHECK_FAILS(dpledger_privatizer_finish(privatizer, sum, kDimension, error),
                DPLEDGER_FAILED_PRECONDITION, "no step is open");
    // The sample has had its round.
    CHECK_FAILS(dpledger_privatizer_begin_step(privatizer, sampler, error),
                DPLEDGER_FAILED_PRECONDITION, "sampler: has no fresh sample");
  }
  CHECK_OK(dpledger_recorder_close(recorder, error));
  CHECK_OK(dpledger_recorder_drain_status(recorder, &undelivered, NULL, error));
  CHECK(undelivered == 0);
  CHECK_FAILS(dpledger_privatizer_begin_step_by_scheme(privatizer, &scheme, error),
              DPLEDGER_FAILED_PRECONDITION, "writer: c has closed");
  // The privatizer keeps what it needs of the recorder.
  dpledger_recorder_free(recorder);
  CHECK_FAILS(dpledger_privatizer_begin_step_by_scheme(privatizer, &scheme, error),
              DPLEDGER_FAILED_PRECONDITION, "writer: c has closed");
  dpledger_sampler_free(sampler);
  dpledger_privatizer_free(privatizer);
}

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

static void strategies(const char* server, const char* folder) {
  const float gradients[] = {3, 4, 6};
  dpledger_recorder* const recorder = open_recorder(server, "strategies", folder);
  const double norm = sqrt(61);
  check_formats(recorder);
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

// Every kind of scheme, and rounds and mechanisms that the trainer noises itself.
static void schemes(const char* server, const char* folder) {
  // A MechanismEvent whose kind is a Gaussian with noise multiplier 2.
  const unsigned char event[] = {0x2a, 9, 0x09, 0, 0, 0, 0, 0, 0, 0, 0x40};
  dpledger_recorder* const recorder = open_recorder(server, "schemes", folder);
  dpledger_sum_query queries[] = {{sizeof(queries[0])}, {sizeof(queries[0])}};
  uint64_t number = 0, last = 0;
  int32_t kind;
  queries[0].group = "a";
  queries[0].l2_norm_bound = 1.5;
  queries[0].noise_stddev = 2;
  queries[1].group = "b";
  queries[1].l2_norm_bound = 3;
  queries[1].noise_stddev = 7;
  queries[1].noise = DPLEDGER_ROUNDED_GAUSSIAN;
  queries[1].grid = 0.125;
  for (kind = DPLEDGER_POISSON; kind <= DPLEDGER_TRUNCATED_POISSON; ++kind) {
    dpledger_sampling_scheme scheme = {sizeof(scheme)};
    const int truncated = kind == DPLEDGER_TRUNCATED_POISSON;
    const int epochs = kind == DPLEDGER_DISJOINT_BATCHES || kind == DPLEDGER_RANDOM_ALLOCATION;
    scheme.kind = kind;
    scheme.population_size = 100;
    scheme.probability = kind == DPLEDGER_POISSON || truncated ? 0.5 : 0;
    scheme.rounds_per_epoch = epochs ? 10 : 0;
    if (kind == DPLEDGER_WITHOUT_REPLACEMENT || kind == DPLEDGER_WITH_REPLACEMENT || truncated) {
      scheme.sample_size = 60;
    }
    CHECK_OK(dpledger_recorder_record_round(recorder, &scheme, queries, 2, &number, error));
    CHECK(kind == DPLEDGER_POISSON || number > last);
    last = number;
  }
  CHECK_OK(dpledger_recorder_record_mechanism(recorder, event, sizeof(event), &number, error));
  CHECK(number > last);
  CHECK_OK(dpledger_recorder_await_releasable(recorder, number, error));
  CHECK_FAILS(dpledger_recorder_await_releasable(recorder, number + 1, error),
              DPLEDGER_FAILED_PRECONDITION, "number: ");
  CHECK_FAILS(dpledger_recorder_record_mechanism(recorder, event, 3, &number, error),
              DPLEDGER_INVALID_ARGUMENT, "event: must be a serialised MechanismEvent");
  CHECK_OK(dpledger_recorder_close(recorder, error));
  dpledger_recorder_free(recorder);
}

// Each sampler's samples are those of its scheme, which the ledger is told: two epochs of five
// rounds, where there are epochs.
static void samplers(const char* server, const char* folder) {
  enum { kPopulation = 100, kRounds = 5 };
  const int32_t kinds[] = {DPLEDGER_POISSON, DPLEDGER_WITHOUT_REPLACEMENT, DPLEDGER_FULL_BATCH,
                           DPLEDGER_DISJOINT_BATCHES, DPLEDGER_RANDOM_ALLOCATION};
  const dpledger_clip_group group = group_of("weights", 1, 1.0);
  const dpledger_privatizer_options options = options_of(&group, 1, 1.5);
  dpledger_recorder* const recorder = open_recorder(server, "samplers", folder);
  dpledger_privatizer* privatizer = NULL;
  size_t kind, i;
  CHECK_OK(dpledger_privatizer_create(&options, recorder, &privatizer, error));
  for (kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); ++kind) {
    dpledger_sampling_scheme scheme = {sizeof(scheme)};
    dpledger_sampler *sampler = NULL, *twin = NULL;
    size_t total = 0;
    int round;
    scheme.kind = kinds[kind];
    scheme.population_size = kPopulation;
    if (scheme.kind == DPLEDGER_POISSON) scheme.probability = 0.5;
    if (scheme.kind == DPLEDGER_WITHOUT_REPLACEMENT) scheme.sample_size = 7;
    if (scheme.kind >= DPLEDGER_DISJOINT_BATCHES) {
      scheme.rounds_per_epoch = kRounds;
      scheme.epoch = 3;
    }
    CHECK_OK(dpledger_sampler_create_non_private_for_testing(&scheme, 5, &sampler, error));
    CHECK_OK(dpledger_sampler_create_non_private_for_testing(&scheme, 5, &twin, error));
    for (round = 0; round < 2 * kRounds; ++round) {
      const uint64_t *sample = NULL, *same = NULL;
      size_t size = 0, same_size = 0;
      float released;
      CHECK_OK(dpledger_sampler_draw(sampler, &sample, &size, error));
      CHECK_OK(dpledger_sampler_draw(twin, &same, &same_size, error));
      CHECK(size == same_size && (size == 0 || memcmp(sample, same, size * sizeof(*same)) == 0));
      for (i = 0; i < size; ++i) {
        CHECK(sample[i] < kPopulation && (i == 0 || sample[i] > sample[i - 1]));
      }
      CHECK(scheme.kind != DPLEDGER_WITHOUT_REPLACEMENT || size == 7);
      CHECK(scheme.kind != DPLEDGER_FULL_BATCH || size == kPopulation);
      total += size;
      CHECK_OK(dpledger_privatizer_begin_step(privatizer, sampler, error));
      CHECK_OK(dpledger_privatizer_finish(privatizer, &released, 1, error));
    }
    CHECK(scheme.rounds_per_epoch == 0 || total == 2 * kPopulation);
    dpledger_sampler_free(sampler);
    dpledger_sampler_free(twin);
  }
  dpledger_privatizer_free(privatizer);
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
  CHECK_OK(dpledger_sum_add_sums(sums[0], values, count, error));
  CHECK_OK(dpledger_sum_values(sums[0], &values, &count, error));
  one_step(&options, recorder, NULL, NULL, values, count, together);
  one_step(&options, recorder, &all, NULL, NULL, 0, alone);
  CHECK(memcmp(alone, together, sizeof(alone)) == 0);

  CHECK_FAILS(dpledger_sum_set_clip_norm(sums[0], 2, error), DPLEDGER_FAILED_PRECONDITION,
              "sum: is of another clip norm");
  CHECK_OK(dpledger_sum_clear(sums[0], error));
  CHECK(values[0] == 0 && values[1] == 0 && values[2] == 0);
  CHECK_OK(dpledger_sum_set_clip_norm(sums[0], 2, error));
  CHECK(dpledger_sum_clip_norm(sums[0]) == 2);
  for (rank = 0; rank < 2; ++rank) dpledger_sum_free(sums[rank]);
  CHECK_OK(dpledger_recorder_close(recorder, error));
  dpledger_recorder_free(recorder);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(const char* server, const char* folder);
  } kParts[] = {{"train", train},
                {"strategies", strategies},
                {"schemes", schemes},
                {"samplers", samplers},
                {"ranks", ranks}};
  size_t i;
  CHECK(argc == 4);
  error = dpledger_error_new();
  CHECK(error != NULL && dpledger_error_status(error) == DPLEDGER_OK);
  for (i = 0; i < sizeof(kParts) / sizeof(kParts[0]); ++i) {
    if (strcmp(argv[1], kParts[i].name) == 0) {
      kParts[i].run(argv[2], argv[3]);
      dpledger_error_free(error);
      return 0;
    }
  }
  CHECK(!"a known part");
  return 1;
}
