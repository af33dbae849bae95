// Bad input to libdpledger, in C99 and without a server: each is refused with the argument's name
// and the rule, and nothing crashes.
//
//   c_interface_errors FOLDER [no-memory]
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/client/c_interface_support.h"

#define CHECK_INVALID(call, begin) CHECK_FAILS(call, DPLEDGER_INVALID_ARGUMENT, begin)

static const char* folder;

// Options that are good until a case changes one.
static dpledger_clip_group group;
static dpledger_privatizer_options options;
static void good_options(void) {
  memset(&group, 0, sizeof(group));
  group.struct_size = sizeof(group);
  group.name = "weights";
  group.size = 4;
  group.clip_norm = 1;
  memset(&options, 0, sizeof(options));
  options.struct_size = sizeof(options);
  options.groups = &group;
  options.group_count = 1;
  options.noise_multiplier = 1;
}

static void refused(const char* begin) {
  dpledger_sum* sum = (dpledger_sum*)&group;  // becomes NULL
  CHECK_INVALID(dpledger_sum_create(&options, &sum, error), begin);
  CHECK(sum == NULL);
  good_options();
}

static void null_handles(void) {
  const dpledger_sampling_scheme scheme = {sizeof(scheme), DPLEDGER_FULL_BATCH};
  uint64_t number = 0;
  float values[1];
  dpledger_error_free(NULL);
  dpledger_recorder_free(NULL);
  dpledger_sampler_free(NULL);
  dpledger_privatizer_free(NULL);
  dpledger_sum_free(NULL);
  CHECK(dpledger_error_status(NULL) == DPLEDGER_OK);
  CHECK(*dpledger_error_message(NULL) == 0 && *dpledger_error_field(NULL) == 0);
  CHECK(*dpledger_error_reason(NULL) == 0);
  CHECK(dpledger_recorder_ledger(NULL) == NULL);
  CHECK(dpledger_privatizer_dimension(NULL) == 0 && dpledger_sum_dimension(NULL) == 0);
  CHECK(dpledger_sum_rows(NULL) == 0);
  CHECK(isnan(dpledger_privatizer_clip_norm(NULL)) && isnan(dpledger_sum_clip_norm(NULL)));
  CHECK(dpledger_privatizer_query_count(NULL) == 0);
  CHECK(dpledger_correlated_run_dimension(NULL) == 0);
  CHECK(dpledger_correlated_run_steps_done(NULL) == 0);
  dpledger_correlated_run_free(NULL);

  CHECK_INVALID(dpledger_recorder_open(NULL, NULL, error), "recorder: must not be NULL");
  CHECK_INVALID(dpledger_recorder_close(NULL, error), "recorder: must not be NULL");
  CHECK_INVALID(dpledger_recorder_drain_status(NULL, &number, NULL, error), "recorder: ");
  CHECK_INVALID(dpledger_recorder_record_round(NULL, &scheme, NULL, 0, &number, error),
                "recorder: ");
  CHECK_INVALID(dpledger_recorder_record_mechanism(NULL, "", 0, &number, error), "recorder: ");
  CHECK_INVALID(dpledger_recorder_await_releasable(NULL, 0, error), "recorder: ");
  CHECK_INVALID(dpledger_sampler_create(&scheme, NULL, error), "sampler: ");
  CHECK_INVALID(dpledger_sampler_create_resumable(&scheme, NULL, NULL, error), "sampler: ");
  CHECK_INVALID(dpledger_correlated_run_save(NULL, error), "run: ");
  CHECK_INVALID(dpledger_recorder_cost(NULL, 1e-5, NULL, error), "cost: ");
  CHECK_INVALID(dpledger_cost_read(NULL, NULL, error), "cost: ");
  CHECK_INVALID(dpledger_cost_answer(NULL, NULL, NULL, error), "cost: ");
  dpledger_cost_free(NULL);
  CHECK_INVALID(dpledger_calibrate_noise(NULL, 1, 1e-5, 0.1, 10, NULL, error),
                "noise_multiplier: ");
  CHECK_INVALID(dpledger_calibrate_correlated_noise(NULL, NULL, 0, 1, 1e-5, NULL, error),
                "noise_multiplier: ");
  CHECK_INVALID(dpledger_sampler_draw(NULL, NULL, NULL, error), "sampler: ");
  CHECK_INVALID(dpledger_privatizer_create(&options, NULL, NULL, error), "privatizer: ");
  CHECK_INVALID(dpledger_privatizer_query(NULL, 0, NULL, error), "privatizer: ");
  CHECK_INVALID(dpledger_privatizer_begin_step(NULL, NULL, error), "privatizer: ");
  CHECK_INVALID(dpledger_privatizer_begin_step_on_draw(NULL, NULL, 1, error), "privatizer: ");
  CHECK_INVALID(dpledger_privatizer_begin_step_by_scheme(NULL, &scheme, error), "privatizer: ");
  CHECK_INVALID(dpledger_privatizer_accumulate(NULL, NULL, error), "privatizer: ");
  CHECK_INVALID(dpledger_privatizer_accumulate_with_norms(NULL, NULL, NULL, 0, error),
                "privatizer: ");
  CHECK_INVALID(dpledger_privatizer_add_sums(NULL, NULL, 0, error), "privatizer: ");
  CHECK_INVALID(dpledger_privatizer_add_sums_of(NULL, NULL, 0, 0, error), "privatizer: ");
  CHECK_INVALID(dpledger_privatizer_finish(NULL, values, 1, error), "privatizer: ");
  CHECK_INVALID(dpledger_correlated_run_begin(NULL, NULL, NULL, error), "run: ");
  CHECK_INVALID(dpledger_correlated_run_draw(NULL, NULL, NULL, error), "run: ");
  CHECK_INVALID(dpledger_correlated_run_accumulate(NULL, NULL, error), "run: ");
  CHECK_INVALID(dpledger_correlated_run_accumulate_with_norms(NULL, NULL, NULL, 0, error), "run: ");
  CHECK_INVALID(dpledger_correlated_run_add_sums(NULL, NULL, 0, error), "run: ");
  CHECK_INVALID(dpledger_correlated_run_add_sums_of(NULL, NULL, 0, 0, error), "run: ");
  CHECK_INVALID(dpledger_correlated_run_finish_step(NULL, values, 1, error), "run: ");
  CHECK_INVALID(dpledger_cyclic_batch(1, 1, 0, NULL, &number, error), "begin: ");
  CHECK_INVALID(dpledger_sum_create(&options, NULL, error), "sum: ");
  CHECK_INVALID(dpledger_sum_accumulate(NULL, NULL, error), "sum: ");
  CHECK_INVALID(dpledger_sum_accumulate_with_norms(NULL, NULL, NULL, 0, error), "sum: ");
  CHECK_INVALID(dpledger_sum_add_sums(NULL, NULL, 0, error), "sum: ");
  CHECK_INVALID(dpledger_sum_add_sums_of(NULL, NULL, 0, 0, error), "sum: ");
  CHECK_INVALID(dpledger_sum_values(NULL, NULL, NULL, error), "sum: ");
  CHECK_INVALID(dpledger_sum_clear(NULL, error), "sum: ");
  CHECK_INVALID(dpledger_sum_set_clip_norm(NULL, 1, error), "sum: ");
  // Without an error object too.
  CHECK(dpledger_sum_clear(NULL, NULL) == DPLEDGER_INVALID_ARGUMENT);
}

static void strategies(void) {
  const size_t sizes[] = {3, 2};
  const double scales[] = {1, 1};
  dpledger_adaptive_clip_norm adaptive = {sizeof(adaptive)};
  dpledger_sum* sum = NULL;
  good_options();
  CHECK_INVALID(dpledger_sum_create(NULL, &sum, error), "options: must not be NULL");
  options.groups = NULL;
  refused("groups: must not be NULL");
  options.group_count = 0;
  refused("groups: must be 1 to 4096, got 0");
  options.group_count = 4097;
  refused("groups: must be 1 to 4096, got 4097");
  group.name = NULL;
  refused("groups[0].name: must not be NULL");
  group.name = "";
  refused("groups[0].name: must have 1 to 200 bytes, got 0");
  group.name = "\xff";
  refused("groups[0].name: must be UTF-8");
  group.size = 0;
  refused("groups[0].size: must be in [1, 2^40], got 0");
  group.clip_norm = 0;
  refused("groups[0].clip_norm: must be in [1e-30, 1e30], got 0");
  group.clip_norm = NAN;
  refused("groups[0].clip_norm: must be in [1e-30, 1e30], got nan");
  group.gamma = 1;
  refused("groups[0].clip_norm: must be 0 where gradients are normalised, got 1");
  group.gamma = -1;
  group.clip_norm = 0;
  refused("groups[0].gamma: must be in [1e-30, 1e30], got -1");
  group.part_count = 2;
  refused("groups[0].part_sizes: and part_scales must not be NULL");
  group.part_count = (size_t)-1;
  refused("groups[0].part_count: must be at most 1048576, got ");
  group.part_count = 2;
  group.part_sizes = sizes;
  group.part_scales = scales;
  refused("groups[0].parts: must add up to the group's 4, got 5");
  options.noise_multiplier = 0;
  refused("noise_multiplier: ");
  options.allocation = 2;
  refused("allocation: must be a constant from 0 to 1, got 2");
  options.microbatches = -1;
  refused("microbatches: must be a constant from 0 to 1, got -1");
  options.threads = 257;
  refused("threads: must be in [1, 256], got 257");
  options.adaptive = &adaptive;
  refused("adaptive.rule: must be a constant from 1 to 2, got 0");
  adaptive.rule = DPLEDGER_MEAN_NORM;
  adaptive.quantile = 0.5;
  options.adaptive = &adaptive;
  refused("adaptive.quantile: must be 0 for this rule, got 0.5");
  adaptive.quantile = 0;
  options.adaptive = &adaptive;
  refused("adaptive.alpha: must be in [0.001, 1000], got 0");
}

// A caller of another version: sizes that are no struct's, members that are not known here.
static void struct_sizes(void) {
  struct {
    dpledger_privatizer_options known;
    uint64_t added;
  } newer;
  dpledger_clip_group groups[2];
  dpledger_sum* sum = NULL;
  good_options();
  options.struct_size = 0;
  refused("options.struct_size: must be the struct's sizeof, in [");
  options.struct_size = sizeof(options) - 1;
  refused("options.struct_size: must be the struct's sizeof, in [");
  options.struct_size = 5000;
  refused("options.struct_size: must be the struct's sizeof, in [");
  group.struct_size = 0;
  refused("groups[0].struct_size: must be the struct's sizeof, the same in every element, got 0");
  groups[0] = groups[1] = group;
  groups[1].name = "other";
  groups[1].struct_size = sizeof(group) + 8;
  options.groups = groups;
  options.group_count = 2;
  refused("groups[1].struct_size: must be the struct's sizeof, the same in every element, got ");

  memset(&newer, 0, sizeof(newer));
  newer.known = options;
  newer.known.struct_size = sizeof(newer);
  CHECK_OK(dpledger_sum_create((const dpledger_privatizer_options*)&newer, &sum, error));
  dpledger_sum_free(sum);
  newer.added = 1;
  CHECK_INVALID(dpledger_sum_create((const dpledger_privatizer_options*)&newer, &sum, error),
                "options.struct_size: has members set that this library does not know");
}

static void rows_and_sums(void) {
  const float gradients[8] = {0};
  const double norms[2] = {0};
  const int64_t values[4] = {0};
  dpledger_gradient_rows rows = {sizeof(rows)};
  dpledger_sum* sum = NULL;
  good_options();
  CHECK_OK(dpledger_sum_create(&options, &sum, error));
  CHECK_INVALID(dpledger_sum_accumulate(sum, NULL, error), "rows: must not be NULL");
  CHECK_OK(dpledger_sum_accumulate(sum, &rows, error));  // no rows
  rows.count = 2;
  CHECK_INVALID(dpledger_sum_accumulate(sum, &rows, error), "rows.first: must not be NULL");
  rows.first = (const char*)gradients + 1;
  CHECK_INVALID(dpledger_sum_accumulate(sum, &rows, error), "rows.first: must be aligned");
  rows.first = gradients;
  rows.stride = 3;
  CHECK_INVALID(dpledger_sum_accumulate(sum, &rows, error),
                "rows.stride: must be 0 or at least 4, got 3");
  rows.stride = (size_t)-1;
  CHECK_INVALID(dpledger_sum_accumulate(sum, &rows, error),
                "rows.count: must fit the address space");
  rows.stride = 0;
  rows.count = (size_t)1 << 60;
  CHECK_INVALID(dpledger_sum_accumulate(sum, &rows, error),
                "rows.count: must fit the address space");
  rows.count = 2;
  rows.format = 77;
  CHECK_INVALID(dpledger_sum_accumulate(sum, &rows, error), "rows.format: must be a constant");
  rows.format = DPLEDGER_FLOAT32;
  rows.reserved = 1;
  CHECK_INVALID(dpledger_sum_accumulate(sum, &rows, error), "rows.reserved: must be 0, got 1");
  rows.reserved = 0;
  CHECK_INVALID(dpledger_sum_accumulate_with_norms(sum, &rows, norms, 1, error),
                "norms: must be one for each row and group, 2, got 1");
  CHECK_INVALID(dpledger_sum_accumulate_with_norms(sum, &rows, NULL, 2, error),
                "norms: must not be NULL");
  CHECK_OK(dpledger_sum_accumulate_with_norms(sum, &rows, norms, 2, error));
  CHECK_INVALID(dpledger_sum_add_sums(sum, values, 3, error), "sums: must be 4, got 3");
  CHECK_INVALID(dpledger_sum_add_sums(sum, NULL, 4, error), "sums: must not be NULL");
  CHECK_OK(dpledger_sum_clear(sum, error));
  CHECK_INVALID(dpledger_sum_set_clip_norm(sum, -1, error), "clip_norm: ");
  dpledger_sum_free(sum);
}

static void samplers(void) {
  dpledger_sampling_scheme scheme = {sizeof(scheme)};
  dpledger_sampler* sampler = NULL;
  const uint64_t *first = NULL, *sample = NULL;
  size_t size = 0;
  CHECK_INVALID(dpledger_sampler_create(NULL, &sampler, error), "scheme: must not be NULL");
  CHECK_INVALID(dpledger_sampler_create(&scheme, &sampler, error),
                "scheme.kind: must be a constant from 1 to 7, got 0");
  scheme.kind = DPLEDGER_POISSON;
  CHECK_INVALID(dpledger_sampler_create(&scheme, &sampler, error), "scheme.population_size: ");
  scheme.population_size = 4;
  CHECK_INVALID(dpledger_sampler_create(&scheme, &sampler, error), "scheme.probability: ");
  scheme.probability = 1;
  scheme.epoch = 1;
  CHECK_INVALID(dpledger_sampler_create(&scheme, &sampler, error),
                "scheme.epoch: must be 0 for this kind of scheme, got 1");
  scheme.epoch = 0;
  CHECK_OK(dpledger_sampler_create(&scheme, &sampler, error));
  CHECK_INVALID(dpledger_sampler_draw(sampler, NULL, &size, error), "sample: must not be NULL");
  CHECK_INVALID(dpledger_sampler_draw(sampler, &first, NULL, error), "size: must not be NULL");
  CHECK_OK(dpledger_sampler_draw(sampler, &sample, &size, error));
  CHECK(size == 4 && sample[0] == 0 && sample[3] == 3);
  dpledger_sampler_free(sampler);
  sampler = NULL;
  scheme.kind = DPLEDGER_WITHOUT_REPLACEMENT;
  scheme.probability = 0;
  scheme.sample_size = 5;
  CHECK_INVALID(dpledger_sampler_create(&scheme, &sampler, error), "scheme.sample_size: ");
  scheme.kind = DPLEDGER_WITH_REPLACEMENT;
  CHECK_FAILS(dpledger_sampler_create(&scheme, &sampler, error), DPLEDGER_UNIMPLEMENTED,
              "scheme.kind: has no sampler here");
  scheme.kind = DPLEDGER_DISJOINT_BATCHES;
  scheme.sample_size = 0;
  CHECK_INVALID(dpledger_sampler_create(&scheme, &sampler, error), "scheme.rounds_per_epoch: ");
  scheme.rounds_per_epoch = 2;
  scheme.epoch = 1;
  CHECK_INVALID(dpledger_sampler_create(&scheme, &sampler, error),
                "scheme.epoch: must be 0: a sampler numbers its epochs itself, got 1");
  scheme.kind = DPLEDGER_FULL_BATCH;
  scheme.rounds_per_epoch = scheme.epoch = 0;
  scheme.population_size = 0;
  CHECK_INVALID(dpledger_sampler_create(&scheme, &sampler, error), "scheme.population_size: ");
  CHECK(sampler == NULL);
}

// Both sides of a fork would draw the same, so the child may not.
static void fork_of_a_sampler(void) {
  dpledger_sampling_scheme scheme = {sizeof(scheme)};
  dpledger_sampler* sampler = NULL;
  const uint64_t* sample = NULL;
  size_t size = 0;
  int status = 0;
  pid_t child;
  scheme.kind = DPLEDGER_POISSON;
  scheme.population_size = 100;
  scheme.probability = 0.5;
  CHECK_OK(dpledger_sampler_create(&scheme, &sampler, error));
  child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    CHECK_FAILS(dpledger_sampler_draw(sampler, &sample, &size, error), DPLEDGER_FAILED_PRECONDITION,
                "");
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK_OK(dpledger_sampler_draw(sampler, &sample, &size, error));
  dpledger_sampler_free(sampler);
}

static void recorders(void) {
  dpledger_declaration declaration = {sizeof(declaration)};
  dpledger_recorder_options given = {sizeof(given)};
  dpledger_recorder* recorder = NULL;
  given.server = "127.0.0.1:1";  // nobody listens
  CHECK_INVALID(dpledger_recorder_open(&given, &recorder, error), "ledger: must not be NULL");
  given.ledger = "No Name";
  CHECK_INVALID(dpledger_recorder_open(&given, &recorder, error), "declaration: must not be NULL");
  given.declaration = &declaration;
  declaration.dataset = "adult";
  declaration.unit_of_privacy = "example\xc0\x80";
  CHECK_INVALID(dpledger_recorder_open(&given, &recorder, error),
                "declaration.unit_of_privacy: must be UTF-8");
  declaration.unit_of_privacy = "example";
  CHECK_INVALID(dpledger_recorder_open(&given, &recorder, error),
                "declaration.adjacency: must be a constant from 1 to 3, got 0");
  declaration.adjacency = DPLEDGER_REPLACE_ONE;
  declaration.parameters = 3;
  CHECK_INVALID(dpledger_recorder_open(&given, &recorder, error),
                "declaration.parameters: must be a constant from 1 to 2, got 3");
  declaration.parameters = DPLEDGER_ADAPTIVE;
  declaration.filter_bound = 1;
  CHECK_INVALID(dpledger_recorder_open(&given, &recorder, error),
                "declaration.filter_bound: must be 0 without a filter, got 1");
  declaration.filter = DPLEDGER_ZCDP_FILTER;
  declaration.filter_order = 2;
  CHECK_INVALID(dpledger_recorder_open(&given, &recorder, error),
                "declaration.filter_order: must be 0 for this filter, got 2");
  declaration.filter_order = 0;
  declaration.filter_delta = 0.5;
  CHECK_INVALID(dpledger_recorder_open(&given, &recorder, error),
                "declaration.filter_delta: must be 0 for this filter, got 0.5");
  declaration.filter_delta = 0;
  given.path = "line.ledger";
  CHECK_INVALID(dpledger_recorder_open(&given, &recorder, error),
                "path: must not be given together with server");
  given.path = NULL;
  given.spool_folder = folder;
  given.policy = 9;
  CHECK_INVALID(dpledger_recorder_open(&given, &recorder, error),
                "policy: must be a constant from 0 to 2, got 9");
  given.policy = DPLEDGER_SPOOL;
  given.plan_varies = 2;
  CHECK_INVALID(dpledger_recorder_open(&given, &recorder, error),
                "plan_varies: must be a constant from 0 to 1, got 2");
  given.plan_varies = 1;
  given.open_timeout_seconds = -1;
  CHECK_INVALID(dpledger_recorder_open(&given, &recorder, error),
                "open_timeout_seconds: must be finite and >= 0, got -1");
  given.open_timeout_seconds = INFINITY;
  CHECK_INVALID(dpledger_recorder_open(&given, &recorder, error),
                "open_timeout_seconds: must be finite and >= 0, got inf");
  given.open_timeout_seconds = 1e-3;
  CHECK_INVALID(dpledger_recorder_open(&given, &recorder, error), "ledger: must be a name of");
  given.ledger = "away";
  given.writer = "a b";
  CHECK_INVALID(dpledger_recorder_open(&given, &recorder, error), "writer: must be 1 to 64 bytes");
  given.writer = NULL;
  CHECK(dpledger_recorder_open(&given, &recorder, error) != DPLEDGER_OK);
  CHECK(dpledger_error_status(error) == DPLEDGER_UNAVAILABLE ||
        dpledger_error_status(error) == DPLEDGER_DEADLINE_EXCEEDED);
  CHECK(recorder == NULL && *dpledger_error_message(error) != '\0');
  // A trainer of before there were ledgers in folders, whose server's name got lost.
  given.server = NULL;
  given.struct_size = offsetof(dpledger_recorder_options, path);
  CHECK_INVALID(dpledger_recorder_open(&given, &recorder, error),
                "server: must be given as host:port");
}

static void no_memory(void) {
  const struct rlimit limit = {(rlim_t)8 << 30, (rlim_t)8 << 30};
  dpledger_sum* sum = NULL;
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  good_options();
  group.size = (size_t)1 << 40;
  CHECK_FAILS(dpledger_sum_create(&options, &sum, error), DPLEDGER_RESOURCE_EXHAUSTED,
              "out of memory");
  CHECK(sum == NULL);
}

int main(int argc, char** argv) {
  CHECK(argc >= 2);
  folder = argv[1];
  error = dpledger_error_new();
  CHECK(dpledger_abi_version() == (DPLEDGER_ABI_MAJOR << 16 | DPLEDGER_ABI_MINOR));
  CHECK(strcmp(dpledger_status_name(DPLEDGER_DATA_LOSS), "DATA_LOSS") == 0);
  CHECK(strcmp(dpledger_status_name(-1), "UNKNOWN") == 0);
  CHECK(strcmp(dpledger_status_name(17), "UNKNOWN") == 0);
  if (argc == 3 && strcmp(argv[2], "no-memory") == 0) {
    no_memory();
  } else {
    good_options();
    null_handles();
    strategies();
    struct_sizes();
    rows_and_sums();
    samplers();
    fork_of_a_sampler();
    recorders();
  }
  dpledger_error_free(error);
  return 0;
}
