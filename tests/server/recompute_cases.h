// Operations over a store without a door: what the tests of recomputation on both engines share.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "events/proto_json.h"
#include "server/log.h"
#include "server/questions/accounting_service.h"
#include "server/recompute/recompute_service.h"
#include "tests/events/field_rules.h"
#include "tests/ledger_store/requests.h"

namespace dpledger::server {

template <typename T>
T Must(absl::StatusOr<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return *std::move(result);
}

inline std::string NameOf(int number) {
  return absl::StrCat("projects/p/ledgers/l", 1000 + number);
}

// Ledgers of 10, 20, ... rounds; every seventh is refused.
inline void MakeLedgers(LedgerStore& store, int count) {
  for (int i = 0; i < count; ++i) {
    v1::CreateLedgerRequest request = CreateRequest(NameOf(i));
    if (i % 7 == 6) request.mutable_declaration()->set_parameters(v1::ADAPTIVE);
    Must(store.Create(request));
    v1::AppendBatchRequest batch = Batch(NameOf(i), "w", "r");
    *batch.add_entries()->mutable_event() = accountant::FromText<v1::Event>(
        absl::StrCat("rounds { scheme { poisson { probability: 0.01 } } "
                     "queries { l2_norm_bound: 1 noise_stddev: 1 } count: ",
                     10 * (i + 1), " }"));
    Must(store.Append(batch));
  }
}

// One server's part in it.
struct Recomputer {
  Recomputer(LedgerStore* store, RecomputeOptions options)
      : tail(store, &index, &log),
        finder(&tail, &index),
        accounting(store, AccountingLimits()),
        service(store, &accounting, &finder, std::move(options), Clock::System(), &log) {
    tail.Start([] { return absl::OkStatus(); }, [](const std::vector<std::string>&) {});
  }

  v1::Operation Begin(const std::string& request) {
    return Must(service.StartRecompute(accountant::FromText<v1::StartRecomputeRequest>(request),
                                       CallContext()));
  }
  v1::Operation Get(const std::string& name) {
    v1::GetOperationRequest request;
    request.set_name(name);
    return Must(service.GetOperation(request));
  }
  v1::Operation AwaitEnd(const std::string& name) {
    while (true) {
      v1::Operation operation = Get(name);
      if (operation.state() != v1::Operation::RUNNING) return operation;
      absl::SleepFor(absl::Milliseconds(5));
    }
  }
  std::vector<v1::Recomputed> Results(const std::string& name, uint32_t page = 0) {
    std::vector<v1::Recomputed> results;
    v1::ListRecomputedRequest request;
    request.set_name(name);
    request.set_page_size(page);
    do {
      const v1::ListRecomputedResponse response = Must(service.ListRecomputed(request));
      results.insert(results.end(), response.results().begin(), response.results().end());
      request.set_page_token(response.next_page_token());
    } while (!request.page_token().empty());
    return results;
  }

  Log log{LogLevel::kError, 2};
  LedgerIndex index;
  LedgerTail tail;
  LedgerFinder finder;
  AccountingService accounting;
  RecomputeService service;
};

// How often a ledger stands in the notes of the operation's ledger, whatever reads them says.
inline std::map<std::string, int> Recorded(LedgerStore& store, const v1::Operation& operation) {
  std::map<std::string, int> counts;
  const v1::Ledger ledger = Must(store.Get(operation.results_ledger()));
  for (const std::string& bytes :
       Must(store.Read(operation.results_ledger(), 0, ledger.size(), size_t{1} << 30))) {
    v1::LedgerEntry entry;
    v1::RecomputeNote note;
    EXPECT_TRUE(entry.ParseFromString(bytes));
    if (!entry.has_note()) continue;
    EXPECT_TRUE(events::MessageFromJson(entry.note().text(), "a note", note).ok());
    for (const v1::Recomputed& result : note.chunk().results()) ++counts[result.now().ledger()];
  }
  return counts;
}

inline void ExpectEachOnce(LedgerStore& store, const v1::Operation& operation, int count) {
  const std::map<std::string, int> recorded = Recorded(store, operation);
  EXPECT_EQ(static_cast<int>(recorded.size()), count);
  for (const auto& [name, times] : recorded) EXPECT_EQ(times, 1) << name;
}

}  // namespace dpledger::server
