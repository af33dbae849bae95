// What the C programs that use libdpledger share. A failed check says where and ends the program
// with 1.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpledger.h"

// Of all calls in the program.
extern dpledger_error* error;

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

// For calls whose last argument is `error`.
#define CHECK_OK(call)                                                                            \
  do {                                                                                            \
    if ((call) != DPLEDGER_OK) {                                                                  \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__,                                      \
              dpledger_status_name(dpledger_error_status(error)), dpledger_error_message(error)); \
      exit(1);                                                                                    \
    }                                                                                             \
  } while (0)

// The call fails with the code, and the message begins so.
#define CHECK_FAILS(call, code, begin)                                                            \
  do {                                                                                            \
    if ((call) != (code) || dpledger_error_status(error) != (code) ||                             \
        strncmp(dpledger_error_message(error), (begin), strlen(begin)) != 0) {                    \
      fprintf(stderr, "%s:%d: must be %s: %s\nis %s: %s\n", __FILE__, __LINE__,                   \
              dpledger_status_name(code), (begin),                                                \
              dpledger_status_name(dpledger_error_status(error)), dpledger_error_message(error)); \
      exit(1);                                                                                    \
    }                                                                                             \
  } while (0)

// Of a ledger by the writer "c" with every member of a declaration set, its spool in `folder`.
dpledger_recorder* open_recorder(const char* server, const char* ledger, const char* folder);
dpledger_recorder* open_recorder_under(const char* server, const char* ledger, const char* folder,
                                       int32_t adjacency);
dpledger_status try_open_recorder(const char* server, const char* ledger, const char* folder,
                                  int32_t adjacency, const dpledger_run_state* state,
                                  dpledger_recorder** recorder);

dpledger_sampling_scheme poisson(uint64_t population_size, double probability);
dpledger_clip_group group_of(const char* name, size_t size, double clip_norm);
dpledger_privatizer_options options_of(const dpledger_clip_group* groups, size_t count,
                                       double noise_multiplier);
dpledger_gradient_rows rows_of(const float* first, size_t count);

// Runs the part that the command line names: PART SERVER FOLDER.
typedef struct program_part {
  const char* name;
  void (*run)(const char* server, const char* folder);
} program_part;
int run_part(int argc, char** argv, const program_part* parts, size_t count);
