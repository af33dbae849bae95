// Ledgers in numbers, for benchmarks: each has one batch of two kinds of rounds and is over one of
// 100 data sets.
#pragma once

#include <string>

#include "ledger_store/store.h"

namespace dpledger::bench {

std::string LedgerCalled(int number);

// Makes those from 0 on, by 64 threads; ends the program on any error.
void MakeLedgers(LedgerStore& store, int count);

}  // namespace dpledger::bench
