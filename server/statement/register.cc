#include "server/statement/register.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/hex.h"
#include "base/status.h"
#include "events/field_checks.h"
#include "events/names.h"
#include "events/unknown_fields.h"
#include "ledger_store/evidence/log_reader.h"
#include "merkle/tlog_proof.h"
#include "server/own_ledgers/own_ledgers.h"

namespace dpledger::server {
namespace {

constexpr size_t kPageEntries = 500;
constexpr size_t kPageBytes = size_t{4} << 20;
constexpr uint64_t kMostLooked = 2'000;  // entries for one page of a list
constexpr uint32_t kUsualPage = 100, kMostPage = 1000;
constexpr size_t kHashBytes = 32;
constexpr size_t kMostReasonBytes = 1024;

absl::Status Damaged(uint64_t sequence, const absl::string_view what) {
  return absl::DataLossError(absl::StrCat(kRegisterLedger, ": entry ", sequence, ": ", what));
}

// A note of nothing for entries that are none.
absl::StatusOr<v1::StatementNote> NoteOf(uint64_t sequence, const std::string& bytes) {
  v1::StatementNote note;
  RETURN_IF_ERROR(ReadNote(kRegisterLedger, sequence, bytes, note));
  if (note.has_issued() && note.issued().number() != sequence)
    return Damaged(sequence, absl::StrCat("has number ", note.issued().number()));
  return note;
}

absl::StatusOr<std::string> HashBytes(const std::string& hex) {
  const bool lower = hex.find_first_not_of("0123456789abcdef") == hex.npos;
  if (!lower || hex.size() != 2 * kHashBytes) {
    return FieldError("sha256", absl::StrCat("must be 64 lower-case hexadecimal digits, got ",
                                             events::Quoted(hex)));
  }
  return HexDecode(hex);
}

template <typename A, typename B>
bool SameAbout(const A& a, const B& b) {
  return a.has_ledger() == b.has_ledger() && a.has_dataset() == b.has_dataset() &&
         a.ledger() == b.ledger() && a.dataset() == b.dataset();
}

absl::Status NotThere(uint64_t number) {
  return absl::NotFoundError(
      absl::StrCat("number: the register has no statement ", number, " about this"));
}

}  // namespace

StatementRegister::StatementRegister(LedgerStore* store, SignedLogs* logs)
    : store_(*store),
      logs_(*logs),
      log_(store,
           NewOwnLedger(kRegisterLedger, "statements", "statement",
                        "statements that were issued; docs/statements.md"),
           [this](uint64_t sequence, const std::string& bytes) { return Take(sequence, bytes); }) {}

absl::Status StatementRegister::Take(uint64_t sequence, const std::string& bytes) {
  ASSIGN_OR_RETURN(const v1::StatementNote note, NoteOf(sequence, bytes));
  if (note.has_withdrawal()) withdrawals_.emplace(note.withdrawal().number(), note.withdrawal());
  if (!note.has_issued()) return absl::OkStatus();
  for (const std::string& hex : {note.issued().markdown_sha256(), note.issued().html_sha256()}) {
    const absl::StatusOr<std::string> hash = HashBytes(hex);
    if (!hash.ok()) return Damaged(sequence, hash.status().message());
    numbers_.emplace(*hash, sequence);
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> StatementRegister::Refresh(const CallContext& call) {
  absl::MutexLock lock(&mutex_);
  return log_.Refresh(call);
}

absl::Status StatementRegister::Enter(
    const std::function<absl::StatusOr<v1::IssuedStatement>(uint64_t)>& make,
    const CallContext& call) {
  v1::StatementNote note;
  absl::MutexLock lock(&mutex_);
  return log_.Append(call, "issuer",
                     [&](uint64_t number) -> absl::StatusOr<const google::protobuf::Message*> {
                       ASSIGN_OR_RETURN(*note.mutable_issued(), make(number));
                       return &note;
                     });
}

absl::Status StatementRegister::CheckStands(const v1::WithdrawStatementRequest& request,
                                            uint64_t size, v1::IssuedStatement& statement) {
  if (request.number() >= size) return NotThere(request.number());
  ASSIGN_OR_RETURN(const std::vector<std::string> entries,
                   store_.Read(kRegisterLedger, request.number(), 1, kPageBytes));
  if (entries.empty()) return Damaged(request.number(), "is lost");
  ASSIGN_OR_RETURN(const v1::StatementNote found, NoteOf(request.number(), entries[0]));
  if (!found.has_issued() || !SameAbout(request, found.issued())) return NotThere(request.number());
  if (withdrawals_.contains(request.number())) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "number: statement ", request.number(), " was withdrawn before")),
                      {"WITHDRAWN", {{"field", "number"}}});
  }
  statement = found.issued();
  return absl::OkStatus();
}

absl::StatusOr<v1::IssuedStatement> StatementRegister::Withdraw(
    const v1::WithdrawStatementRequest& request, absl::Time now, const CallContext& call) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  RETURN_IF_ERROR(events::Text(1, kMostReasonBytes, "reason", request.reason()));
  v1::IssuedStatement statement;
  v1::StatementNote note;
  v1::StatementWithdrawal& withdrawal = *note.mutable_withdrawal();
  withdrawal.set_number(request.number());
  withdrawal.set_reason(request.reason());
  withdrawal.set_caller(call.NameInEntries());
  withdrawal.mutable_time()->set_seconds(absl::ToUnixSeconds(now));
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const uint64_t size, log_.Refresh(call));
  if (size == 0) return NotThere(request.number());
  const NoteLog::Make withdraw =
      [&](uint64_t end) -> absl::StatusOr<const google::protobuf::Message*> {
    RETURN_IF_ERROR(CheckStands(request, end, statement));
    return &note;
  };
  RETURN_IF_ERROR(log_.Append(call, "reason", withdraw));
  *statement.mutable_withdrawal() = withdrawal;
  return statement;
}

void StatementRegister::AddWithdrawal(v1::IssuedStatement& statement) {
  absl::MutexLock lock(&mutex_);
  const auto withdrawal = withdrawals_.find(statement.number());
  if (withdrawal != withdrawals_.end()) *statement.mutable_withdrawal() = withdrawal->second;
}

absl::StatusOr<v1::FindStatementResponse> StatementRegister::Find(
    const v1::FindStatementRequest& request, const CallContext& call) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  ASSIGN_OR_RETURN(const std::string hash, HashBytes(request.sha256()));
  RETURN_IF_ERROR(Refresh(call).status());
  uint64_t number = 0;
  {
    absl::MutexLock lock(&mutex_);
    const auto known = numbers_.find(hash);
    if (known == numbers_.end()) {
      return absl::NotFoundError(
          "sha256: no document of this hash was issued here: it was changed, or is another "
          "server's");
    }
    number = known->second;
  }
  ASSIGN_OR_RETURN(SignedCheckpoint signed_checkpoint,
                   logs_.AwaitSigned(kRegisterLedger, number + 1, call));
  merkle::TlogProof proof;
  proof.index = number;
  ASSIGN_OR_RETURN(proof.checkpoint, merkle::Note::Parse(signed_checkpoint.note));
  ASSIGN_OR_RETURN(const std::vector<std::string> entries,
                   store_.Read(kRegisterLedger, number, 1, kPageBytes));
  if (entries.empty()) return Damaged(number, "is lost");
  LogReader reader(store_, kRegisterLedger, std::move(signed_checkpoint));
  RETURN_IF_ERROR(reader.Check(number, entries));
  ASSIGN_OR_RETURN(LeafProof leaf, reader.ProveInclusion(number, reader.size()));
  proof.hashes = std::move(leaf.hashes);

  v1::FindStatementResponse response;
  ASSIGN_OR_RETURN(v1::StatementNote note, NoteOf(number, entries[0]));
  *response.mutable_statement() = std::move(*note.mutable_issued());
  AddWithdrawal(*response.mutable_statement());
  response.set_entry(entries[0]);
  ASSIGN_OR_RETURN(*response.mutable_proof(), merkle::TlogProofText(proof));
  return response;
}

absl::StatusOr<v1::ListStatementsResponse> StatementRegister::List(
    const v1::ListStatementsRequest& request, const CallContext& call) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  if (request.page_size() > kMostPage) {
    return FieldError("page_size",
                      absl::StrCat("must be at most ", kMostPage, ", got ", request.page_size()));
  }
  const int wanted = static_cast<int>(request.page_size() == 0 ? kUsualPage : request.page_size());
  ASSIGN_OR_RETURN(uint64_t end, Refresh(call));
  if (!request.page_token().empty()) {
    uint64_t before = 0;
    if (!absl::SimpleAtoi(request.page_token(), &before) || before > end)
      return FieldError("page_token", "must come from the answer before");
    end = before;
  }
  const bool all = request.about_case() == v1::ListStatementsRequest::ABOUT_NOT_SET;
  // Of all, a page is so many entries, whatever they are about: its end says nothing of those that
  // the desk leaves out.
  const uint64_t looked = all ? static_cast<uint64_t>(wanted) : kMostLooked;
  const uint64_t least = end > looked ? end - looked : 0;
  v1::ListStatementsResponse response;
  while (end > least && response.statements_size() < wanted) {
    RETURN_IF_ERROR(CheckWaiting(call));
    const uint64_t first = std::max(least, end > kPageEntries ? end - kPageEntries : 0);
    ASSIGN_OR_RETURN(const std::vector<std::string> entries,
                     ReadSigned(store_, logs_, kRegisterLedger, {first, end - first, kPageBytes}));
    if (entries.size() != end - first) return Damaged(first + entries.size(), "is lost");
    while (end > first && response.statements_size() < wanted) {
      --end;
      ASSIGN_OR_RETURN(v1::StatementNote note, NoteOf(end, entries[end - first]));
      if (!note.has_issued() || (!all && !SameAbout(request, note.issued()))) continue;
      AddWithdrawal(*note.mutable_issued());
      *response.add_statements() = std::move(*note.mutable_issued());
    }
  }
  if (end > 0) response.set_next_page_token(absl::StrCat(end));
  return response;
}

}  // namespace dpledger::server
