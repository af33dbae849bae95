#include "server/summaries/listing_service.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/hex.h"
#include "base/status.h"
#include "events/field_checks.h"
#include "events/names.h"
#include "events/unknown_fields.h"
#include "google/protobuf/util/time_util.h"
#include "questions/answers.h"
#include "server/own_ledgers/own_ledgers.h"
#include "server/summaries/attention.h"
#include "server/summaries/list_token.h"

namespace dpledger::server {
namespace {

using events::CheckNoUnknownFields;
using google::protobuf::util::TimeUtil;

// An answer ends at about this size, well below the 4 MiB that gRPC clients take by default.
constexpr size_t kMaxAnswerBytes = size_t{1} << 20;
constexpr size_t kLooked = 1000;  // ledgers, between two looks at whether anybody waits
constexpr size_t kUsualPage = 100;
constexpr size_t kLongestPage = 1000;
// A list of data sets waits so long for totals that are not known yet.
constexpr absl::Duration kAwaitTotals = absl::Seconds(2);
constexpr int kMostNamed = 10;  // units and adjacencies of a data set
constexpr size_t kMostDamaged = 100;
constexpr size_t kMostAssignedBytes = 256, kMostTextBytes = 1024;  // of a note

absl::StatusOr<size_t> PageSize(uint32_t asked) {
  if (asked > kLongestPage) {
    return FieldError("page_size", absl::StrCat("must be at most ", kLongestPage, ", got ", asked));
  }
  return asked == 0 ? kUsualPage : asked;
}

absl::Status CheckParent(const std::string& parent) {
  if (parent == "projects/-") return absl::OkStatus();
  return events::CheckProjectName("parent", parent);
}

// A page of a list by name or place: what follows the token.
struct PageAfter {
  size_t size;
  std::string after;
};
template <typename Request>
absl::StatusOr<PageAfter> PageOf(const Request& request) {
  RETURN_IF_ERROR(CheckNoUnknownFields(request));
  ASSIGN_OR_RETURN(const size_t size, PageSize(request.page_size()));
  RETURN_IF_ERROR(CheckParent(request.parent()));
  const auto after = HexDecode(request.page_token());
  if (!after.ok()) return FieldError("page_token", "must come from the answer before");
  return PageAfter{size, *after};
}

// A ledger as answers show it.
struct Shown {
  explicit Shown(const LedgerRow& row) : ledger(row.Described()), summary(row.summary.get()) {}

  size_t bytes() const {
    return ledger.ByteSizeLong() + (summary == nullptr ? 0 : summary->ByteSizeLong());
  }
  template <typename Response>
  void AddTo(Response& response) && {
    *response.add_ledgers() = std::move(ledger);
    v1::LedgerSummary& added = *response.add_summaries();
    if (summary != nullptr) added = *summary;
  }

  v1::Ledger ledger;
  const v1::LedgerSummary* summary;  // the row's
};

// A data set, of one ledger after the other.
struct DatasetRows {
  LedgerRows rows;
  v1::DatasetSummary dataset;
  std::set<std::string> units;
  std::set<int> adjacencies;
  const v1::LedgerSummary* largest = nullptr;  // of the rows

  void Add(const std::shared_ptr<const LedgerRow>& row) {
    rows.push_back(row);
    const v1::Declaration& declaration = row->declaration();
    units.insert(declaration.unit_of_privacy());
    adjacencies.insert(declaration.adjacency());
    dataset.set_ledger_count(dataset.ledger_count() + 1);
    if (row->state() != v1::SEALED) dataset.set_open_count(dataset.open_count() + 1);
    const v1::LedgerSummary* const summary = row->summary.get();
    if (summary == nullptr) return;
    if (summary->has_refusal()) dataset.set_refused_count(dataset.refused_count() + 1);
    if (summary->conflicts() > 0) dataset.set_conflict_count(dataset.conflict_count() + 1);
    if (summary->last_entry_time().seconds() > dataset.last_entry_time().seconds()) {
      *dataset.mutable_last_entry_time() = summary->last_entry_time();
    }
    if (!summary->has_epsilon()) return;
    if (largest == nullptr || largest->epsilon().upper() < summary->epsilon().upper()) {
      largest = summary;
    }
  }
  v1::DatasetSummary Described(const std::string& name) {
    dataset.set_name(name);
    for (const std::string& unit : units) {
      if (dataset.units_of_privacy_size() < kMostNamed) dataset.add_units_of_privacy(unit);
    }
    for (const int adjacency : adjacencies) {
      if (dataset.adjacencies_size() < kMostNamed) {
        dataset.add_adjacencies(static_cast<v1::Adjacency>(adjacency));
      }
    }
    if (largest != nullptr) *dataset.mutable_largest() = *largest;
    return std::move(dataset);
  }
};

// These rows, a part at each call.
std::function<LedgerRows()> From(LedgerRows::const_iterator first, LedgerRows::const_iterator end) {
  return [first, end]() mutable {
    const auto begin = first;
    first += std::min(end - begin, static_cast<ptrdiff_t>(kLooked));
    return LedgerRows(begin, first);
  };
}

// As ComputeEpsilon refuses it.
void RefuseTotal(v1::DatasetSummary& dataset) {
  dataset.clear_epsilon();
  dataset.clear_delta();
  dataset.clear_largest();
  dataset.clear_regime();
  dataset.mutable_refusal()->set_reason(questions::kNotAllYours);
  dataset.mutable_refusal()->set_message(questions::kNotAllYoursText);
}

}  // namespace

ListingService::ListingService(LedgerTail* tail, LedgerIndex* index, DatasetTotals* totals,
                               AttentionNotes* notes, MayList may_list)
    : tail_(*tail),
      index_(*index),
      totals_(*totals),
      notes_(notes),
      may_list_(std::move(may_list)),
      orders_(std::make_shared<OrderedLists>(index)) {
  index_.Listen(orders_);
}

absl::StatusOr<v1::ListLedgersResponse> ListingService::ListLedgers(
    const v1::ListLedgersRequest& request, const CallContext& call) {
  RETURN_IF_ERROR(CheckNoUnknownFields(request));
  ASSIGN_OR_RETURN(const size_t page_size, PageSize(request.page_size()));
  RETURN_IF_ERROR(CheckParent(request.parent()));
  ASSIGN_OR_RETURN(const Filter filter, Filter::Parse(request.filter()));
  ASSIGN_OR_RETURN(const ListOrder order, ListOrder::Parse(request.order_by()));
  ListToken token = {{}, absl::Now()};
  const bool is_first = request.page_token().empty();
  if (!is_first) {
    ASSIGN_OR_RETURN(token, TokenOf(request));
  }
  RETURN_IF_ERROR(tail_.Refresh(call.deadline));

  LedgerRows found;
  const auto take = [&](const std::shared_ptr<const LedgerRow>& row) {
    if (filter.Holds({*row, token.now})) found.push_back(row);
    return found.size() <= page_size;  // one more: it tells that there is a next page
  };
  if (order.by_name()) {
    const std::string after(token.last.name);
    RETURN_IF_ERROR(ForEachVisible(ByName(request.parent(), after), call, take));
  } else {
    const OrderedRows rows = orders_->Of(request.parent(), order);
    const auto first =
        is_first ? rows->begin() : Behind(order, token.last, rows->begin(), rows->end());
    RETURN_IF_ERROR(ForEachVisible(From(first, rows->end()), call, take));
  }

  v1::ListLedgersResponse response;
  *response.mutable_server_time() =
      TimeUtil::NanosecondsToTimestamp(absl::ToUnixNanos(absl::Now()));
  size_t bytes = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    Shown shown(*found[i]);
    bytes += shown.bytes();
    if (i == page_size || (i > 0 && bytes > kMaxAnswerBytes)) {
      response.set_next_page_token(ToText({order.PlaceOf(*found[i - 1]), token.now}, request));
      break;
    }
    std::move(shown).AddTo(response);
  }
  for (const DamagedLedger& ledger : DamagedOf(request.parent(), call)) {
    v1::DamagedLedger& damaged = *response.add_damaged();
    damaged.set_name(ledger.name);
    damaged.set_message(std::string(ledger.status.message()));
  }
  return response;
}

std::vector<DamagedLedger> ListingService::DamagedOf(const std::string& parent,
                                                     const CallContext& call) const {
  std::vector<DamagedLedger> damaged = index_.Damaged();
  std::erase_if(damaged, [&](const DamagedLedger& ledger) {
    return !IsOf(ledger.name, parent) || !may_list_(call.caller, ledger.name);
  });
  if (damaged.size() > kMostDamaged) damaged.resize(kMostDamaged);
  return damaged;
}

ListingService::NextRows ListingService::ByName(const std::string& parent,
                                                std::string after) const {
  return [this, parent, last = std::move(after)]() mutable {
    LedgerRows rows = index_.Of(parent, last, kLooked);
    if (!rows.empty()) last = rows.back()->name();
    return rows;
  };
}

absl::Status ListingService::ForEachVisible(const NextRows& next, const CallContext& call,
                                            const Take& take, const Hide& hide) const {
  LedgerRows rows;
  do {
    if (call.cancelled && call.cancelled()) return absl::CancelledError("the caller has gone");
    if (absl::Now() > call.deadline) {
      return absl::DeadlineExceededError("the list was not done within the call's deadline");
    }
    rows = next();
    for (size_t i = 0; i < rows.size(); ++i) {
      FetchAhead(rows, i);
      if (!may_list_(call.caller, rows[i]->name())) {
        if (hide) hide(*rows[i]);
        continue;
      }
      if (!take(rows[i])) return absl::OkStatus();
    }
  } while (rows.size() == kLooked);
  return absl::OkStatus();
}

absl::StatusOr<v1::ListDatasetsResponse> ListingService::ListDatasets(
    const v1::ListDatasetsRequest& request, const CallContext& call) {
  ASSIGN_OR_RETURN(const PageAfter page, PageOf(request));
  RETURN_IF_ERROR(tail_.Refresh(call.deadline));

  std::map<std::string, DatasetRows> by_name;
  std::set<std::string> in_part;  // data sets that have ledgers which the caller may not list
  RETURN_IF_ERROR(ForEachVisible(
      ByName(request.parent()), call,
      [&](const std::shared_ptr<const LedgerRow>& row) {
        if (IsOfServer(row->name())) return true;  // it says nothing of any data
        by_name[row->declaration().dataset()].Add(row);
        return true;
      },
      [&](const LedgerRow& row) { in_part.insert(row.declaration().dataset()); }));
  v1::ListDatasetsResponse response;
  std::vector<LedgerRows> sets;
  std::vector<v1::DatasetSummary> datasets;
  size_t bytes = 0;
  for (auto it = page.after.empty() ? by_name.begin() : by_name.upper_bound(page.after);
       it != by_name.end(); ++it) {
    v1::DatasetSummary dataset = it->second.Described(it->first);
    bytes += dataset.ByteSizeLong();
    if (datasets.size() == page.size || (!datasets.empty() && bytes > kMaxAnswerBytes)) {
      response.set_next_page_token(HexEncode(datasets.back().name()));
      break;
    }
    datasets.push_back(std::move(dataset));
    sets.push_back(std::move(it->second.rows));
  }
  totals_.Fill(sets, std::min(call.deadline, absl::Now() + kAwaitTotals), datasets);
  for (v1::DatasetSummary& dataset : datasets) {
    if (in_part.count(dataset.name()) > 0) RefuseTotal(dataset);
    *response.add_datasets() = std::move(dataset);
  }
  *response.mutable_server_time() =
      TimeUtil::NanosecondsToTimestamp(absl::ToUnixNanos(absl::Now()));
  return response;
}

std::vector<v1::DatasetSummary> ListingService::Totals(std::map<std::string, LedgerRows> by_name,
                                                       absl::Time deadline) {
  std::vector<LedgerRows> sets;
  std::vector<v1::DatasetSummary> datasets;
  for (auto& [name, rows] : by_name) {
    v1::DatasetSummary& dataset = datasets.emplace_back();
    dataset.set_name(name);
    dataset.set_ledger_count(rows.size());
    sets.push_back(std::move(rows));
  }
  totals_.Fill(sets, deadline, datasets);
  return datasets;
}

void ListingService::BeginTotals() {
  std::map<std::string, LedgerRows> by_name;
  for (std::shared_ptr<const LedgerRow>& row : index_.Of("projects/-")) {
    if (IsOfServer(row->name())) continue;
    by_name[row->declaration().dataset()].push_back(std::move(row));
  }
  Totals(std::move(by_name), absl::InfinitePast());
}

absl::StatusOr<ListingService::Examined> ListingService::Attention(const std::string& parent,
                                                                   absl::Time now,
                                                                   const CallContext& call) {
  Examined found;
  std::vector<v1::AttentionItem>& items = found.items;
  for (const DamagedLedger& ledger : DamagedOf(parent, call)) AddAttention(ledger, items);
  std::map<std::string, LedgerRows> by_name;
  std::map<std::string, std::set<std::string>> projects_of;  // by data set
  RETURN_IF_ERROR(
      ForEachVisible(ByName(parent), call, [&](const std::shared_ptr<const LedgerRow>& row) {
        if (IsOfServer(row->name())) return true;  // it says nothing of any data
        AddAttention(*row, now, items);
        if (row->summary == nullptr || row->summary->size() < row->size()) ++found.unexamined;
        const std::string& name = row->name();
        projects_of[row->declaration().dataset()].insert(name.substr(0, name.find('/', 9)));
        by_name[row->declaration().dataset()].push_back(row);
        return true;
      }));
  // As far as they are known.
  const std::vector<v1::DatasetSummary> datasets = Totals(std::move(by_name), now);
  AddAttention(datasets, items);
  for (const v1::DatasetSummary& dataset : datasets) {
    if (dataset.ledger_count() > 1 && dataset.refusal().reason() == kUnderWay) ++found.unexamined;
  }
  if (state_for_ && parent == "projects/-") {
    if (const auto state = state_for_(call.caller); state.has_value())
      AddAttention(*state, now, items);
  }
  for (v1::AttentionItem& item : items) {
    std::set<std::string> projects;
    if (item.ledger().empty()) {
      for (const std::string& dataset : item.datasets()) {
        const std::set<std::string>& more = projects_of[dataset];
        projects.insert(more.begin(), more.end());
      }
    }
    item.set_id(IdOf(item, projects));
  }
  if (notes_ != nullptr) RETURN_IF_ERROR(notes_->AddTo(items, call));
  return found;
}

absl::StatusOr<v1::ListAttentionResponse> ListingService::ListAttention(
    const v1::ListAttentionRequest& request, const CallContext& call) {
  ASSIGN_OR_RETURN(const PageAfter page, PageOf(request));
  RETURN_IF_ERROR(tail_.Refresh(call.deadline));
  const absl::Time now = absl::Now();
  ASSIGN_OR_RETURN(Examined examined, Attention(request.parent(), now, call));

  v1::ListAttentionResponse response;
  response.set_unexamined(examined.unexamined);
  std::map<std::string, v1::AttentionItem> in_order;
  for (v1::AttentionItem& item : examined.items) {
    std::string place = PlaceOf(item);
    in_order.emplace(std::move(place), std::move(item));
  }
  for (const auto& [place, item] : in_order) {
    if (item.note().acknowledged()) response.set_acknowledged(response.acknowledged() + 1);
  }
  response.set_total(in_order.size());
  *response.mutable_server_time() = TimeUtil::NanosecondsToTimestamp(absl::ToUnixNanos(now));
  size_t bytes = 0;
  for (auto it = in_order.upper_bound(page.after); it != in_order.end(); ++it) {
    bytes += it->second.ByteSizeLong();
    const size_t count = static_cast<size_t>(response.items_size());
    if (count == page.size || (count > 0 && bytes > kMaxAnswerBytes)) {
      response.set_next_page_token(HexEncode(PlaceOf(response.items(response.items_size() - 1))));
      break;
    }
    *response.add_items() = std::move(it->second);
  }
  return response;
}

absl::StatusOr<v1::AttentionItem> ListingService::NoteAttention(
    const v1::NoteAttentionRequest& request, const CallContext& call) {
  RETURN_IF_ERROR(CheckNoUnknownFields(request));
  RETURN_IF_ERROR(events::Text(0, kMostAssignedBytes, "assigned_to", request.assigned_to()));
  RETURN_IF_ERROR(events::Text(0, kMostTextBytes, "text", request.text()));
  const std::string parent = request.parent().empty() ? "projects/-" : request.parent();
  RETURN_IF_ERROR(CheckParent(parent));
  if (notes_ == nullptr) return absl::UnimplementedError("nothing keeps notes here");
  RETURN_IF_ERROR(tail_.Refresh(call.deadline));
  const absl::Time now = absl::Now();
  ASSIGN_OR_RETURN(Examined examined, Attention(parent, now, call));
  std::vector<v1::AttentionItem>& items = examined.items;
  const auto about = [&request](const v1::AttentionItem& item) {
    if (request.has_ledger()) return item.ledger() == request.ledger() && !item.ledger().empty();
    if (!item.ledger().empty()) return false;
    if (!request.has_dataset()) return item.datasets().empty();
    return std::find(item.datasets().begin(), item.datasets().end(), request.dataset()) !=
           item.datasets().end();
  };
  const auto found = std::find_if(items.begin(), items.end(), [&](const v1::AttentionItem& item) {
    return item.id() == request.id() && about(item);
  });
  if (found == items.end()) {
    return absl::NotFoundError(absl::StrCat("id: nothing about this needs attention under the id ",
                                            events::Quoted(request.id())));
  }
  v1::AttentionNote note;
  note.set_id(found->id());
  note.set_reason(found->reason());
  note.set_ledger(found->ledger());
  // Names that look alike are many; the id tells which.
  if (found->datasets_size() == 1) *note.mutable_datasets() = found->datasets();
  note.set_acknowledged(request.acknowledged());
  note.set_assigned_to(request.assigned_to());
  note.set_text(request.text());
  note.set_caller(call.NameInEntries());
  note.mutable_time()->set_seconds(absl::ToUnixSeconds(now));
  RETURN_IF_ERROR(notes_->Store(note, call));
  *found->mutable_note() = std::move(note);
  return *std::move(found);
}

absl::StatusOr<std::unique_ptr<LedgerWatch>> ListingService::WatchLedgers(
    const v1::WatchLedgersRequest& request, const CallContext& call) const {
  RETURN_IF_ERROR(CheckNoUnknownFields(request));
  RETURN_IF_ERROR(CheckParent(request.parent()));
  ASSIGN_OR_RETURN(Filter filter, Filter::Parse(request.filter()));
  std::unique_ptr<LedgerWatch> watch(
      new LedgerWatch(this, call, request.parent(), std::move(filter)));
  // What is durable from here on has a greater number.
  watch->seen_ = index_.changes();
  if (!request.resume_token().empty()) {
    const std::optional<uint64_t> seen = cipher_.Find(request.resume_token());
    watch->reset_ = !seen.has_value() || *seen > watch->seen_;
    if (!watch->reset_) watch->seen_ = *seen;
  }
  return watch;
}

std::string ListingService::ResumeToken(uint64_t seen) const { return cipher_.Hide(seen); }

std::optional<v1::WatchLedgersResponse> LedgerWatch::Next(bool& more) {
  v1::WatchLedgersResponse response;
  const absl::Time now = absl::Now();
  size_t bytes = 0;
  uint64_t reached = seen_;
  const LedgerRows rows = service_.index_.Since(seen_, kLooked, reached);
  more = rows.size() == kLooked;
  for (const auto& row : rows) {
    if (bytes >= kMaxAnswerBytes) {
      more = true;
      reached = seen_;
      break;
    }
    seen_ = row->change;
    const std::string& name = row->name();
    if (!IsOf(name, parent_) || !service_.may_list_(caller_, name)) continue;
    if (filter_.Holds({*row, now})) {
      Shown shown(*row);
      bytes += shown.bytes();
      std::move(shown).AddTo(response);
    } else {
      // Whether it was found before, who watches knows: a list of that for each watch is memory.
      bytes += name.size();
      response.add_left(name);
    }
  }
  seen_ = reached;
  if (response.ledgers().empty() && response.left().empty() && !reset_) return std::nullopt;
  response.set_reset(std::exchange(reset_, false));
  response.set_resume_token(service_.ResumeToken(seen_));
  *response.mutable_server_time() = TimeUtil::NanosecondsToTimestamp(absl::ToUnixNanos(now));
  return response;
}

v1::WatchLedgersResponse LedgerWatch::Heartbeat() const {
  v1::WatchLedgersResponse response;
  response.set_resume_token(service_.ResumeToken(seen_));
  *response.mutable_server_time() =
      TimeUtil::NanosecondsToTimestamp(absl::ToUnixNanos(absl::Now()));
  return response;
}

}  // namespace dpledger::server
