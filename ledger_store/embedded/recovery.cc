#include "ledger_store/embedded/recovery.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/numeric/int128.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"
#include "events/entry_json.h"
#include "events/names.h"
#include "ledger/batch_row.h"
#include "ledger_store/bundle/file.h"
#include "ledger_store/bundle/writer.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/folder.h"
#include "ledger_store/embedded/keys.h"
#include "ledger_store/embedded/log_scan.h"
#include "ledger_store/embedded/rocksdb_options.h"
#include "ledger_store/evidence/registry.h"
#include "ledger_store/evidence/start_check.h"
#include "merkle/base64.h"
#include "merkle/compact_tree.h"
#include "merkle/proof.h"
#include "merkle/tlog_proof.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/utilities/checkpoint.h"

namespace dpledger::embedded {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPageEntries = 10'000;

// The least key after `from` whose block can be read, found in steps that double and then by
// halves; empty if there is none. Keys are looked for by their first 17 bytes: those of batches,
// checkpoints and the registry's entries are not longer.
std::string PassDamage(rocksdb::SstFileReader& table, std::string from) {
  from.resize(1 + 2 * sizeof(uint64_t));
  const std::string_view number = std::string_view(from).substr(1);
  absl::uint128 first =
      absl::MakeUint128(*DecodeNumber(number.substr(0, 8)), *DecodeNumber(number.substr(8))) + 1;
  for (char kind = from[0]; kind <= static_cast<char>(Table::kVersion); ++kind, first = 0) {
    const auto key_of = [&](absl::uint128 at) {
      return absl::StrCat(std::string(1, kind), EncodeNumber(absl::Uint128High64(at)),
                          EncodeNumber(absl::Uint128Low64(at)));
    };
    const auto readable = [&](absl::uint128 at) {
      const std::unique_ptr<rocksdb::Iterator> it(table.NewIterator({}));
      it->Seek(key_of(at));
      return at >= first && it->status().ok();
    };
    absl::uint128 step = 1;
    while (step != 0 && !readable(first + (step - 1))) step <<= 1;
    if (step == 0) continue;
    absl::uint128 bad = first + step / 2 - 1;
    absl::uint128 good = first + (step - 1);
    while (bad + 1 < good) {
      const absl::uint128 middle = bad + (good - bad) / 2;
      (readable(middle) ? good : bad) = middle;
    }
    return key_of(good);
  }
  return "";
}

// Tables come in no order. Checkpoints and tiles grow; other rows that are read here never change.
uint64_t RankOf(std::string_view key, const std::string& value) {
  constexpr uint64_t kLongestNote = uint64_t{1} << 21;
  v1::StoredCheckpoint checkpoint;
  const bool is_checkpoint =
      key[0] == static_cast<char>(Table::kCheckpoint) && checkpoint.ParseFromString(value);
  return checkpoint.size() * kLongestNote * is_checkpoint + value.size();
}

// Adds the rows of a table file that can be read.
rocksdb::Status AddTable(const std::string& path, rocksdb::DB& db) {
  rocksdb::WriteOptions unlogged;
  unlogged.disableWAL = true;
  rocksdb::SstFileReader table(DatabaseOptions(nullptr));
  rocksdb::Status status;
  if (!table.Open(path).ok()) return status;  // fsck names it
  for (std::string from(1, '\0'); !from.empty();) {
    const std::unique_ptr<rocksdb::Iterator> it(table.NewIterator({}));
    for (it->Seek(from); it->Valid() && status.ok(); it->Next()) {
      from = it->key().ToString();
      std::string value = it->value().ToString();
      std::string present;
      const bool grows = from[0] == static_cast<char>(Table::kCheckpoint) ||
                         from[0] == static_cast<char>(Table::kTile);
      if (grows && db.Get({}, from, &present).ok() && RankOf(from, present) > RankOf(from, value)) {
        continue;
      }
      status = db.Put(unlogged, from, value);
    }
    if (!status.ok() || it->status().ok()) return status;
    from = PassDamage(table, from);
  }
  return status;
}

// Adds every whole record of a log.
absl::Status AddLog(const std::string& path, rocksdb::DB& db) {
  rocksdb::WriteOptions unlogged;
  unlogged.disableWAL = true;
  rocksdb::Status status;
  const auto add = [&](std::string_view record) {
    rocksdb::WriteBatch batch{std::string(record)};
    if (status.ok()) status = db.Write(unlogged, &batch);
  };
  RETURN_IF_ERROR(ScanLog(path, add).status());
  return status.ok() ? absl::OkStatus() : DiskError(absl::StrCat("copy ", path), status);
}

// Gathers the rows that can still be read in a damaged store's folder: each table file by itself,
// and then every whole record of the logs, into a database of their own in `to`, which is made.
//
//  1. Every row matches the checksum of its block or log record.
//  2. A damaged block loses its own rows. Two may lose the blocks between them too. A table file
//     whose footer or index is damaged is lost.
//  3. The store only adds rows, or replaces checkpoints and tiles by larger ones. So the latest of
//     these is told without knowing the order of the tables. Heads, summaries and run-length tables
//     are those of any moment.
// Damage is no error: FsckFolder names it. Errors of the disk.
absl::StatusOr<std::unique_ptr<rocksdb::DB>> GatherRows(const std::string& folder,
                                                        const std::string& to) {
  std::map<std::pair<std::string, uint64_t>, std::string> files;  // logs in the order of writing
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    uint64_t number = 0;
    if (!absl::SimpleAtoi(it->path().stem().string(), &number)) continue;
    files[{it->path().extension().string(), number}] = it->path().string();
  }
  if (error) return ErrnoError(error.value(), "read the folder", folder);
  rocksdb::DB* opened = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(DatabaseOptions(nullptr), to, &opened);
  std::unique_ptr<rocksdb::DB> db(opened);
  for (const auto& [file, path] : files) {
    if (status.ok() && file.first == ".sst") status = AddTable(path, *db);
  }
  if (!status.ok()) return DiskError("copy table files", status);
  for (const auto& [file, path] : files) {
    if (file.first == ".log") RETURN_IF_ERROR(AddLog(path, *db));
  }
  return db;
}

// The rows of a database, as far as what is saved needs them.
class Rows : public CheckpointReader {
 public:
  explicit Rows(rocksdb::DB& db) : db_(db) {
    const std::string batches = TablePrefix(Table::kBatch);
    const std::unique_ptr<rocksdb::Iterator> it(db.NewIterator({}));
    for (it->Seek(batches); it->Valid() && it->key().starts_with(batches);) {
      const uint64_t id = DecodeNumber(ToView(it->key()).substr(1, sizeof(id))).value_or(0);
      const std::string name = NameOf(id);
      names_[id] = !name.empty() && ids_.try_emplace(name, id).second ? name : "";
      it->Seek(LedgerPrefix(Table::kBatch, id + 1));
    }
  }

  // By id; empty where there is no checkpoint that says it.
  const std::map<uint64_t, std::string>& names() const { return names_; }

  using Visit = std::function<absl::Status(uint64_t sequence, std::string_view entry)>;
  // A ledger's entries in order.
  absl::Status Scan(uint64_t id, const Visit& visit) const {
    uint64_t next = 0;
    return embedded::Scan(db_, LedgerPrefix(Table::kBatch, id), "read entries",
                          [&](std::string_view key, std::string_view value) {
                            const auto first = DecodeNumber(key);
                            const auto entries = DecodeBatchRow(value);
                            if (!first.has_value() || !entries.has_value()) return absl::OkStatus();
                            for (size_t i = 0; i < entries->size(); ++i) {
                              if (*first + i < next) continue;  // it is there twice
                              RETURN_IF_ERROR(visit(*first + i, (*entries)[i]));
                              next = *first + i + 1;
                            }
                            return absl::OkStatus();
                          });
  }

  absl::StatusOr<v1::StoredCheckpoint> Latest(const std::string& log) override {
    ASSIGN_OR_RETURN(const uint64_t id, IdOf(log));
    v1::StoredCheckpoint checkpoint;
    RETURN_IF_ERROR(GetRecord(db_, CheckpointKey(id), checkpoint));
    return checkpoint;
  }
  absl::StatusOr<std::string> ReadTile(const std::string& log,
                                       const merkle::TileId& tile) override {
    ASSIGN_OR_RETURN(const uint64_t id, IdOf(log));
    std::string hashes;
    const rocksdb::Status read = db_.Get({}, TileKey(id, tile), &hashes);
    if (!read.ok()) return DiskError("read a tile", read);
    return hashes;
  }
  absl::StatusOr<std::vector<std::string>> ReadRegistry(uint64_t first,
                                                        size_t max_entries) override {
    std::vector<std::string> entries;
    for (std::string entry; entries.size() < max_entries; entries.push_back(entry)) {
      const rocksdb::Status read = db_.Get({}, RegistryKey(first + entries.size()), &entry);
      if (read.IsNotFound()) break;
      if (!read.ok()) return DiskError("read the registry", read);
    }
    return entries;
  }

 private:
  absl::StatusOr<uint64_t> IdOf(const std::string& log) const {
    if (log == kRegistryLog) return kRegistryId;
    const auto id = ids_.find(log);
    if (id == ids_.end()) return absl::NotFoundError(absl::StrCat(log, ": no such ledger"));
    return id->second;
  }

  // As its checkpoint says; LastOf tells whether that is true.
  std::string NameOf(uint64_t id) const {
    v1::StoredCheckpoint stored;
    if (!GetRecord(db_, CheckpointKey(id), stored).ok()) return "";
    const std::string name = NameFromOrigin(stored.note().substr(0, stored.note().find('\n')));
    return events::CheckLedgerName("name", name).ok() ? name : "";  // a part of a path
  }

  rocksdb::DB& db_;
  std::map<uint64_t, std::string> names_;
  std::map<std::string, uint64_t> ids_;
};

// What the registry shows of each ledger, at one moment. Made of its entries: its tiles may be
// damaged.
class Evidence : public merkle::TileReader {
 public:
  explicit Evidence(rocksdb::DB& db) : rows_(db), caught_up_(registry_.CatchUp(rows_)) {
    whole_ = registry_.empty() ? absl::NotFoundError("nothing is signed") : caught_up_;
    if (whole_.ok()) whole_ = Load();
  }

  Rows& rows() { return rows_; }

  // Of the registry.
  const absl::Status& caught_up() const { return caught_up_; }
  // Believed for its signature if the registry is not whole.
  absl::StatusOr<SignedCheckpoint> LastOf(const std::string& ledger) {
    return dpledger::LastOf(rows_, registry_, ledger);
  }

  // For the bundle of the last checkpoint.
  absl::StatusOr<bundle::Evidence> Of(const std::string& ledger) {
    RETURN_IF_ERROR(whole_);
    ASSIGN_OR_RETURN(const SignedCheckpoint last, LastOf(ledger));
    if (last.checkpoint.size == 0) return absl::NotFoundError("nothing of it is signed");
    bundle::Evidence evidence;
    for (const merkle::VerifierKey& key : registry_.keys()) {
      absl::StrAppend(&evidence.keys, key.ToText(), "\n");
    }
    evidence.registry_checkpoint = registry_.checkpoint().note;
    for (const auto& [index, entry] : key_entries_) {
      ASSIGN_OR_RETURN(std::string proof, Proof(index));
      evidence.key_entries.push_back({entry, std::move(proof)});
    }
    const std::string& origin = last.checkpoint.origin;
    evidence.registered = registered_[origin];
    ASSIGN_OR_RETURN(evidence.registered_proof, Proof(last.head.last.index));
    evidence.map_entry = last_entry_;
    ASSIGN_OR_RETURN(evidence.map_proof, Proof(registry_.size() - 1));
    evidence.map_path = registry_.map().Prove(registry::HeadKey(origin)).value().ToBytes();
    evidence.points = points_[origin];
    evidence.checkpoint = last.note;
    return evidence;
  }

  absl::StatusOr<std::string> ReadTile(const merkle::TileId& id, int) override {
    return tiles_.at(id);
  }

 private:
  absl::Status Load() {
    ASSIGN_OR_RETURN(note_, merkle::Note::Parse(registry_.checkpoint().note));
    merkle::TileBuilder tree;
    while (tree.size() < registry_.size()) {
      const uint64_t wanted = std::min<uint64_t>(kPageEntries, registry_.size() - tree.size());
      ASSIGN_OR_RETURN(const auto page, rows_.ReadRegistry(tree.size(), wanted));
      for (const std::string& bytes : page) {
        v1::LedgerEntry entry;
        entry.ParseFromString(bytes);  // CatchUp has
        if (entry.has_key_rotate()) key_entries_.emplace_back(tree.size(), bytes);
        if (entry.has_registered()) {
          ASSIGN_OR_RETURN(const auto point, registry::PointOf(entry, registry_.origin()));
          points_[entry.registered().origin()] += point.ToBytes();
          registered_[entry.registered().origin()] = bytes;
        }
        tree.Append(merkle::LeafHash(bytes));
      }
      last_entry_ = page.back();
      for (auto& [id, hashes] : tree.TakeChanged()) tiles_[id] = std::move(hashes);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Proof(uint64_t index) {
    merkle::TlogProof proof{.extra = "", .index = index, .hashes = {}, .checkpoint = note_};
    const merkle::NodeSource nodes = merkle::NodesOf(*this, registry_.size());
    ASSIGN_OR_RETURN(proof.hashes, merkle::InclusionProof(index, registry_.size(), nodes));
    return merkle::TlogProofText(proof);
  }

  Rows rows_;
  Registry registry_;
  const absl::Status caught_up_;
  absl::Status whole_;
  merkle::Note note_;
  std::map<merkle::TileId, std::string> tiles_;
  std::vector<std::pair<uint64_t, std::string>> key_entries_;  // by index
  std::map<std::string, std::string> points_;                  // by the ledger's origin
  std::map<std::string, std::string> registered_;  // the last entry, by the ledger's origin
  std::string last_entry_;
};

// The size of the ledger's bundle.
absl::StatusOr<uint64_t> SaveBundle(Rows& rows, uint64_t id, const std::string& name,
                                    Evidence& from, const std::string& to) {
  ASSIGN_OR_RETURN(const bundle::Evidence evidence, from.Of(name));
  const fs::path path = absl::StrCat(to, "/", name, ".bundle");
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  ASSIGN_OR_RETURN(bundle::NewFile file, bundle::NewFile::Make(path.string()));
  ASSIGN_OR_RETURN(auto writer, bundle::BundleWriter::Begin(&file, evidence));
  const uint64_t size = writer.checkpoint().size;
  const auto add = [&](uint64_t sequence, std::string_view entry) {
    const bool is_next = writer.missing() > 0 && sequence == size - writer.missing();
    return is_next ? writer.Add(std::string(entry)) : absl::OkStatus();
  };
  RETURN_IF_ERROR(rows.Scan(id, add));
  RETURN_IF_ERROR(writer.FinishTree());
  RETURN_IF_ERROR(writer.Finish());
  RETURN_IF_ERROR(file.Commit());
  return size;
}

// Writes a ledger's bundle, as of the first of `evidences` that its entries lead to, and what is in
// no bundle into `others`.
absl::Status SaveLedger(Rows& rows, uint64_t id, const std::string& name,
                        const std::vector<Evidence*>& evidences, const std::string& to,
                        bundle::NewFile& others, Recovered& recovered) {
  const std::string ledger = name.empty() ? absl::StrCat("ledger id ", id) : name;
  uint64_t next = 0;
  merkle::Checkpoint last;
  absl::Status refused;
  for (Evidence* evidence : evidences) {
    if (name.empty() || next > 0 || !evidence->LastOf(name).ok()) continue;
    if (last.size == 0) last = evidence->LastOf(name)->checkpoint;
    const absl::StatusOr<uint64_t> size = SaveBundle(rows, id, name, *evidence, to);
    if (size.ok()) next = *size;
    refused.Update(size.status());
  }
  recovered.bundles += next > 0;
  recovered.bundled += next;
  if (next < last.size) recovered.report.Add(ledger, refused);
  LogTiles tiles(rows, name);
  const merkle::NodeSource nodes = merkle::NodesOf(tiles, last.size);
  const auto is_signed = [&](uint64_t sequence, std::string_view entry) {
    if (sequence >= last.size) return false;
    const auto proof = merkle::InclusionProof(sequence, last.size, nodes);
    return proof.ok() &&
           merkle::VerifyInclusion(merkle::LeafHash(entry), sequence, last.size, last.root, *proof)
               .ok();
  };
  const auto pass_to = [&](uint64_t end) {
    if (next >= end) return;
    recovered.report.Add(absl::StrCat(ledger, ": entries ", next, " to ", end - 1),
                         "cannot be read");
    next = end;
  };
  const auto save = [&](uint64_t sequence, std::string_view bytes) {
    if (sequence < next) return absl::OkStatus();
    pass_to(sequence);
    ++next;
    ++recovered.others;
    const absl::StatusOr<std::string> entry = events::EntryToLine(std::string(bytes));
    return others.Write(absl::StrCat("{\"ledger\":\"", ledger, "\",\"sequence\":", sequence,
                                     ",\"signed\":", is_signed(sequence, bytes) ? "true" : "false",
                                     ",\"bytes\":\"", merkle::Base64Encode(bytes),
                                     "\",\"entry\":", entry.ok() ? *entry : "null", "}\n"));
  };
  RETURN_IF_ERROR(rows.Scan(id, save));
  pass_to(last.size);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<rocksdb::DB>> OpenCopy(const std::string& copy) {
  rocksdb::Options options = DatabaseOptions(nullptr);
  options.create_if_missing = false;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.track_and_verify_wals_in_manifest = false;  // takes them as they are
  rocksdb::DB* db = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(options, copy, &db);
  if (!status.ok()) {
    status = rocksdb::RepairDB(copy, options);
    if (status.ok()) status = rocksdb::DB::Open(options, copy, &db);
  }
  if (!status.ok()) return DiskError("repair a copy of the store", status);
  return std::unique_ptr<rocksdb::DB>(db);
}

// Has RocksDB recover a copy of the folder, and keeps it as a store unless something that was
// signed is missing.
absl::Status KeepStore(const RecoveryOptions& options, const std::string& copy) {
  if (!CheckpointFile(options.fsck.checkpoint_file).IsThere()) {
    return absl::FailedPreconditionError(
        absl::StrCat(options.fsck.checkpoint_file,
                     ": is not there, and nothing else tells how much was signed; a witness or an "
                     "auditor may have a checkpoint for --checkpoint-copy"));
  }
  struct stat original = {};
  if (::stat(options.folder.c_str(), &original) != 0) {
    return ErrnoError(errno, "look at", options.folder);
  }
  std::error_code error;
  fs::copy(options.folder, copy, error);
  if (error) return ErrnoError(error.value(), "copy", options.folder);
  ASSIGN_OR_RETURN(const std::unique_ptr<rocksdb::DB> db, OpenCopy(copy));
  rocksdb::Checkpoint* made = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(db.get(), &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  const std::string store = options.to + "/store";
  if (status.ok()) status = checkpoint->CreateCheckpoint(store);
  if (!status.ok()) return DiskError("copy the recovered database", status);
  FsckReport report;
  RETURN_IF_ERROR(FsckFolder(store, options.fsck, report));
  if (report.clean()) return SyncAll(store, original);
  const Finding& first = report.findings().front();
  return absl::DataLossError(absl::StrCat(first.place, ": ", first.what));
}

}  // namespace

absl::StatusOr<Recovered> Recover(const RecoveryOptions& options) {
  ASSIGN_OR_RETURN(const FolderLock lock,
                   FolderLock::Take(options.folder, FolderLock::Kind::kShared));
  Recovered recovered;
  RETURN_IF_ERROR(FsckFolder(options.folder, options.fsck, recovered.report));
  std::error_code error;
  if (!fs::create_directory(options.to, error)) {
    if (error) return ErrnoError(error.value(), "create", options.to);
    return absl::AlreadyExistsError(absl::StrCat(
        options.to, ": is there already; give the name of a folder that is to be made"));
  }
  const std::string copy = options.to + "/copy";
  const absl::Cleanup remove = [&] {
    std::error_code ignored;
    fs::remove_all(copy, ignored);
  };
  const absl::Status kept = KeepStore(options, copy);
  recovered.has_store = kept.ok();
  fs::remove_all(copy, error);
  if (!kept.ok()) {
    recovered.report.Note(absl::StrCat("no store was kept: ", kept.message()));
    fs::remove_all(options.to + "/store", error);
  }

  ASSIGN_OR_RETURN(const std::unique_ptr<rocksdb::DB> db, GatherRows(options.folder, copy));
  Evidence newest(*db);
  recovered.report.Add("the registry", newest.caught_up());
  std::vector<Evidence*> evidences = {&newest};
  // The registry may have a hole where the damage is.
  std::unique_ptr<rocksdb::DB> before;
  std::optional<Evidence> older;
  if (OpenReadOnly(options.folder, before, rocksdb::WALRecoveryMode::kPointInTimeRecovery).ok()) {
    evidences.push_back(&older.emplace(*before));
  }
  ASSIGN_OR_RETURN(auto others, bundle::NewFile::Make(options.to + "/entries.jsonl"));
  for (const auto& [id, name] : newest.rows().names()) {
    RETURN_IF_ERROR(SaveLedger(newest.rows(), id, name, evidences, options.to, others, recovered));
  }
  RETURN_IF_ERROR(others.Commit());
  return recovered;
}

}  // namespace dpledger::embedded
