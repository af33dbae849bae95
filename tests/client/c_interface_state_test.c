// libdpledger in C99, against a real server: runs that a second recorder carries on, and what they
// cost. tests/client/c_interface_test.cc runs it, and reads what is then in the ledgers.
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/client/c_interface_support.h"

static char key_file[1024];

static dpledger_run_state state_with_key(const char* folder, const char* name, mode_t mode,
                                         size_t size) {
  static const char key[33] = "0123456789abcdef0123456789abcdef";
  dpledger_run_state state = {sizeof(state)};
  int file;
  CHECK(snprintf(key_file, sizeof(key_file), "%s/%s", folder, name) < (int)sizeof(key_file));
  file = open(key_file, O_CREAT | O_EXCL | O_WRONLY, mode);
  CHECK(file >= 0 && write(file, key, size) == (ssize_t)size && close(file) == 0);
  state.key_file = key_file;
  return state;
}

static dpledger_recorder* resumed(const char* server, const char* ledger, const char* folder,
                                  const dpledger_run_state* state) {
  dpledger_recorder* recorder = NULL;
  CHECK_OK(try_open_recorder(server, ledger, folder, DPLEDGER_ZERO_OUT, state, &recorder));
  return recorder;
}

// A key that is missing, weak or exposed; a state that a caller of an older version does not have.
static void keys(const char* server, const char* folder) {
  dpledger_recorder* recorder = NULL;
  dpledger_run_state state = {sizeof(state)};
#define OPEN() try_open_recorder(server, "keys", folder, DPLEDGER_ZERO_OUT, &state, &recorder)
  CHECK_FAILS(OPEN(), DPLEDGER_INVALID_ARGUMENT, "state.key_file: must not be NULL");
  state.key_file = "/nowhere/key";
  CHECK_FAILS(OPEN(), DPLEDGER_NOT_FOUND, "");
  state = state_with_key(folder, "exposed", 0644, 32);
  CHECK_FAILS(OPEN(), DPLEDGER_FAILED_PRECONDITION, "");
  state = state_with_key(folder, "short", 0600, 31);
  CHECK_FAILS(OPEN(), DPLEDGER_INVALID_ARGUMENT, "state.key_file: must hold 32 bytes, got 31");
  CHECK(strcmp(dpledger_error_field(error), "state.key_file") == 0);
  state.struct_size = 8;
  CHECK_FAILS(OPEN(), DPLEDGER_INVALID_ARGUMENT, "state.struct_size: ");
#undef OPEN
}

// One round of an epoch: adds what is drawn to `seen`.
static void draw_round(dpledger_sampler* sampler, dpledger_privatizer* privatizer, int* seen) {
  const uint64_t* sample = NULL;
  size_t size = 0, i;
  float released;
  CHECK_OK(dpledger_sampler_draw(sampler, &sample, &size, error));
  for (i = 0; i < size; ++i) ++seen[sample[i]];
  CHECK_OK(dpledger_privatizer_begin_step(privatizer, sampler, error));
  CHECK_OK(dpledger_privatizer_finish(privatizer, &released, 1, error));
}

// Only the state's own sampler may draw epochs: another one's would be taken for the epoch that is
// carried on.
static void refuse_other_epochs(dpledger_recorder* recorder, dpledger_privatizer* privatizer,
                                const dpledger_sampling_scheme* scheme) {
  dpledger_sum_query query = {sizeof(query)};
  dpledger_sampler* other = NULL;
  const uint64_t* sample = NULL;
  uint64_t number = 0;
  size_t size = 0;
  query.group = "g";
  query.l2_norm_bound = query.noise_stddev = 1;
  CHECK_FAILS(dpledger_sampler_create_resumable(scheme, recorder, &other, error),
              DPLEDGER_FAILED_PRECONDITION, "recorder: its state keeps another sampler already");
  CHECK_OK(dpledger_sampler_create(scheme, &other, error));
  CHECK_OK(dpledger_sampler_draw(other, &sample, &size, error));
  CHECK_FAILS(dpledger_privatizer_begin_step(privatizer, other, error),
              DPLEDGER_FAILED_PRECONDITION, "scheme: the recorder's state keeps epochs");
  CHECK_FAILS(dpledger_privatizer_begin_step_by_scheme(privatizer, scheme, error),
              DPLEDGER_FAILED_PRECONDITION, "scheme: the recorder's state keeps epochs");
  CHECK_FAILS(dpledger_recorder_record_round(recorder, scheme, &query, 1, &number, error),
              DPLEDGER_FAILED_PRECONDITION, "scheme: the recorder's state keeps epochs");
  dpledger_sampler_free(other);
}

static void epochs(const char* server, const char* folder) {
  enum { kPopulation = 10, kRounds = 4 };
  const dpledger_clip_group group = group_of("weights", 1, 1.0);
  const dpledger_privatizer_options options = options_of(&group, 1, 1.5);
  dpledger_sampling_scheme scheme = {sizeof(scheme)};
  int seen[kPopulation] = {0}, part, round, i;
  dpledger_run_state state;
  keys(server, folder);
  state = state_with_key(folder, "key", 0600, 32);
  scheme.kind = DPLEDGER_DISJOINT_BATCHES;
  scheme.population_size = kPopulation;
  for (part = 0; part < 2; ++part) {
    dpledger_recorder* const recorder = resumed(server, "epochs", folder, &state);
    dpledger_privatizer* privatizer = NULL;
    dpledger_sampler* sampler = NULL;
    // What is refused before anything is taken out of the state may be tried again.
    scheme.rounds_per_epoch = 0;
    CHECK_FAILS(dpledger_sampler_create_resumable(&scheme, recorder, &sampler, error),
                DPLEDGER_INVALID_ARGUMENT, "scheme.rounds_per_epoch: ");
    scheme.rounds_per_epoch = kRounds;
    CHECK_OK(dpledger_sampler_create_resumable(&scheme, recorder, &sampler, error));
    CHECK_OK(dpledger_privatizer_create(&options, recorder, &privatizer, error));
    refuse_other_epochs(recorder, privatizer, &scheme);
    for (round = 0; round < kRounds / 2; ++round) draw_round(sampler, privatizer, seen);
    if (part == 0) {
      // Another recorder does not take its samples, and what is not recorded is drawn again.
      dpledger_recorder* const plain = open_recorder(server, "plain", folder);
      dpledger_privatizer* of_plain = NULL;
      const uint64_t* sample = NULL;
      size_t size = 0;
      dpledger_sampler* none = NULL;
      CHECK_FAILS(dpledger_sampler_create_resumable(&scheme, plain, &none, error),
                  DPLEDGER_FAILED_PRECONDITION, "recorder: has no state that could keep");
      CHECK_OK(dpledger_privatizer_create(&options, plain, &of_plain, error));
      CHECK_OK(dpledger_sampler_draw(sampler, &sample, &size, error));
      CHECK_FAILS(dpledger_privatizer_begin_step(of_plain, sampler, error),
                  DPLEDGER_FAILED_PRECONDITION, "sampler: was made to be kept with another");
      dpledger_privatizer_free(of_plain);
      dpledger_recorder_free(plain);
    }
    dpledger_sampler_free(sampler);
    dpledger_privatizer_free(privatizer);
    dpledger_recorder_free(recorder);
  }
  for (i = 0; i < kPopulation; ++i) CHECK(seen[i] == 1);
}

static void run(const char* server, const char* folder) {
  enum { kSteps = 3 };
  const dpledger_clip_group group = group_of("weights", 1, 1.0);
  const dpledger_privatizer_options sums = options_of(&group, 1, 4.0);
  const dpledger_run_state state = state_with_key(folder, "key", 0600, 32);
  const float gradient = 0.5;
  const dpledger_gradient_rows rows = rows_of(&gradient, 1);
  dpledger_correlated_options options = {sizeof(options)};
  float released[kSteps] = {0}, again = 0;
  int part;
  options.sums = &sums;
  options.max_participations = options.min_separation = 1;
  options.encoder = DPLEDGER_TREE_AGGREGATION;
  for (part = 0; part < 2; ++part) {
    dpledger_recorder* const recorder = resumed(server, "run", folder, &state);
    dpledger_correlated_run *mine = NULL, *second = NULL;
    options.steps = 0;
    CHECK_FAILS(dpledger_correlated_run_begin(&options, recorder, &mine, error),
                DPLEDGER_INVALID_ARGUMENT, "steps: ");
    options.steps = kSteps;
    CHECK_OK(dpledger_correlated_run_begin(&options, recorder, &mine, error));
    CHECK_FAILS(dpledger_correlated_run_begin(&options, recorder, &second, error),
                DPLEDGER_FAILED_PRECONDITION, "recorder: its state keeps another run already");
    CHECK(dpledger_correlated_run_steps_done(mine) == (uint64_t)part);
    if (part == 0) {
      CHECK_OK(dpledger_correlated_run_accumulate(mine, &rows, error));
      CHECK_OK(dpledger_correlated_run_finish_step(mine, &released[0], 1, error));
      CHECK_OK(dpledger_correlated_run_save(mine, error));
      CHECK_OK(dpledger_correlated_run_accumulate(mine, &rows, error));
      CHECK_OK(dpledger_correlated_run_finish_step(mine, &released[1], 1, error));
    } else {
      CHECK_FAILS(dpledger_correlated_run_finish_step(mine, &again, 1, error),
                  DPLEDGER_FAILED_PRECONDITION, "step 2: was released with another sum before");
      CHECK(strcmp(dpledger_error_reason(error), "STEP_DIFFERS") == 0);
      CHECK_OK(dpledger_correlated_run_accumulate(mine, &rows, error));
      CHECK_OK(dpledger_correlated_run_finish_step(mine, &again, 1, error));
      CHECK(memcmp(&again, &released[1], sizeof(again)) == 0);
    }
    dpledger_correlated_run_free(mine);
    dpledger_recorder_free(recorder);
  }
  {
    dpledger_recorder* const recorder = open_recorder(server, "plain", folder);
    dpledger_correlated_run* mine = NULL;
    CHECK_OK(dpledger_correlated_run_begin(&options, recorder, &mine, error));
    CHECK_FAILS(dpledger_correlated_run_save(mine, error), DPLEDGER_FAILED_PRECONDITION, "state: ");
    dpledger_correlated_run_free(mine);
    dpledger_recorder_free(recorder);
  }
}

static int within(double value, double expected, double relative) {
  return value >= expected * (1 - relative) && value <= expected * (1 + relative);
}

// One of three planned rounds, of all records with noise multiplier 1: by closed form (Balle and
// Wang 2018, theorem 8) epsilon is 4.377178 at delta 1e-5, and 8.385419 for three.
static void cost(const char* server, const char* folder) {
  const dpledger_clip_group group = group_of("weights", 1, 1.0);
  const dpledger_privatizer_options sums = options_of(&group, 1, 1.0);
  dpledger_recorder* const recorder = open_recorder(server, "cost", folder);
  dpledger_sampling_scheme scheme = {sizeof(scheme)};
  dpledger_correlated_options options = {sizeof(options)};
  dpledger_privatizer* privatizer = NULL;
  dpledger_cost* asked = NULL;
  dpledger_cost_values values = {sizeof(values)};
  const void* answer = NULL;
  size_t size = 0;
  double noise_multiplier = 0;
  float released;
  scheme.kind = DPLEDGER_FULL_BATCH;
  CHECK_OK(dpledger_privatizer_create(&sums, recorder, &privatizer, error));
  CHECK_OK(dpledger_privatizer_begin_step_by_scheme(privatizer, &scheme, error));
  // A round that was recorded just now is in the answer: it was [0, 0] while it was under way.
  CHECK_OK(dpledger_recorder_cost(recorder, 1e-5, &asked, error));
  CHECK_OK(dpledger_cost_read(asked, &values, error));
  CHECK(within(values.upper, 4.377178, 1e-4));
  dpledger_cost_free(asked);
  CHECK_OK(dpledger_privatizer_finish(privatizer, &released, 1, error));
  CHECK_OK(dpledger_recorder_close(recorder, error));
  CHECK_OK(dpledger_recorder_cost(recorder, 1e-5, &asked, error));
  CHECK_OK(dpledger_cost_answer(asked, &answer, &size, error));
  CHECK(answer != NULL && size > 100);
  CHECK_OK(dpledger_cost_read(asked, &values, error));
  CHECK(values.lower <= values.upper && within(values.upper, 4.377178, 1e-4));
  CHECK(values.planned_lower <= values.planned_upper);
  CHECK(within(values.planned_upper, 8.385419, 1e-4) && values.delta == 1e-5);
  CHECK(values.entries == 5);  // declaration, opening, sample, sum, end
  CHECK(strcmp(values.ledger, "projects/default/ledgers/cost") == 0);
  CHECK(strlen(values.root) == 64 && *values.method != 0);
  CHECK(values.warning_count > 0 && *values.warnings[0] != 0);
  dpledger_cost_free(asked);
  CHECK_FAILS(dpledger_recorder_cost(recorder, 2, &asked, error), DPLEDGER_INVALID_ARGUMENT,
              "delta: ");
  CHECK(asked == NULL);
  dpledger_privatizer_free(privatizer);
  dpledger_recorder_free(recorder);

  // One full batch, and one step of a run, for that epsilon.
  CHECK_OK(dpledger_calibrate_noise(server, 4.377178, 1e-5, 1, 1, &noise_multiplier, error));
  CHECK(within(noise_multiplier, 1, 1e-4));
  options.sums = &sums;
  options.steps = options.max_participations = options.min_separation = 1;
  options.encoder = DPLEDGER_TREE_AGGREGATION;
  CHECK_OK(dpledger_calibrate_correlated_noise(server, &options, DPLEDGER_ZERO_OUT, 4.377178, 1e-5,
                                               &noise_multiplier, error));
  CHECK(within(noise_multiplier, 1, 1e-4));
  CHECK_OK(dpledger_calibrate_correlated_noise(server, &options, DPLEDGER_REPLACE_ONE, 4.377178,
                                               1e-5, &noise_multiplier, error));
  CHECK(within(noise_multiplier, 2, 1e-4));
  noise_multiplier = 7;
  CHECK_FAILS(dpledger_calibrate_correlated_noise(server, &options, DPLEDGER_ZERO_OUT, 1e-4, 1e-9,
                                                  &noise_multiplier, error),
              DPLEDGER_INVALID_ARGUMENT, "epsilon: needs more noise than a multiplier of 256");
  CHECK_FAILS(dpledger_calibrate_correlated_noise(server, &options, DPLEDGER_ADD_OR_REMOVE_ONE, 1,
                                                  1e-5, &noise_multiplier, error),
              DPLEDGER_INVALID_ARGUMENT, "adjacency: must be a constant from 2 to 3, got 1");
  CHECK(noise_multiplier == 7);
}

// A message that the test made beside: NAME.bin in `folder`.
static size_t message_of(const char* folder, const char* name, char* into, size_t room) {
  char path[1024];
  FILE* file;
  size_t size;
  CHECK(snprintf(path, sizeof(path), "%s/%s.bin", folder, name) < (int)sizeof(path));
  file = fopen(path, "rb");
  CHECK(file != NULL);
  size = fread(into, 1, room, file);
  CHECK(size > 0 && size < room && fclose(file) == 0);
  return size;
}

// A run under a budget: nothing before a grant, then what was granted and no more.
static void budget(const char* server, const char* folder) {
  char spool[1024], grant[256], large[256], round[256];
  const size_t grant_size = message_of(folder, "grant", grant, sizeof(grant));
  const size_t large_size = message_of(folder, "large", large, sizeof(large));
  const size_t round_size = message_of(folder, "round", round, sizeof(round));
  dpledger_declaration declaration = {sizeof(declaration)};
  dpledger_recorder_options options = {sizeof(options)};
  dpledger_recorder* recorder = NULL;
  uint64_t number = 0;
  CHECK(snprintf(spool, sizeof(spool), "%s/budget-spool", folder) < (int)sizeof(spool));
  declaration.dataset = "adult";
  declaration.unit_of_privacy = "example";
  declaration.adjacency = DPLEDGER_ZERO_OUT;
  declaration.parameters = DPLEDGER_ADAPTIVE;
  declaration.budget = "projects/default/ledgers/of-adult";
  options.server = server;
  options.ledger = "budget";
  options.writer = "c";
  options.declaration = &declaration;
  options.spool_folder = spool;
  CHECK_OK(dpledger_recorder_open(&options, &recorder, error));
#define REFUSED(call)                                  \
  CHECK_FAILS(call, DPLEDGER_FAILED_PRECONDITION, ""); \
  CHECK(strcmp(dpledger_error_reason(error), "BUDGET_EXCEEDED") == 0)
  CHECK_OK(dpledger_recorder_record_mechanism(recorder, round, round_size, &number, error));
  REFUSED(dpledger_recorder_await_releasable(recorder, number, error));
  REFUSED(dpledger_recorder_request_grant(recorder, large, large_size, error));
  CHECK_FAILS(dpledger_recorder_request_grant(recorder, "no message", 10, error),
              DPLEDGER_INVALID_ARGUMENT, "grant: ");
  CHECK_FAILS(dpledger_recorder_request_grant(recorder, NULL, 1, error), DPLEDGER_INVALID_ARGUMENT,
              "grant: ");
  CHECK_OK(dpledger_recorder_request_grant(recorder, grant, grant_size, error));
  CHECK_OK(dpledger_recorder_record_mechanism(recorder, round, round_size, &number, error));
  CHECK_OK(dpledger_recorder_await_releasable(recorder, number, error));
  CHECK_OK(dpledger_recorder_record_mechanism(recorder, round, round_size, &number, error));
  REFUSED(dpledger_recorder_await_releasable(recorder, number, error));
#undef REFUSED
  CHECK_OK(dpledger_recorder_close(recorder, error));
  dpledger_recorder_free(recorder);
}

int main(int argc, char** argv) {
  static const program_part kParts[] = {
      {"epochs", epochs}, {"run", run}, {"cost", cost}, {"budget", budget}};
  return run_part(argc, argv, kParts, sizeof(kParts) / sizeof(kParts[0]));
}
