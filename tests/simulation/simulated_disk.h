// A disk with a database on it: an ordered map, and the write batches that are not yet safe.
//
//  1. A synced write makes itself and all earlier ones durable. A power cut keeps those, and of the
//     later ones as many, from the first on, as chance has it. A killed process loses nothing.
//  2. A batch is kept whole or not at all: RocksDB's log has a checksum for each.
//  3. What an opened database holds is durable: RocksDB writes what it finds in its log into a
//  sorted
//     file, and syncs that, before it opens (its option avoid_flush_during_recovery is off).
//  4. A write that failed may or may not be on the disk; the database takes no more of them until
//  it
//     is opened again.
// What RocksDB makes of real files is not simulated: tests/fault has that.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/db.h"
#include "tests/simulation/chance.h"

namespace dpledger::simulation {

using Rows = std::map<std::string, std::string>;
using Batch = std::vector<std::pair<std::string, std::string>>;

// Thrown through the code under test by the call at which the power goes or the process dies.
struct ProcessDied {};

enum class Fault {
  kKill,      // the process ends before the call
  kPowerCut,  // the power goes before the call, or after its write and before its sync
  kWriteError,
  kNoSpace,  // nothing of the write reaches the disk
  kReadError,
  kBadAlloc,       // in a read; RocksDB does not survive one in a write: the process ends
  kNoDescriptors,  // no file can be opened: nothing is read or written
};
inline constexpr uint64_t kFaults = 7;

// What the disk does wrong, so that a test sees it noticed.
struct DiskFlaws {
  bool ignores_sync = false;
  bool loses_request_rows = false;
};

class SimulatedDisk {
 public:
  SimulatedDisk(Chance& chance, DiskFlaws flaws) : chance_(chance), flaws_(flaws) {}

  // What a process that starts opens. The disk must outlive it.
  std::unique_ptr<rocksdb::DB> Open();

  // At the n-th call from now on that can have this fault.
  void Arm(Fault fault, uint64_t calls) { armed_ = {fault, calls}; }
  void Disarm() { armed_.reset(); }
  bool armed() const { return armed_.has_value(); }
  // Whether the last ProcessDied was a power cut.
  bool power_was_cut() const { return power_was_cut_; }
  // What the next process finds. To be called when the last one is gone.
  void Restart(bool power_lost);
  // A file of the log begins: what is durable now is in others.
  void BeginLog();
  // Takes back what became durable since BeginLog; false if that was nothing.
  bool LoseNewestLog();
  // Flips a bit of a row, which the engine's checksum notices when the row is read. Empty if there
  // is none; otherwise the key.
  std::string FlipBit();
  // The same, but the checksum is right: the row's last byte is another.
  std::string ChangeRow(char table);
  // Rows as they are, and with another value, whose checksum is right too.
  const Rows& rows() const { return rows_; }
  void Replace(const std::string& key, const std::string& value) {
    rows_[key] = durable_[key] = value;
  }

 private:
  friend class SimulatedDatabase;

  rocksdb::Status Write(Batch batch, bool sync, bool& broken);
  rocksdb::Status BeforeRead();
  void Sync();
  // The armed fault, if this call is the one.
  std::optional<Fault> Strike(bool write);

  Chance& chance_;
  const DiskFlaws flaws_;
  Rows rows_;                   // as the running process sees them
  Rows durable_;                // after a power cut, at the least
  std::vector<Batch> at_risk_;  // that follow
  Rows before_newest_log_;
  std::set<std::string> flipped_;
  std::optional<std::pair<Fault, uint64_t>> armed_;
  bool power_was_cut_ = false;
};

}  // namespace dpledger::simulation
