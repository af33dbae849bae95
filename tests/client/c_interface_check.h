// What the C programs that use libdpledger check with: a failed check says where and ends the
// program with 1.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/dpledger.h"

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
