#include "server/summaries/ordered_lists.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/time/clock.h"

namespace dpledger::server {
namespace {

constexpr size_t kMostLists = 8;
constexpr absl::Duration kUnread = absl::Minutes(1);
// Of a list of which more than a fourth has changed, the whole is put in order.
constexpr size_t kShareToFollow = 4;
constexpr size_t kAtOnce = 1000;  // changes

}  // namespace

LedgerRows::const_iterator Behind(const ListOrder& order, const ListOrder::Place& place,
                                  LedgerRows::const_iterator first,
                                  LedgerRows::const_iterator last) {
  return std::upper_bound(first, last, place, [&](const ListOrder::Place& a, const auto& b) {
    return order.Before(a, order.PlaceOf(*b));
  });
}

OrderedRows OrderedLists::Of(const std::string& parent, const ListOrder& order) {
  std::shared_ptr<Kept> kept;
  {
    absl::MutexLock lock(&mutex_);
    auto found = std::find_if(lists_.begin(), lists_.end(), [&](const auto& list) {
      return list->parent == parent && list->order == order;
    });
    if (found == lists_.end()) {
      lists_.push_front(std::make_shared<Kept>(parent, order));
      if (lists_.size() > kMostLists) lists_.pop_back();
    } else {
      lists_.splice(lists_.begin(), lists_, found);
    }
    kept = lists_.front();
    kept->used = absl::Now();
  }
  absl::MutexLock lock(&kept->mutex);
  if (kept->rows == nullptr || !Follow(*kept)) Begin(*kept);
  return kept->rows;
}

void OrderedLists::OnIndex() {
  const absl::Time old = absl::Now() - kUnread;
  absl::MutexLock lock(&mutex_);
  lists_.remove_if([old](const auto& list) { return list->used < old; });
}

void OrderedLists::Begin(Kept& kept) const {
  kept.seen = index_.changes();  // first: what changes meanwhile may come twice
  LedgerRows by_name = index_.Of(kept.parent);
  // Without names: they are in their order already, and those of one value stay so.
  std::vector<std::pair<ListOrder::Place, size_t>> places;
  places.reserve(by_name.size());
  for (size_t i = 0; i < by_name.size(); ++i) {
    FetchAhead(by_name, i);
    places.push_back({{kept.order.PlaceOf(*by_name[i]).value, ""}, i});
  }
  std::stable_sort(places.begin(), places.end(), [&](const auto& a, const auto& b) {
    return kept.order.Before(a.first, b.first);
  });
  auto rows = std::make_shared<LedgerRows>();
  rows->reserve(places.size());
  for (const auto& [place, i] : places) rows->push_back(std::move(by_name[i]));
  kept.rows = std::move(rows);
}

bool OrderedLists::Follow(Kept& kept) const {
  std::map<uint64_t, std::shared_ptr<const LedgerRow>> changed;  // by the rows' numbers
  for (size_t got = kAtOnce; got == kAtOnce;) {
    LedgerRows rows = index_.Since(kept.seen, kAtOnce, kept.seen);
    got = rows.size();
    for (auto& row : rows) {
      if (IsOf(row->name(), kept.parent)) changed[row->number] = std::move(row);
    }
    if (changed.size() > kept.rows->size() / kShareToFollow) return false;
  }
  if (changed.empty()) return true;

  LedgerRows others;
  others.reserve(kept.rows->size());
  for (const auto& row : *kept.rows) {
    if (!changed.contains(row->number)) others.push_back(row);
  }
  LedgerRows news;
  for (auto& [number, row] : changed) news.push_back(std::move(row));
  std::sort(news.begin(), news.end(), [&](const auto& a, const auto& b) {
    return kept.order.Before(kept.order.PlaceOf(*a), kept.order.PlaceOf(*b));
  });
  auto rows = std::make_shared<LedgerRows>();  // others may be reading the ones before
  rows->reserve(others.size() + news.size());
  auto from = others.cbegin();
  for (auto& row : news) {
    const auto to = Behind(kept.order, kept.order.PlaceOf(*row), from, others.cend());
    rows->insert(rows->end(), from, to);
    rows->push_back(std::move(row));
    from = to;
  }
  rows->insert(rows->end(), from, others.cend());
  kept.rows = std::move(rows);
  return true;
}

}  // namespace dpledger::server
