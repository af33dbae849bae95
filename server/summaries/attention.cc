#include "server/summaries/attention.h"

#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hex.h"
#include "merkle/compact_tree.h"
#include "merkle/sha256.h"
#include "questions/guarantee.h"
#include "questions/spending.h"
#include "server/summaries/dataset_names.h"
#include "server/summaries/dataset_totals.h"

namespace dpledger::server {
namespace {

using Item = v1::AttentionItem;

constexpr double kNearly = 0.8;
constexpr absl::Duration kSilent = absl::Hours(14 * 24);
constexpr absl::Duration kSoon = absl::Hours(14 * 24);

constexpr char kNoBound[] =
    "What it released was not made private, or has no bound that anybody knows. Nothing is "
    "promised "
    "to those whose data it saw.";
constexpr char kUnfiltered[] =
    "Its parameters were chosen while looking at outputs, and no filter was declared before its "
    "first event. It has no epsilon of differential privacy; an odometer only says what the runs "
    "that happened may have lost.";
constexpr char kOverspent[] =
    "More was released than was allowed. The number that was promised does not hold: find out how, "
    "and tell those to whom it was promised.";
constexpr char kCorrected[] =
    "A correction says that entries of it are wrong. The number is that of the entries as they "
    "were "
    "written: read the correction before you use it.";
constexpr char kConflicts[] =
    "A writer that was fenced off, closed or sealed out may have released what the record does not "
    "hold. Import its spool.";
constexpr char kMissingSpool[] =
    "Releases may be missing from the record. Deliver the spool of that process "
    "(dpledger spool), or say in a note why there is none.";
constexpr char kOpenWriters[] =
    "They never said that they had released no more than the record holds. Ask who ran them.";
constexpr char kNoTotal[] = "The total is at least that of the largest single run.";
constexpr char kNearlySpent[] =
    "Soon nothing more fits, and its bound is for ever: decide what the rest is for.";
constexpr char kAlike[] =
    "If they are one data set, their runs are counted apart, and each total says too little.";
constexpr char kSilentText[] =
    "Seal it if its run is over; if it is not, find out why the trainer stopped.";

constexpr char kLate[] =
    "Entries are stored, but nobody can prove them until they are signed. The server's log says "
    "why (signing_delayed).";
constexpr char kCertificateText[] =
    "From then on no client connects. Put a new one in its place: the server reads it by itself.";
constexpr char kTokenText[] =
    "Whatever uses it is refused from then on. Give it a new one: dpledger admin token rotate.";

// In steps: each one is another thing to act on.
std::string Percent(double share) {
  return share >= 0.99 ? "99 %" : share >= 0.95 ? "95 %" : share >= 0.9 ? "90 %" : "80 %";
}

std::string Counted(uint64_t count, const char* one, const char* more) {
  return absl::StrCat(count, " ", count == 1 ? one : more);
}

// Adds items of one ledger.
class OfLedger {
 public:
  OfLedger(const LedgerRow& row, std::vector<Item>& items) : row_(row), items_(items) {}

  void Add(Item::Reason reason, std::string title, std::string message) {
    Item& item = items_.emplace_back();
    item.set_reason(reason);
    item.set_ledger(row_.name());
    if (!row_.declaration().dataset().empty()) item.add_datasets(row_.declaration().dataset());
    item.set_title(std::move(title));
    item.set_message(std::move(message));
  }

  void AddOfWriters() {
    for (const v1::WriterStatus& writer : row_.head->writers) {
      if (writer.missing_spools().empty() && writer.more_missing_spools() == 0) continue;
      std::string opened;  // the entries that began them
      for (const v1::MissingSpool& spool : writer.missing_spools())
        absl::StrAppend(&opened, opened.empty() ? "" : ", ", spool.opened_sequence());
      if (writer.more_missing_spools()) opened += " and more";
      Add(Item::MISSING_SPOOL,
          absl::StrCat(
              "writer ", writer.writer(),
              " was opened again, and the spool of its earlier process was never delivered "
              "(entry ",
              opened, ")"),
          kMissingSpool);
    }
    if (row_.state() == v1::SEALED && row_.open_writers > 0) {
      Add(Item::OPEN_WRITERS,
          absl::StrCat("sealed while ", Counted(row_.open_writers, "writer", "writers"),
                       " had not closed"),
          kOpenWriters);
    }
  }

  void AddOfSpending(const v1::FilterSpending& spending) {
    const double share = questions::ShareSpent(spending, spending.bound());
    if (spending.crossed()) {
      Add(Item::OVERSPENT,
          spending.budget().empty() ? "spent more than its filter allows"
          : row_.head->first->has_import()
              ? "spent more than its budget granted it, on the server that it was copied from"
              : absl::StrCat("spent more than ", spending.budget(), " granted it"),
          kOverspent);
    } else if (share >= kNearly && row_.state() != v1::SEALED) {
      const bool is_budget = row_.declaration().kind() == v1::BUDGET;
      Add(Item::NEARLY_SPENT,
          absl::StrCat(Percent(share), is_budget ? " and more of this budget is granted"
                                                 : " and more of its filter is spent"),
          kNearlySpent);
    }
  }

 private:
  const LedgerRow& row_;
  std::vector<Item>& items_;
};

}  // namespace

void AddAttention(const DamagedLedger& ledger, std::vector<Item>& items) {
  Item& item = items.emplace_back();
  item.set_reason(Item::DAMAGED);
  item.set_ledger(ledger.name);
  item.set_title("damaged");
  item.set_message(std::string(ledger.status.message()));
}

void AddAttention(const LedgerRow& row, absl::Time now, std::vector<Item>& items) {
  OfLedger add(row, items);
  add.AddOfWriters();
  if (row.summary == nullptr) return;
  const v1::LedgerSummary& summary = *row.summary;
  if (summary.has_epsilon() && std::isinf(summary.epsilon().upper()))
    add.Add(Item::NO_BOUND, "epsilon has no bound", kNoBound);
  if (summary.has_refusal()) {
    const v1::Declaration& declaration = row.declaration();
    const bool unfiltered = declaration.parameters() == v1::ADAPTIVE && !declaration.has_filter();
    add.Add(Item::EPSILON_REFUSED, "epsilon is refused",
            unfiltered ? kUnfiltered : absl::StrCat(summary.refusal().message(), "."));
  }
  if (summary.corrections() > 0) {
    add.Add(Item::CORRECTED, Counted(summary.corrections(), "correction", "corrections"),
            kCorrected);
  }
  if (summary.conflicts() > 0) {
    add.Add(Item::CONFLICTS, Counted(summary.conflicts(), "refused batch", "refused batches"),
            kConflicts);
  }
  if (questions::GivesOutWholeRecords(summary.delta(), summary.population())) {
    add.Add(Item::DELTA_TOO_LARGE, "delta does not fit the data",
            absl::StrCat(questions::DeltaWarning(summary.delta(), summary.population()), "."));
  }
  if (summary.has_spending()) add.AddOfSpending(summary.spending());
  const absl::Time last = absl::FromUnixSeconds(summary.last_entry_time().seconds());
  if (row.state() != v1::SEALED && row.declaration().kind() != v1::BUDGET &&
      summary.has_last_entry_time() && now - last >= kSilent) {
    add.Add(Item::SILENT,
            absl::StrCat("open, and no entry since ",
                         absl::FormatTime("%Y-%m-%d", last, absl::UTCTimeZone())),
            kSilentText);
  }
}

void AddAttention(const std::vector<v1::DatasetSummary>& datasets, std::vector<Item>& items) {
  std::map<std::string, std::vector<std::string>> alike;
  for (const v1::DatasetSummary& dataset : datasets) {
    alike[ShapeOf(dataset.name())].push_back(dataset.name());
    const v1::Refusal& refusal = dataset.refusal();
    if (refusal.reason().empty() || refusal.reason() == kUnderWay || dataset.ledger_count() < 2)
      continue;
    Item& item = items.emplace_back();
    item.set_reason(Item::TOTAL_REFUSED);
    item.add_datasets(dataset.name());
    item.set_title("its runs cannot be added up");
    item.set_message(absl::StrCat(refusal.message(), ". ", kNoTotal));
  }
  for (auto& [shape, names] : alike) {
    if (names.size() < 2) continue;
    Item& item = items.emplace_back();
    item.set_reason(Item::ALIKE);
    for (std::string& name : names) item.add_datasets(std::move(name));
    item.set_title("names that look alike");
    item.set_message(kAlike);
  }
}

void AddAttention(const ServerState& server, absl::Time now, std::vector<Item>& items) {
  const auto add = [&items](Item::Reason reason, std::string title, const char* message) {
    Item& item = items.emplace_back();
    item.set_reason(reason);
    item.set_title(std::move(title));
    item.set_message(message);
  };
  const auto day = [](absl::Time time) {
    return absl::FormatTime("%Y-%m-%d", time, absl::UTCTimeZone());
  };
  if (server.signed_age >= server.signed_late) {
    add(Item::SIGNED_LATE,
        absl::StrCat(
            "no ledger was signed since ",
            absl::FormatTime("%Y-%m-%d %H:%M UTC", now - server.signed_age, absl::UTCTimeZone())),
        kLate);
  }
  if (server.certificate_ends.has_value() && *server.certificate_ends - now < kSoon) {
    add(Item::CERTIFICATE_ENDS,
        absl::StrCat("the server's certificate ends on ", day(*server.certificate_ends)),
        kCertificateText);
  }
  for (const ServerState::Token& token : server.tokens) {
    if (token.ends - now >= kSoon) continue;
    add(Item::TOKEN_ENDS, absl::StrCat("the token of ", token.caller, " ends on ", day(token.ends)),
        kTokenText);
  }
}

std::string IdOf(const Item& item, const std::set<std::string>& projects) {
  constexpr size_t kBytes = 8;
  const std::string matter = absl::StrJoin(
      {absl::StrCat(item.reason()), item.ledger(), absl::StrJoin(item.datasets(), "\n"),
       item.title(), item.message(), absl::StrJoin(projects, "\n")},
      "\n");
  return HexEncode(merkle::ToBytes(merkle::Sha256({matter})).substr(0, kBytes));
}

std::string PlaceOf(const Item& item) {
  return absl::StrCat(item.note().acknowledged() ? "1" : "0",
                      absl::Dec(item.reason(), absl::kZeroPad2), item.ledger(), "\n",
                      absl::StrJoin(item.datasets(), "\n"), "\n", item.title());
}

}  // namespace dpledger::server
