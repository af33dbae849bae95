#include "server/own_ledgers/access_history.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "events/proto_json.h"
#include "events/unknown_fields.h"
#include "identity/grant.h"
#include "server/own_ledgers/note_log.h"
#include "server/own_ledgers/own_ledgers.h"

namespace dpledger::server {
namespace {

constexpr uint32_t kPageSize = 100, kMaxPageSize = 1'000;
constexpr uint64_t kMostNotes = 100'000;  // that one call looks at
constexpr uint64_t kStep = 1'000;         // of these at once
constexpr size_t kMonths = 1'000;
constexpr size_t kMonthBytes = 7;  // of "2026-11"
constexpr std::string_view kAdminister = "administer";

// Where an answer goes on: below entry `end` of a month's ledger, and in the months before it.
struct Place {
  std::string month;
  uint64_t end = 0;
};

bool AreDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

bool IsMonth(std::string_view text) {
  return text.size() == kMonthBytes && AreDigits(text.substr(0, 4)) && text[4] == '-' &&
         AreDigits(text.substr(5)) && text.substr(5) >= "01" && text.substr(5) <= "12";
}

bool IsPermission(std::string_view text) {
  for (int i = 0; i < identity::kPermissions; ++i) {
    if (identity::PermissionName(static_cast<identity::Permission>(i)) == text) return true;
  }
  return false;
}

absl::StatusOr<std::optional<Place>> PlaceOf(const std::string& token) {
  if (token.empty()) return std::nullopt;
  Place place;
  place.month = token.substr(0, kMonthBytes);
  if (IsMonth(place.month) && token.size() > kMonthBytes && token[kMonthBytes] == '.' &&
      AreDigits(token.substr(kMonthBytes + 1)) &&
      absl::SimpleAtoi(token.substr(kMonthBytes + 1), &place.end)) {
    return place;
  }
  return FieldError("page_token", "must be that of an answer");
}

absl::Status Check(const v1::ListAccessRequest& request) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  for (const auto& [field, month] : {std::pair("first_month", &request.first_month()),
                                     std::pair("last_month", &request.last_month())}) {
    if (!month->empty() && !IsMonth(*month))
      return FieldError(field, absl::StrCat("must be YYYY-MM, got ", identity::Shown(*month)));
  }
  if (!request.first_month().empty() && !request.last_month().empty() &&
      request.first_month() > request.last_month()) {
    return FieldError("first_month", "must not be after last_month");
  }
  if (!request.permission().empty() && !IsPermission(request.permission())) {
    return FieldError("permission", absl::StrCat("must be list, ask, read_entries, export, verify, "
                                                 "append or another that a role has, got ",
                                                 identity::Shown(request.permission())));
  }
  if (request.page_size() > kMaxPageSize) {
    return FieldError(
        "page_size", absl::StrCat("must be at most ", kMaxPageSize, ", got ", request.page_size()));
  }
  return absl::OkStatus();
}

// Leaves of the message what matches. False if that is nothing.
bool Matches(const v1::ListAccessRequest& request, v1::Access& access) {
  const auto is = [](const std::string& wanted, const std::string& found) {
    return wanted.empty() || wanted == found;
  };
  if (!is(request.caller(), access.caller())) return false;
  if (request.known_callers() && access.caller().empty()) return false;
  if (request.refused() && !access.has_refused()) return false;
  if (access.has_refused()) {
    return is(request.resource(), access.refused().resource()) &&
           is(request.permission(), access.refused().permission());
  }
  if (access.has_administers()) {
    return is(request.resource(), access.administers().about()) &&
           is(request.permission(), std::string(kAdminister));
  }
  // What is counted under no name may be of this one.
  auto& reads = *access.mutable_reads();
  const auto left = std::remove_if(reads.begin(), reads.end(), [&](const auto& read) {
    const bool of_it = is(request.resource(), read.resource()) || read.resource() == kOthers;
    return !of_it || !is(request.permission(), read.permission());
  });
  reads.erase(left, reads.end());
  return !reads.empty();
}

// One question: what it has found, and how much it may still look at.
class Search {
 public:
  Search(LedgerReader& store, SignedLogs& logs, const v1::ListAccessRequest& request,
         const CallContext& call)
      : store_(store),
        logs_(logs),
        request_(request),
        call_(call),
        page_size_(request.page_size() == 0 ? kPageSize : request.page_size()) {}

  // Looks at entries below `end` of the ledger, the last first. True if there is room for more.
  absl::StatusOr<bool> In(const std::string& ledger, uint64_t end) {
    const std::string month = ledger.substr(ledger.size() - kMonthBytes);
    while (end > 0) {
      const uint64_t first = end > kStep ? end - kStep : 0;
      ASSIGN_OR_RETURN(const std::vector<std::string> entries, Entries(ledger, first, end));
      for (size_t i = entries.size(); i-- > 0;) {
        if (full() || looked_ >= kMostNotes) {
          answer_.set_next_page_token(absl::StrCat(month, ".", first + i + 1));
          return false;
        }
        ++looked_;
        RETURN_IF_ERROR(Look(entries[i]));
      }
      end = first;
    }
    return true;
  }

  v1::ListAccessResponse Answer() { return std::move(answer_); }

 private:
  bool full() const { return static_cast<size_t>(answer_.access_size()) >= page_size_; }

  absl::StatusOr<std::vector<std::string>> Entries(const std::string& ledger, uint64_t first,
                                                   uint64_t end) {
    std::vector<std::string> entries;
    while (first + entries.size() < end) {
      RETURN_IF_ERROR(CheckWaiting(call_));
      const uint64_t from = first + entries.size();
      ASSIGN_OR_RETURN(
          std::vector<std::string> page,
          ReadSigned(store_, logs_, ledger, {from, end - from, kMaxNoteBytes * kStep}));
      if (page.empty()) return absl::DataLossError(absl::StrCat(ledger, ": has no entry ", from));
      std::move(page.begin(), page.end(), std::back_inserter(entries));
    }
    return entries;
  }

  absl::Status Look(const std::string& bytes) {
    // A note's text stands in its entry as it is: what does not hold the words is not read further.
    const auto has = [&bytes](std::string_view word) { return bytes.find(word) != bytes.npos; };
    if (!has(request_.caller()) || !(has(request_.resource()) || has(kOthers)))
      return absl::OkStatus();
    v1::LedgerEntry entry;
    if (!entry.ParseFromString(bytes)) return absl::DataLossError("the access record: a bad entry");
    if (!entry.has_note()) return absl::OkStatus();
    v1::Access access;
    RETURN_IF_ERROR(events::MessageFromJson(entry.note().text(), "a note of the access record",
                                            access, events::Unknown::kPassedOver));
    if (Matches(request_, access)) *answer_.add_access() = std::move(access);
    return absl::OkStatus();
  }

  LedgerReader& store_;
  SignedLogs& logs_;
  const v1::ListAccessRequest& request_;
  const CallContext& call_;
  const size_t page_size_;
  uint64_t looked_ = 0;
  v1::ListAccessResponse answer_;
};

}  // namespace

absl::StatusOr<v1::ListAccessResponse> AccessHistory::List(const v1::ListAccessRequest& request,
                                                           const CallContext& call) const {
  RETURN_IF_ERROR(Check(request));
  ASSIGN_OR_RETURN(const std::optional<Place> place, PlaceOf(request.page_token()));
  ASSIGN_OR_RETURN(std::vector<v1::Ledger> months,
                   store_->List(std::string(kAccessRecordProject), "", kMonths, kNoWriters));
  std::reverse(months.begin(), months.end());  // by name, so the newest is the last
  Search search(*store_, *logs_, request, call);
  for (const v1::Ledger& ledger : months) {
    const std::string month = ledger.name().substr(ledger.name().size() - kMonthBytes);
    if (month < request.first_month()) break;
    if (!request.last_month().empty() && month > request.last_month()) continue;
    uint64_t end = ledger.size();
    if (place.has_value()) {
      if (month > place->month) continue;
      if (month == place->month) end = std::min(end, place->end);
    }
    ASSIGN_OR_RETURN(const bool more_room, search.In(ledger.name(), end));
    if (!more_room) break;
  }
  return search.Answer();
}

}  // namespace dpledger::server
