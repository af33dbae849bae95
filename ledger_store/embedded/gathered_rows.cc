#include "ledger_store/embedded/gathered_rows.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"
#include "dpledger/v1/stored.pb.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/keys.h"
#include "ledger_store/embedded/log_scan.h"
#include "ledger_store/embedded/rocksdb_options.h"
#include "rocksdb/sst_file_reader.h"

namespace dpledger::embedded {
namespace {

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

}  // namespace

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

}  // namespace dpledger::embedded
