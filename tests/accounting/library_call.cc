#include "tests/accounting/library_call.h"

#include "dpledger_accounting.h"

namespace dpledger::accounting {

LibraryAnswer AskLibrary(int32_t encoding, const std::string& method, const std::string& question) {
  LibraryAnswer result;
  void* answer = nullptr;
  size_t size = 0;
  result.code = dpledger_accounting_call(encoding, method.c_str(), question.data(), question.size(),
                                         &answer, &size);
  if (answer != nullptr) result.bytes.assign(static_cast<const char*>(answer), size);
  dpledger_accounting_free(answer);
  return result;
}

}  // namespace dpledger::accounting
