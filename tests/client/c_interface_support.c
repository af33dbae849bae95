#include "tests/client/c_interface_support.h"

dpledger_error* error;

dpledger_recorder* open_recorder(const char* server, const char* ledger, const char* folder) {
  return open_recorder_under(server, ledger, folder, DPLEDGER_ZERO_OUT);
}

dpledger_recorder* open_recorder_under(const char* server, const char* ledger, const char* folder,
                                       int32_t adjacency) {
  dpledger_recorder* recorder = NULL;
  CHECK_OK(try_open_recorder(server, ledger, folder, adjacency, NULL, &recorder));
  return recorder;
}

dpledger_status try_open_recorder(const char* server, const char* ledger, const char* folder,
                                  int32_t adjacency, const dpledger_run_state* state,
                                  dpledger_recorder** recorder) {
  char spool[1024];
  dpledger_declaration declaration = {sizeof(declaration)};
  dpledger_recorder_options options = {sizeof(options)};
  CHECK(snprintf(spool, sizeof(spool), "%s/%s", folder, ledger) < (int)sizeof(spool));
  declaration.dataset = "adult";
  declaration.unit_of_privacy = "example";
  declaration.released = "all checkpoints";
  declaration.description = "mod\xc3\xa8le";
  declaration.adjacency = adjacency;
  declaration.parameters = DPLEDGER_FIXED;
  declaration.planned_rounds = 3;
  declaration.plan_independent = 1;
  options.server = server;
  options.ledger = ledger;
  options.writer = "c";
  options.declaration = &declaration;
  options.spool_folder = spool;
  options.release_timeout_seconds = 60;
  options.state = state;
  return dpledger_recorder_open(&options, recorder, error);
}

dpledger_sampling_scheme poisson(uint64_t population_size, double probability) {
  dpledger_sampling_scheme scheme = {sizeof(scheme)};
  scheme.kind = DPLEDGER_POISSON;
  scheme.population_size = population_size;
  scheme.probability = probability;
  return scheme;
}

dpledger_clip_group group_of(const char* name, size_t size, double clip_norm) {
  dpledger_clip_group group = {sizeof(group)};
  group.name = name;
  group.size = size;
  group.clip_norm = clip_norm;
  return group;
}

dpledger_privatizer_options options_of(const dpledger_clip_group* groups, size_t count,
                                       double noise_multiplier) {
  dpledger_privatizer_options options = {sizeof(options)};
  options.groups = groups;
  options.group_count = count;
  options.noise_multiplier = noise_multiplier;
  return options;
}

dpledger_gradient_rows rows_of(const float* first, size_t count) {
  dpledger_gradient_rows rows = {sizeof(rows)};
  rows.first = first;
  rows.count = count;
  return rows;
}

int run_part(int argc, char** argv, const program_part* parts, size_t count) {
  size_t i;
  CHECK(argc == 4);
  error = dpledger_error_new();
  CHECK(error != NULL && dpledger_error_status(error) == DPLEDGER_OK);
  for (i = 0; i < count; ++i) {
    if (strcmp(argv[1], parts[i].name) == 0) {
      parts[i].run(argv[2], argv[3]);
      dpledger_error_free(error);
      return 0;
    }
  }
  CHECK(!"a known part");
  return 1;
}
