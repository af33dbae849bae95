// libdpledger in C99, against a real server: a training, samplers, and every scheme.
// tests/client/c_interface_test.cc runs it, and reads what is then in the ledgers.
#include "tests/client/c_interface_support.h"

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
  size_t ahead[2] = {0, 0};
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
  // Draws may run ahead of their rounds; a round takes no more rows than its draw has records.
  CHECK(dpledger_sampler_draws(sampler) == kSteps && dpledger_sampler_draws(NULL) == 0);
  for (step = 0; step < 2; ++step) {
    const uint64_t* sample = NULL;
    CHECK_OK(dpledger_sampler_draw(sampler, &sample, &ahead[step], error));
  }
  for (step = 0; step < 2; ++step) {
    static const float kRow[kDimension] = {1};
    dpledger_gradient_rows rows = rows_of(kRow, 1);
    size_t i;
    CHECK_OK(dpledger_privatizer_begin_step_on_draw(privatizer, sampler, kSteps + 1 + step, error));
    for (i = 0; i < ahead[step]; ++i) {
      CHECK_OK(dpledger_privatizer_accumulate(privatizer, &rows, error));
    }
    CHECK_FAILS(dpledger_privatizer_accumulate(privatizer, &rows, error), DPLEDGER_INVALID_ARGUMENT,
                "rows: must not be more than the sample has records");
    CHECK_OK(dpledger_privatizer_finish(privatizer, sum, kDimension, error));
    CHECK_FAILS(
        dpledger_privatizer_begin_step_on_draw(privatizer, sampler, kSteps + 1 + step, error),
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
    scheme.epoch = epochs ? (uint64_t)kind : 0;  // a writer's epochs do not go back
    if (kind == DPLEDGER_WITHOUT_REPLACEMENT || kind == DPLEDGER_WITH_REPLACEMENT || truncated) {
      scheme.sample_size = 60;
    }
    CHECK_OK(dpledger_recorder_record_round(recorder, &scheme, queries, 2, &number, error));
    CHECK(kind == DPLEDGER_POISSON || number > last);
    last = number;
  }
  CHECK_OK(dpledger_recorder_record_mechanism(recorder, event, sizeof(event), &number, error));
  {
    dpledger_sampling_scheme scheme = poisson(100, 1.5);
    CHECK_FAILS(dpledger_recorder_record_round(recorder, &scheme, queries, 2, &number, error),
                DPLEDGER_INVALID_ARGUMENT,
                "scheme.poisson.probability: must be in (0, 1], got 1.5");
    CHECK(strcmp(dpledger_error_field(error), "scheme.poisson.probability") == 0);
    scheme.probability = 0.5;
    CHECK_FAILS(dpledger_recorder_record_round(recorder, &scheme, queries, 0, &number, error),
                DPLEDGER_INVALID_ARGUMENT, "queries: must be 1 to 9999, got 0");
    queries[1].noise = 3;
    CHECK_FAILS(dpledger_recorder_record_round(recorder, &scheme, queries, 2, &number, error),
                DPLEDGER_INVALID_ARGUMENT,
                "queries[1].noise: must be a constant from 0 to 2, got 3");
    queries[1].noise = DPLEDGER_ROUNDED_GAUSSIAN;
    queries[0].group = NULL;
    CHECK_FAILS(dpledger_recorder_record_round(recorder, &scheme, queries, 2, &number, error),
                DPLEDGER_INVALID_ARGUMENT, "queries[0].group: must not be NULL");
    CHECK_FAILS(dpledger_recorder_record_round(recorder, &scheme, queries, 2, NULL, error),
                DPLEDGER_INVALID_ARGUMENT, "number: must not be NULL");
  }
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
  const int32_t kinds[] = {DPLEDGER_POISSON, DPLEDGER_FULL_BATCH, DPLEDGER_DISJOINT_BATCHES,
                           DPLEDGER_RANDOM_ALLOCATION, DPLEDGER_WITHOUT_REPLACEMENT};
  const dpledger_clip_group group = group_of("weights", 1, 1.0);
  const dpledger_privatizer_options options = options_of(&group, 1, 1.5);
  dpledger_recorder* const recorder = open_recorder(server, "samplers", folder);
  dpledger_recorder* const fixed =
      open_recorder_under(server, "fixed-size-samplers", folder, DPLEDGER_REPLACE_ONE);
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
    if (scheme.kind == DPLEDGER_WITHOUT_REPLACEMENT) {
      dpledger_privatizer_free(privatizer);
      CHECK_OK(dpledger_privatizer_create(&options, fixed, &privatizer, error));
    }
    if (scheme.kind >= DPLEDGER_DISJOINT_BATCHES) scheme.rounds_per_epoch = kRounds;
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
  CHECK_OK(dpledger_recorder_close(fixed, error));
  dpledger_recorder_free(fixed);
  CHECK_OK(dpledger_recorder_close(recorder, error));
  dpledger_recorder_free(recorder);
}

int main(int argc, char** argv) {
  static const program_part kParts[] = {
      {"train", train}, {"schemes", schemes}, {"samplers", samplers}};
  return run_part(argc, argv, kParts, sizeof(kParts) / sizeof(kParts[0]));
}
