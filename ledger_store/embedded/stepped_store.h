// The embedded store without threads, over any database: a simulation decides when it commits and
// what the database makes of it. Everything but the threads is what OpenEmbeddedStore opens.
#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "ledger/stored_head.h"
#include "ledger_store/store.h"
#include "rocksdb/db.h"

namespace dpledger::embedded {

class SteppedStore : public LedgerStore {
 public:
  // Commits the requests that wait as one group, and answers them: how many there were. Create,
  // Seal and Fork do so themselves.
  virtual size_t Step() = 0;
};

// `clock` must outlive the store. The destructor drops what waits, as the end of a process does.
// Errors as of OpenEmbeddedStore, but for those of the folder.
absl::StatusOr<std::unique_ptr<SteppedStore>> OpenSteppedStore(std::unique_ptr<rocksdb::DB> db,
                                                               Clock& clock, HeadKeys keys = {});

}  // namespace dpledger::embedded
