#include "server/statement/register.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/hex.h"
#include "base/status.h"
#include "events/field_checks.h"
#include "events/names.h"
#include "events/proto_json.h"
#include "events/unknown_fields.h"
#include "ledger_store/evidence/log_reader.h"
#include "merkle/tlog_proof.h"
#include "server/own_ledgers/own_ledgers.h"

namespace dpledger::server {
namespace {

constexpr char kWriter[] = "server";
constexpr int kMostTries = 16;  // each lost one is a statement that another server has entered
constexpr size_t kPageEntries = 500;
constexpr size_t kPageBytes = size_t{4} << 20;
constexpr uint64_t kMostLooked = 2'000;  // entries for one page of a list
constexpr uint32_t kUsualPage = 100, kMostPage = 1000;
constexpr size_t kHashBytes = 32;
constexpr size_t kMostReasonBytes = 1024;

absl::Status CheckTime(const CallContext& call) {
  if (call.cancelled && call.cancelled()) return absl::CancelledError("the caller has gone");
  if (absl::Now() > call.deadline) return absl::DeadlineExceededError("the call's time is up");
  return absl::OkStatus();
}

absl::Status Damaged(uint64_t sequence, const absl::string_view what) {
  return absl::DataLossError(absl::StrCat(kRegisterLedger, ": entry ", sequence, ": ", what));
}

// A note of nothing for entries that are none.
absl::StatusOr<v1::StatementNote> NoteOf(uint64_t sequence, const std::string& bytes) {
  v1::LedgerEntry entry;
  v1::StatementNote note;
  if (!entry.ParseFromString(bytes)) return Damaged(sequence, "is no entry");
  if (!entry.has_note()) return note;
  const absl::Status read =
      events::MessageFromJson(entry.note().text(), "a note", note, events::Unknown::kPassedOver);
  if (!read.ok()) return Damaged(sequence, read.message());
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

absl::StatusOr<uint64_t> StatementRegister::Refresh(const CallContext& call) {
  const absl::StatusOr<v1::Ledger> ledger = store_.Get(kRegisterLedger, kNoWriters);
  if (absl::IsNotFound(ledger.status())) return 0;
  RETURN_IF_ERROR(ledger.status());
  absl::MutexLock lock(&mutex_);
  while (read_ < ledger->size()) {
    RETURN_IF_ERROR(CheckTime(call));
    ASSIGN_OR_RETURN(const std::vector<std::string> entries,
                     store_.Read(kRegisterLedger, read_, kPageEntries, kPageBytes));
    if (entries.empty()) return Damaged(read_, "is lost");
    for (const std::string& bytes : entries) {
      ASSIGN_OR_RETURN(const v1::StatementNote note, NoteOf(read_, bytes));
      RETURN_IF_ERROR(Take(read_, note));
      ++read_;
    }
  }
  return read_;
}

absl::Status StatementRegister::Take(uint64_t sequence, const v1::StatementNote& note) {
  if (note.has_withdrawal()) withdrawals_.emplace(note.withdrawal().number(), note.withdrawal());
  if (!note.has_issued()) return absl::OkStatus();
  for (const std::string& hex : {note.issued().markdown_sha256(), note.issued().html_sha256()}) {
    const absl::StatusOr<std::string> hash = HashBytes(hex);
    if (!hash.ok()) return Damaged(sequence, hash.status().message());
    numbers_.emplace(*hash, sequence);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> StatementRegister::Append(const v1::StatementNote& note, uint64_t size) {
  v1::AppendBatchRequest batch = NoteBatch(kRegisterLedger, kWriter, absl::StrCat("entry-", size),
                                           {events::MessageToJson(note)});
  batch.set_expected_sequence(size);
  const absl::Status stored = store_.Append(std::move(batch)).status();
  const std::string reason = ReasonOf(stored).reason;
  if (reason == "SEQUENCE_MISMATCH" || reason == "REQUEST_ID_REUSED") return false;
  RETURN_IF_ERROR(stored);
  return true;
}

absl::Status StatementRegister::Enter(
    const std::function<absl::StatusOr<v1::IssuedStatement>(uint64_t)>& make,
    const CallContext& call) {
  for (int i = 0; i < kMostTries; ++i) {
    ASSIGN_OR_RETURN(uint64_t size, Refresh(call));
    if (size == 0) {
      RETURN_IF_ERROR(store_
                          .Create(NewOwnLedger(kRegisterLedger, "statements", "statement",
                                               "statements that were issued; docs/statements.md"))
                          .status());
      size = 1;
    }
    v1::StatementNote note;
    ASSIGN_OR_RETURN(*note.mutable_issued(), make(size));
    if (events::MessageToJson(note).size() > kMaxNoteBytes)
      return FieldError("issuer", "its texts are too long for the register together");
    ASSIGN_OR_RETURN(const bool entered, Append(note, size));
    if (entered) return absl::OkStatus();
  }
  return absl::AbortedError("other statements are entered at the same time; try again");
}

absl::StatusOr<v1::IssuedStatement> StatementRegister::Withdraw(
    const v1::WithdrawStatementRequest& request, absl::Time now, const CallContext& call) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  RETURN_IF_ERROR(events::Text(1, kMostReasonBytes, "reason", request.reason()));
  for (int i = 0; i < kMostTries; ++i) {
    ASSIGN_OR_RETURN(const uint64_t size, Refresh(call));
    if (request.number() >= size) return NotThere(request.number());
    ASSIGN_OR_RETURN(const std::vector<std::string> entries,
                     store_.Read(kRegisterLedger, request.number(), 1, kPageBytes));
    if (entries.empty()) return Damaged(request.number(), "is lost");
    ASSIGN_OR_RETURN(v1::StatementNote found, NoteOf(request.number(), entries[0]));
    v1::IssuedStatement statement = std::move(*found.mutable_issued());
    if (!found.has_issued() || !SameAbout(request, statement)) return NotThere(request.number());
    AddWithdrawal(statement);
    if (statement.has_withdrawal()) {
      return WithReason(absl::FailedPreconditionError(absl::StrCat(
                            "number: statement ", request.number(), " was withdrawn before")),
                        {"WITHDRAWN", {{"field", "number"}}});
    }
    v1::StatementNote note;
    v1::StatementWithdrawal& withdrawal = *note.mutable_withdrawal();
    withdrawal.set_number(request.number());
    withdrawal.set_reason(request.reason());
    withdrawal.set_caller(call.NameInEntries());
    withdrawal.mutable_time()->set_seconds(absl::ToUnixSeconds(now));
    if (events::MessageToJson(note).size() > kMaxNoteBytes)
      return FieldError("reason", "is too long for the register");
    ASSIGN_OR_RETURN(const bool entered, Append(note, size));
    if (!entered) continue;
    *statement.mutable_withdrawal() = withdrawal;
    return statement;
  }
  return absl::AbortedError("other statements are entered at the same time; try again");
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
  const uint64_t least = end > kMostLooked ? end - kMostLooked : 0;
  v1::ListStatementsResponse response;
  while (end > least && response.statements_size() < wanted) {
    RETURN_IF_ERROR(CheckTime(call));
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
