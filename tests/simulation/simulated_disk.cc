#include "tests/simulation/simulated_disk.h"

#include <new>

#include "ledger_store/embedded/keys.h"
#include "rocksdb/utilities/stackable_db.h"
#include "rocksdb/write_batch.h"
#include "tests/simulation/scarce_memory.h"

namespace dpledger::simulation {
namespace {

void Apply(const Batch& batch, Rows& rows) {
  for (const auto& [key, value] : batch) rows[key] = value;
}

class Puts : public rocksdb::WriteBatch::Handler {
 public:
  rocksdb::Status PutCF(uint32_t, const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    batch.emplace_back(key.ToString(), value.ToString());
    return {};
  }
  Batch batch;
};

}  // namespace

// The calls that the store makes of RocksDB; any other one would crash.
class SimulatedDatabase : public rocksdb::StackableDB {
 public:
  explicit SimulatedDatabase(SimulatedDisk& disk)
      : StackableDB(static_cast<rocksdb::DB*>(nullptr)), disk_(disk) {}

  using StackableDB::Get;
  using StackableDB::Put;
  rocksdb::ColumnFamilyHandle* DefaultColumnFamily() const override { return nullptr; }

  rocksdb::Status Get(const rocksdb::ReadOptions&, rocksdb::ColumnFamilyHandle*,
                      const rocksdb::Slice& key, rocksdb::PinnableSlice* value) override {
    const PlentyOfMemory plenty;
    if (rocksdb::Status status = disk_.BeforeRead(); !status.ok()) return status;
    const auto found = disk_.rows_.find(key.ToString());
    if (found == disk_.rows_.end()) return rocksdb::Status::NotFound();
    if (disk_.flipped_.contains(found->first)) return rocksdb::Status::Corruption("a flipped bit");
    value->PinSelf(found->second);
    return {};
  }

  rocksdb::Status Put(const rocksdb::WriteOptions& options, rocksdb::ColumnFamilyHandle*,
                      const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    const PlentyOfMemory plenty;
    return disk_.Write({{key.ToString(), value.ToString()}}, options.sync, broken_);
  }

  rocksdb::Status Write(const rocksdb::WriteOptions& options, rocksdb::WriteBatch* batch) override {
    const PlentyOfMemory plenty;
    Puts puts;
    if (rocksdb::Status status = batch->Iterate(&puts); !status.ok()) return status;
    return disk_.Write(std::move(puts.batch), options.sync, broken_);
  }

  rocksdb::Iterator* NewIterator(const rocksdb::ReadOptions&,
                                 rocksdb::ColumnFamilyHandle*) override;

 private:
  friend class Walk;
  SimulatedDisk& disk_;
  bool broken_ = false;
};

class Walk : public rocksdb::Iterator {
 public:
  Walk(SimulatedDisk& disk, const Rows& rows, const std::set<std::string>& flipped,
       rocksdb::Status (SimulatedDisk::*before)())
      : disk_(disk), before_(before), rows_(rows), flipped_(flipped), at_(rows.end()) {}

  bool Valid() const override { return status_.ok() && at_ != rows_.end(); }
  void SeekToFirst() override { Land(rows_.begin()); }
  void SeekToLast() override { Land(rows_.empty() ? rows_.end() : std::prev(rows_.end())); }
  void Seek(const rocksdb::Slice& target) override {
    const PlentyOfMemory plenty;
    Land(rows_.lower_bound(target.ToString()));
  }
  void SeekForPrev(const rocksdb::Slice& target) override {
    const PlentyOfMemory plenty;
    const auto after = rows_.upper_bound(target.ToString());
    Land(after == rows_.begin() ? rows_.end() : std::prev(after));
  }
  void Next() override { Land(std::next(at_)); }
  void Prev() override { Land(at_ == rows_.begin() ? rows_.end() : std::prev(at_)); }
  rocksdb::Slice key() const override { return at_->first; }
  rocksdb::Slice value() const override { return at_->second; }
  rocksdb::Status status() const override { return status_; }

 private:
  void Land(Rows::const_iterator at) {
    const PlentyOfMemory plenty;
    at_ = at;
    status_ = (disk_.*before_)();
    if (status_.ok() && at_ != rows_.end() && flipped_.contains(at_->first))
      status_ = rocksdb::Status::Corruption("a flipped bit");
  }

  SimulatedDisk& disk_;
  rocksdb::Status (SimulatedDisk::*const before_)();
  const Rows& rows_;
  const std::set<std::string>& flipped_;
  Rows::const_iterator at_;
  rocksdb::Status status_;
};

rocksdb::Iterator* SimulatedDatabase::NewIterator(const rocksdb::ReadOptions&,
                                                  rocksdb::ColumnFamilyHandle*) {
  const PlentyOfMemory plenty;
  return new Walk(disk_, disk_.rows_, disk_.flipped_, &SimulatedDisk::BeforeRead);
}

std::unique_ptr<rocksdb::DB> SimulatedDisk::Open() {
  Sync();
  return std::make_unique<SimulatedDatabase>(*this);
}

std::optional<Fault> SimulatedDisk::Strike(bool write) {
  if (!armed_.has_value()) return std::nullopt;
  const Fault fault = armed_->first;
  if ((write && fault == Fault::kReadError) ||
      (!write && (fault == Fault::kWriteError || fault == Fault::kNoSpace))) {
    return std::nullopt;
  }
  if (armed_->second-- > 0) return std::nullopt;
  armed_.reset();
  return fault;
}

rocksdb::Status SimulatedDisk::Write(Batch batch, bool sync, bool& broken) {
  if (broken) return rocksdb::Status::IOError("the database is read-only after an error");
  if (flaws_.loses_request_rows) {
    std::erase_if(batch, [](const auto& row) {
      return row.first.front() == static_cast<char>(embedded::Table::kRequest);
    });
  }
  const std::optional<Fault> fault = Strike(/*write=*/true);
  // What was on its way may have arrived.
  const bool arrives = fault.has_value() && *fault != Fault::kNoSpace &&
                       *fault != Fault::kNoDescriptors && chance_.OneIn(2);
  if (arrives) at_risk_.push_back(batch);
  if (fault == Fault::kWriteError || fault == Fault::kNoSpace) {
    broken = true;
    return rocksdb::Status::IOError(*fault == Fault::kNoSpace ? "no space left" : "input/output");
  }
  if (fault == Fault::kNoDescriptors) {
    broken = true;
    return rocksdb::Status::IOError("too many open files");
  }
  if (fault.has_value()) {
    power_was_cut_ = *fault == Fault::kPowerCut;
    throw ProcessDied();
  }
  Apply(batch, rows_);
  at_risk_.push_back(std::move(batch));
  if (sync) Sync();
  return {};
}

void SimulatedDisk::Sync() {
  if (flaws_.ignores_sync) return;
  for (const Batch& safe : at_risk_) Apply(safe, durable_);
  at_risk_.clear();
}

rocksdb::Status SimulatedDisk::BeforeRead() {
  const std::optional<Fault> fault = Strike(/*write=*/false);
  if (!fault.has_value()) return {};
  if (*fault == Fault::kReadError) return rocksdb::Status::IOError("input/output");
  if (*fault == Fault::kNoDescriptors) return rocksdb::Status::IOError("too many open files");
  if (*fault == Fault::kBadAlloc) throw std::bad_alloc();
  power_was_cut_ = *fault == Fault::kPowerCut;
  throw ProcessDied();
}

void SimulatedDisk::Restart(bool power_lost) {
  if (power_lost) {
    at_risk_.resize(chance_.Below(at_risk_.size() + 1));
    for (const Batch& kept : at_risk_) Apply(kept, durable_);
    at_risk_.clear();
  }
  rows_ = durable_;
  for (const Batch& kept : at_risk_) Apply(kept, rows_);
}

void SimulatedDisk::BeginLog() { before_newest_log_ = durable_; }

bool SimulatedDisk::LoseNewestLog() {
  if (durable_ == before_newest_log_) return false;
  rows_ = durable_ = before_newest_log_;
  at_risk_.clear();
  return true;
}

std::string SimulatedDisk::FlipBit() {
  if (rows_.empty()) return "";
  const auto row = std::next(rows_.begin(), static_cast<long>(chance_.Below(rows_.size())));
  flipped_.insert(row->first);
  return row->first;
}

std::string SimulatedDisk::ChangeRow(char table) {
  std::vector<Rows::iterator> of_table;
  for (auto row = rows_.begin(); row != rows_.end(); ++row) {
    if (row->first.front() == table && !row->second.empty()) of_table.push_back(row);
  }
  if (of_table.empty()) return "";
  const auto row = of_table[chance_.Below(of_table.size())];
  std::string value = row->second;
  value.back() = static_cast<char>(value.back() ^ 1);
  Replace(row->first, value);
  return row->first;
}

}  // namespace dpledger::simulation
