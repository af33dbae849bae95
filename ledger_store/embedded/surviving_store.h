// The readable contents of a store's folder, for fsck and dump. A ledger without a head is not
// listed, but its entries can be read.
//
// Open reads every record once and reports its faults. Reads use the latest record under a key
// (SurvivingRecords). Not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger/stored_head.h"
#include "ledger_store/embedded/surviving_records.h"
#include "ledger_store/evidence/fsck.h"
#include "ledger_store/store.h"

namespace dpledger::embedded {

class SurvivingStore : public LedgerReader, public CheckpointReader {
 public:
  // Adds every difference from docs/formats.md, section 2, to `report`: heads that are not
  // authentic too, if there are keys. Errors of the disk. `records` must outlive this.
  static absl::StatusOr<std::unique_ptr<SurvivingStore>> Open(SurvivingRecords& records,
                                                              HeadKeys keys, FsckReport& report);

  struct Ledger {
    uint64_t id = 0;
    std::string name;                // empty: the record of the name is lost
    std::optional<LedgerHead> head;  // nullopt: lost, or inconsistent
    uint64_t end = 0;                // one past the last entry found
    uint64_t requests = 0;           // records of answered requests
    std::vector<uint64_t> rows;      // the first sequences of batches at regular intervals
  };
  // By id.
  const std::map<uint64_t, Ledger>& ledgers() const { return ledgers_; }

  // Visits the batches in the order of their sequences, from the one that contains `first` on.
  // Skips batches that do not parse.
  using VisitBatch = std::function<absl::Status(uint64_t first_sequence,
                                                const std::vector<std::string_view>& entries)>;
  absl::Status ScanBatches(const Ledger& ledger, uint64_t first, const VisitBatch& visit);
  // NOT_FOUND if there is none; DATA_LOSS if it is damaged.
  absl::StatusOr<v1::StoredRequest> Answered(const std::string& ledger,
                                             const std::string& request_id) override;
  absl::StatusOr<uint64_t> CountAnswered(const std::string& ledger) override;
  const Ledger* FindByName(const std::string& name) const;

  absl::StatusOr<v1::Ledger> Get(const std::string& name, const WriterRange& writers) override;
  absl::StatusOr<std::vector<v1::Ledger>> List(const std::string& parent, const std::string& after,
                                               size_t limit, const WriterRange& writers) override;
  absl::StatusOr<std::vector<std::string>> Read(const std::string& name, uint64_t first,
                                                size_t max_entries, size_t max_bytes) override;
  absl::StatusOr<v1::StoredHistory> GetHistory(const std::string& name) override;
  CheckpointReader& checkpoints() override { return *this; }
  absl::StatusOr<v1::StoredCheckpoint> Latest(const std::string& log) override;
  absl::StatusOr<std::string> ReadTile(const std::string& log, const merkle::TileId& tile) override;
  absl::StatusOr<std::vector<std::string>> ReadRegistry(uint64_t first,
                                                        size_t max_entries) override;

 private:
  explicit SurvivingStore(SurvivingRecords& records) : records_(records) {}

  class Loader;
  absl::StatusOr<uint64_t> IdOf(const std::string& log) const;

  SurvivingRecords& records_;
  std::map<uint64_t, Ledger> ledgers_;
  std::map<std::string, uint64_t> ids_;  // by name
};

}  // namespace dpledger::embedded
