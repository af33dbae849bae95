// The register of issued statements: the server's own ledger, whose notes are StatementNote of
// statement_service.proto as JSON. It is stored, signed and exported like every other ledger.
//
// 1. A statement's number is the sequence of its entry. No number is left out, so who reads the
//    register sees how many statements there are.
// 2. A withdrawal is an entry of its own; the statement's stays.
// 3. The register holds hashes of documents, and no document.
// Several servers share it. Thread safe; Enter, Withdraw and Find may wait for the disk or for a
// signature.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "dpledger/v1/statement_service.pb.h"
#include "ledger_store/store.h"
#include "server/call_context.h"
#include "server/own_ledgers/note_log.h"
#include "server/signing/signed_logs.h"

namespace dpledger::server {

inline constexpr char kRegisterLedger[] = "projects/statements/ledgers/register";

class StatementRegister {
 public:
  // Both must outlive the object.
  StatementRegister(LedgerStore* store, SignedLogs* logs);

  // Enters what `make` makes for the number that it is given; it is called again with a later one
  // if another server was faster. INVALID_ARGUMENT (issuer) if that is too long for a note.
  absl::Status Enter(const std::function<absl::StatusOr<v1::IssuedStatement>(uint64_t)>& make,
                     const CallContext& call);
  // INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION (WITHDRAWN): as the request's message says.
  absl::StatusOr<v1::IssuedStatement> Withdraw(const v1::WithdrawStatementRequest& request,
                                               absl::Time now, const CallContext& call);

  // INVALID_ARGUMENT, NOT_FOUND; DATA_LOSS if the register is damaged.
  absl::StatusOr<v1::FindStatementResponse> Find(const v1::FindStatementRequest& request,
                                                 const CallContext& call);
  // Of all callers: the desk leaves out what this one may not see.
  absl::StatusOr<v1::ListStatementsResponse> List(const v1::ListStatementsRequest& request,
                                                  const CallContext& call);

 private:
  // Takes notice of the entries that have come. The register's size; 0: it was never made.
  absl::StatusOr<uint64_t> Refresh(const CallContext& call) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Take(uint64_t sequence, const std::string& bytes) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  // That the register of `size` entries has the statement, and no withdrawal of it.
  absl::Status CheckStands(const v1::WithdrawStatementRequest& request, uint64_t size,
                           v1::IssuedStatement& statement) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  // Adds what was said of it later.
  void AddWithdrawal(v1::IssuedStatement& statement) ABSL_LOCKS_EXCLUDED(mutex_);

  LedgerStore& store_;
  SignedLogs& logs_;
  absl::Mutex mutex_;
  NoteLog log_ ABSL_GUARDED_BY(mutex_);
  // By the document's hash, in 32 bytes: some 200 bytes a statement.
  std::unordered_map<std::string, uint64_t> numbers_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, v1::StatementWithdrawal> withdrawals_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::server
