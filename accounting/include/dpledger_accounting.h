// The accountant in plain C: what a history of events costs, without a server. One call takes a
// question and gives its answer, both as the messages of AccountingService
// (proto/dpledger/v1/accounting_service.proto); a server asked about the same events answers the
// same.
//
//   const char question[] =
//       "{\"delta\": 1e-5, \"subject\": {\"events\": [{\"rounds\": {"
//       "\"count\": 10000, \"scheme\": {\"poisson\": {\"probability\": 0.01}},"
//       "\"queries\": [{\"l2NormBound\": 1, \"noiseStddev\": 1}]}}]}}";
//   void* answer;
//   size_t size;
//   int32_t code = dpledger_accounting_call(DPLEDGER_ACCOUNTING_JSON, "ComputeEpsilon", question,
//                                           sizeof(question) - 1, &answer, &size);
//   fwrite(answer, 1, size, code == 0 ? stdout : stderr);  // {"epsilon":{"lower":6.18771...
//   dpledger_accounting_free(answer);
//
// Link with libdpledger_accounting.
//
// 1. No C++ exception comes out, and no question ends the process: where memory is short a call
//    returns 8 (RESOURCE_EXHAUSTED).
// 2. A question about ledgers or a data set is refused with 3 (INVALID_ARGUMENT): here are none.
// 3. A call computes with rounding to nearest, subnormal numbers and no traps, whatever the calling
//    thread has set, and leaves the thread's floating-point state as it was.
// 4. A call has no deadline: it runs in the calling thread until it has the answer.
// 5. What is here stays as it is: functions and constants may be added, with another
//    DPLEDGER_ACCOUNTING_ABI_MINOR. Anything else is another library, libdpledger_accounting.so.2.
//
// Thread safe. A child of a fork may call too, whatever the parent's other threads were doing.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DPLEDGER_ACCOUNTING_API __attribute__((visibility("default")))

#define DPLEDGER_ACCOUNTING_ABI_MAJOR 1
#define DPLEDGER_ACCOUNTING_ABI_MINOR 0

// (major << 16) + minor of the library. It serves a caller that was compiled with the same major
// number and a minor one that is not greater.
DPLEDGER_ACCOUNTING_API uint32_t dpledger_accounting_abi_version(void);

// The software's version, "0.1.0", which every answer states too. Lives for ever.
DPLEDGER_ACCOUNTING_API const char* dpledger_accounting_version(void);

// How questions and answers are written.
enum {
  DPLEDGER_ACCOUNTING_BINARY = 0,  // protobuf's wire form
  DPLEDGER_ACCOUNTING_JSON = 1     // proto JSON, UTF-8, without a NUL at the end
};

// Answers `question`, `question_size` bytes of the request of AccountingService's method `method`
// ("ComputeEpsilon", "ComputeDelta", "Calibrate", "ComputeTuningCost", "ComputeProfile",
// "AuditClaim"), in the given encoding. `question` may be NULL if the size is 0: an empty message.
//
// Returns 0 and puts the method's response into *answer, or returns the code of an error, one of
// gRPC's 1 to 16, and puts there a google.rpc.Status: the code, a message that names the field and
// the rule, and a google.rpc.ErrorInfo (domain "dpledger", a reason, metadata such as the field).
// Both are *answer_size bytes in the question's encoding (binary if it is neither), and are the
// caller's, to be freed by dpledger_accounting_free. *answer is NULL and *answer_size 0 if there
// was no memory for the status (the code is 8 then) and for an empty response.
//
// 3 (INVALID_ARGUMENT) also for NULL, an unknown encoding and a malformed message, 12
// (UNIMPLEMENTED) for an unknown method. If `answer` or `answer_size` is NULL, 3 alone.
DPLEDGER_ACCOUNTING_API int32_t dpledger_accounting_call(int32_t encoding, const char* method,
                                                         const void* question, size_t question_size,
                                                         void** answer, size_t* answer_size);

// Frees an answer. NULL does nothing.
DPLEDGER_ACCOUNTING_API void dpledger_accounting_free(void* answer);

#ifdef __cplusplus
}
#endif
