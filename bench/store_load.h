// The load of the store's benchmarks: 64 writers with one call on its way each, each on a ledger of
// its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dpledger/v1/ledger_service.pb.h"
#include "ledger/stored_head.h"
#include "ledger_store/store.h"

namespace dpledger::bench {

inline constexpr int kWriters = 64;

// Keys of heads, as a server's store is opened with.
HeadKeys ServerKeys();

// Makes a ledger of that name; ends the program if it cannot. `held`: by a filter that all of the
// load fits in.
void MakeLedger(LedgerStore& store, const std::string& name, bool held = false);

// A batch of `entries` sum queries of round `number`, under a request id made of it.
v1::AppendBatchRequest SumQueries(const std::string& ledger, uint64_t number, int entries);

// Calls make(writer) in a thread for each writer, and then, once all are ready, append(writer, i)
// for i = 0, 1, ..., most_calls - 1 until the time is over; calls a second.
double CallsPerSecond(double seconds, uint64_t most_calls, const std::function<void(int)>& make,
                      const std::function<void(int, uint64_t)>& append);

}  // namespace dpledger::bench
