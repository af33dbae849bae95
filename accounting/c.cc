// include/dpledger_accounting.h over call.h: no exception comes out, and the answer's memory is the
// caller's.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>

#include "accounting/call.h"
#include "accounting/floating_point.h"
#include "base/status.h"
#include "dpledger_accounting.h"
#include "events/wire_errors.h"
#include "questions/answers.h"

namespace dpledger::accounting {
namespace {

constexpr auto kNoMemory = static_cast<int32_t>(absl::StatusCode::kResourceExhausted);

absl::StatusOr<std::string> Ask(int32_t encoding, const char* method, const void* question,
                                size_t size) {
  if (encoding != DPLEDGER_ACCOUNTING_BINARY && encoding != DPLEDGER_ACCOUNTING_JSON) {
    return FieldError("encoding", "must be 0 (binary) or 1 (JSON)");
  }
  if (method == nullptr) return FieldError("method", "must not be NULL");
  if (question == nullptr && size > 0) return FieldError("question", "must not be NULL");
  const DefaultFloatingPoint floating_point;
  if (!floating_point.set()) {
    return absl::InternalError("the thread's floating-point state cannot be set");
  }
  return Answer(static_cast<Encoding>(encoding), method,
                {static_cast<const char*>(question), size});
}

absl::StatusOr<std::string> AskGuarded(int32_t encoding, const char* method, const void* question,
                                       size_t size) {
  try {
    return Ask(encoding, method, question, size);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::length_error&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& exception) {
    return absl::InternalError(exception.what());
  } catch (...) {
    return absl::InternalError("unknown exception");
  }
}

// Gives `bytes` to the caller.
bool Give(const std::string& bytes, void** answer, size_t* answer_size) {
  if (bytes.empty()) return true;
  void* const copy = std::malloc(bytes.size());
  if (copy == nullptr) return false;
  std::memcpy(copy, bytes.data(), bytes.size());
  *answer = copy;
  *answer_size = bytes.size();
  return true;
}

int32_t Call(int32_t encoding, const char* method, const void* question, size_t size, void** answer,
             size_t* answer_size) {
  absl::StatusOr<std::string> result = AskGuarded(encoding, method, question, size);
  const auto code = static_cast<int32_t>(result.status().code());
  if (!result.ok()) {
    const bool json = encoding == DPLEDGER_ACCOUNTING_JSON;
    result = Serialize(json ? Encoding::kJson : Encoding::kBinary,
                       events::WithErrorInfo(result.status()));
  }
  return Give(*result, answer, answer_size) ? code : kNoMemory;
}

}  // namespace
}  // namespace dpledger::accounting

extern "C" {

uint32_t dpledger_accounting_abi_version(void) {
  return DPLEDGER_ACCOUNTING_ABI_MAJOR << 16 | DPLEDGER_ACCOUNTING_ABI_MINOR;
}

const char* dpledger_accounting_version(void) { return DPLEDGER_VERSION; }

int32_t dpledger_accounting_call(int32_t encoding, const char* method, const void* question,
                                 size_t question_size, void** answer, size_t* answer_size) {
  if (answer != nullptr) *answer = nullptr;
  if (answer_size != nullptr) *answer_size = 0;
  if (answer == nullptr || answer_size == nullptr) {
    return static_cast<int32_t>(absl::StatusCode::kInvalidArgument);
  }
  try {
    return dpledger::accounting::Call(encoding, method, question, question_size, answer,
                                      answer_size);
  } catch (...) {  // for the words of an error there was no memory
    return dpledger::accounting::kNoMemory;
  }
}

void dpledger_accounting_free(void* answer) { std::free(answer); }

}  // extern "C"
