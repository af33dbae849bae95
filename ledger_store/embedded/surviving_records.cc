#include "ledger_store/embedded/surviving_records.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/status.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/head_row.h"
#include "ledger_store/embedded/keys.h"
#include "ledger_store/embedded/log_scan.h"
#include "ledger_store/embedded/rocksdb_options.h"
#include "merkle/sha256.h"
#include "rocksdb/write_batch.h"

namespace dpledger::embedded {
namespace {

// How long a record's content is, where it is replaced by longer ones; 0 elsewhere.
uint64_t LengthOf(std::string_view key, std::string_view value) {
  const auto parse = [](std::string_view bytes, google::protobuf::MessageLite& message) {
    return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  };
  if (key.empty()) return 0;
  switch (static_cast<Table>(key.front())) {
    case Table::kCheckpoint: {
      // A note that was cosigned is longer than the same without.
      v1::StoredCheckpoint checkpoint;
      constexpr uint64_t kLongestNote = uint64_t{1} << 21;
      return parse(value, checkpoint) ? checkpoint.size() * kLongestNote + value.size() : 0;
    }
    case Table::kHead: {
      HeadRow row;
      return row.ParseFrom(value) ? row.head.size() : 0;
    }
    case Table::kHistory: {
      v1::StoredHistory history;
      const bool whole = value.size() >= sizeof(merkle::Hash) &&
                         parse(value.substr(sizeof(merkle::Hash)), history);
      return whole ? history.size() : 0;
    }
    case Table::kTile:
      return value.size();
    default:
      return 0;
  }
}

// Keys as numbers of kKeyBytes bytes, so that one can be looked for between two others. No key is
// longer (a name has the most).
constexpr size_t kKeyBytes = 160;

std::string PaddedKey(std::string_view key) {
  std::string padded(key.substr(0, kKeyBytes));
  padded.resize(kKeyBytes, '\0');
  return padded;
}

// key + 2^bit; nothing beyond the largest.
std::optional<std::string> Plus(std::string key, size_t bit) {
  size_t at = kKeyBytes - 1 - bit / 8;
  unsigned carry = 1U << (bit % 8);
  while (carry != 0) {
    const unsigned sum = static_cast<uint8_t>(key[at]) + carry;
    key[at] = static_cast<char>(sum & 0xff);
    carry = sum >> 8;
    if (carry != 0 && at-- == 0) return std::nullopt;
  }
  return key;
}

// Takes what a batch puts. The store does nothing else.
class PutCollector : public rocksdb::WriteBatch::Handler {
 public:
  explicit PutCollector(std::function<void(std::string_view, std::string_view)> put)
      : put_(std::move(put)) {}
  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    if (family != 0) return rocksdb::Status::Corruption("an unknown column family");
    put_(ToView(key), ToView(value));
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(uint32_t, const rocksdb::Slice&) override { return Unknown(); }
  rocksdb::Status SingleDeleteCF(uint32_t, const rocksdb::Slice&) override { return Unknown(); }
  rocksdb::Status DeleteRangeCF(uint32_t, const rocksdb::Slice&, const rocksdb::Slice&) override {
    return Unknown();
  }
  rocksdb::Status MergeCF(uint32_t, const rocksdb::Slice&, const rocksdb::Slice&) override {
    return Unknown();
  }

 private:
  static rocksdb::Status Unknown() {
    return rocksdb::Status::Corruption("it removes or merges, which the store never does");
  }

  const std::function<void(std::string_view, std::string_view)> put_;
};

bool IsNumber(std::string_view stem) {
  return !stem.empty() && stem.find_first_not_of("0123456789") == std::string_view::npos;
}

// A table file ends in a footer: the kind of checksums, two handles of two varints each, zeros up
// to a fixed length, format version and magic number. RocksDB does not look at the zeros,
// and takes a version that is lower than it was for granted.
bool FooterIsWhole(const std::string& path) {
  constexpr std::streamoff kFooterBytes = 53;
  constexpr size_t kHandlesEnd = 41;
  constexpr char kFormat = 5;  // rocksdb_options.h; low byte first
  std::ifstream in(path, std::ios::binary);
  std::string footer(kFooterBytes, '\0');
  in.seekg(-kFooterBytes, std::ios::end);
  if (!in.read(footer.data(), kFooterBytes)) return false;
  size_t at = 1;
  for (int varints = 0; varints < 4 && at < kHandlesEnd; ++at) {
    varints += (static_cast<uint8_t>(footer[at]) & 0x80) == 0;
  }
  return footer.find_first_not_of('\0', at) == kHandlesEnd && footer[kHandlesEnd] == kFormat;
}

}  // namespace

// Reads one table file, and past its damaged blocks.
class SurvivingRecords::TableCursor {
 public:
  TableCursor(SurvivingRecords& records, TableFile& table, std::string end)
      : records_(records), table_(table), end_(std::move(end)) {
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    it_.reset(table.reader->NewIterator(options));
  }

  void Seek(std::string_view key) {
    it_->Seek(rocksdb::Slice(key.data(), key.size()));
    last_ = key;
    PassDamage();
  }
  void Next() {
    last_ = it_->key().ToString();
    it_->Next();
    PassDamage();
  }
  bool Valid() const {
    return it_->Valid() && (end_.empty() || it_->key().compare(rocksdb::Slice(end_)) < 0);
  }
  std::string_view key() const { return ToView(it_->key()); }
  std::string_view value() const { return ToView(it_->value()); }

 private:
  bool Readable(const std::string& key) {
    it_->Seek(key);
    return it_->status().ok();
  }

  // From a block that cannot be read to the first key behind it: in steps that double from the last
  // key that was read, then by halves.
  void PassDamage() {
    if (it_->status().ok()) return;
    const std::string why = it_->status().ToString();
    const std::string from = PaddedKey(last_);
    const auto hole = table_.holes.upper_bound(from);
    if (hole != table_.holes.begin() && std::prev(hole)->second > from) {
      return Resume(std::prev(hole)->second);
    }
    const std::string end = end_.empty() ? std::string(kKeyBytes, '\xff') : PaddedKey(end_);
    std::string good = end;
    size_t bit = 0;
    for (; bit < 8 * kKeyBytes; ++bit) {
      std::optional<std::string> step = Plus(from, bit);
      if (!step.has_value() || *step >= end) break;
      if (!Readable(*step)) continue;
      good = *std::move(step);
      break;
    }
    // `bad` grows by every power of two that keeps it unreadable and before `good`.
    std::string bad = from;
    for (size_t down = std::min(bit, 8 * kKeyBytes - 1) + 1; down-- > 0;) {
      std::optional<std::string> step = Plus(bad, down);
      if (!step.has_value() || *step >= good) continue;
      if (Readable(*step)) {
        good = *std::move(step);
      } else {
        bad = *std::move(step);
      }
    }
    records_.AddDamage(table_.name, absl::StrCat("a block after the key ", HexEncode(last_),
                                                 " cannot be read: ", why));
    if (good < end) table_.holes[from] = good;
    Resume(good);
  }

  // At the first key from `good` on; at the end if that cannot be read either.
  void Resume(const std::string& good) {
    if (!Readable(good)) it_->Seek(std::string(kKeyBytes + 1, '\xff'));
  }

  SurvivingRecords& records_;
  TableFile& table_;
  const std::string end_;
  std::unique_ptr<rocksdb::Iterator> it_;
  std::string last_;
};

std::string PrefixEnd(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (!prefix.empty()) prefix.back() = static_cast<char>(prefix.back() + 1);
  return prefix;
}

SurvivingRecords::SurvivingRecords() : options_(DatabaseOptions(nullptr)) {}

absl::StatusOr<std::unique_ptr<SurvivingRecords>> SurvivingRecords::Open(
    const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    files.push_back(it->path());
  }
  if (error) return ErrnoError(error.value(), "read the folder", folder);
  // In the order of their numbers, which are written with leading zeros.
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
    const std::string left = a.filename().string();
    const std::string right = b.filename().string();
    return std::pair(left.size(), left) < std::pair(right.size(), right);
  });
  std::unique_ptr<SurvivingRecords> records(new SurvivingRecords());
  bool any = false;
  for (const std::filesystem::path& file : files) {
    const std::string name = file.filename().string();
    const bool is_numbered = IsNumber(file.stem().string());
    if (is_numbered && file.extension() == ".sst") {
      records->AddTable(folder, name);
    } else if (is_numbered && file.extension() == ".log") {
      RETURN_IF_ERROR(records->AddLog(folder, name));
    } else if (name.starts_with("MANIFEST-")) {
      RETURN_IF_ERROR(records->CheckManifest(folder, name));
    } else {
      continue;
    }
    any = true;
  }
  if (!any) return absl::NotFoundError(absl::StrCat(folder, ": there is no store in it"));
  return records;
}

void SurvivingRecords::AddDamage(std::string place, std::string what) {
  if (!reported_.insert(absl::StrCat(place, "\n", what)).second) return;
  damage_.push_back({std::move(place), std::move(what)});
}

void SurvivingRecords::AddTable(const std::string& folder, const std::string& name) {
  TableFile table;
  table.name = name;
  const std::string path = absl::StrCat(folder, "/", name);
  std::error_code error;
  table.bytes = std::filesystem::file_size(path, error);
  table.reader = std::make_unique<rocksdb::SstFileReader>(options_);
  const rocksdb::Status opened = table.reader->Open(path);
  if (opened.ok()) {
    if (!FooterIsWhole(path)) AddDamage(name, "its footer is not as the store writes it");
    tables_.push_back(std::move(table));
  } else {
    AddDamage(name, absl::StrCat("cannot be opened: ", opened.ToString()));
  }
}

absl::Status SurvivingRecords::AddLog(const std::string& folder, const std::string& name) {
  size_t number = 0;
  PutCollector collector([this](std::string_view key, std::string_view value) {
    std::string& stored = logs_[std::string(key)];
    // Logs come in the order in which they were written.
    stored = value;
  });
  const auto take = [&](std::string_view record) {
    ++number;
    rocksdb::WriteBatch batch{std::string(record)};
    const rocksdb::Status taken = batch.Iterate(&collector);
    if (!taken.ok()) {
      AddDamage(name, absl::StrCat("record ", number, " is no batch: ", taken.ToString()));
    }
  };
  ASSIGN_OR_RETURN(const LogScan scan, ScanLog(absl::StrCat(folder, "/", name), take));
  for (const LogScan::Damage& damage : scan.damage) {
    AddDamage(absl::StrCat(name, ": bytes ", damage.begin, " to ", damage.end), damage.what);
  }
  if (scan.records > 0) {
    for (const auto& [torn, bytes] : std::exchange(torn_logs_, {})) {
      AddDamage(torn, absl::StrCat("ends in ", bytes, " bytes that are no whole record, but ", name,
                                   " goes on behind it"));
      torn_.erase(torn);
    }
  }
  if (scan.torn_bytes > 0) torn_logs_[name] = torn_[name] = scan.torn_bytes;
  return absl::OkStatus();
}

absl::Status SurvivingRecords::CheckManifest(const std::string& folder, const std::string& name) {
  ASSIGN_OR_RETURN(const LogScan scan,
                   ScanLog(absl::StrCat(folder, "/", name), [](std::string_view) {}));
  for (const LogScan::Damage& damage : scan.damage) {
    AddDamage(absl::StrCat(name, ": bytes ", damage.begin, " to ", damage.end), damage.what);
  }
  if (scan.torn_bytes > 0) torn_[name] = scan.torn_bytes;
  return absl::OkStatus();
}

absl::Status SurvivingRecords::Scan(std::string_view begin, std::string_view end,
                                    const Visit& visit) {
  std::vector<TableCursor> cursors;
  cursors.reserve(tables_.size());
  // Cursors by what they stand at: the tables of the lower levels do not overlap, and most stand at
  // their end.
  std::set<std::pair<std::string, size_t>> heads;
  for (TableFile& table : tables_) {
    TableCursor& cursor = cursors.emplace_back(*this, table, std::string(end));
    cursor.Seek(begin);
    if (cursor.Valid()) heads.emplace(cursor.key(), cursors.size() - 1);
  }
  auto log = logs_.lower_bound(std::string(begin));
  const auto log_end = end.empty() ? logs_.end() : logs_.lower_bound(std::string(end));
  std::string value;
  while (!heads.empty() || log != log_end) {
    const bool from_log = log != log_end && (heads.empty() || log->first <= heads.begin()->first);
    const std::string key = from_log ? log->first : heads.begin()->first;
    bool found = false;
    const auto offer = [&](std::string_view candidate) {
      if (!found || LengthOf(key, candidate) >= LengthOf(key, value)) value = candidate;
      found = true;
    };
    while (!heads.empty() && heads.begin()->first == key) {
      TableCursor& cursor = cursors[heads.begin()->second];
      const size_t index = heads.begin()->second;
      heads.erase(heads.begin());
      offer(cursor.value());
      cursor.Next();
      if (cursor.Valid()) heads.emplace(cursor.key(), index);
    }
    if (from_log) offer((log++)->second);
    RETURN_IF_ERROR(visit(key, value));
  }
  return absl::OkStatus();
}

absl::Status SurvivingRecords::ScanPrefix(const std::string& prefix, const Visit& visit) {
  return Scan(prefix, PrefixEnd(prefix), visit);
}

std::optional<std::string> SurvivingRecords::Get(const std::string& key) {
  std::optional<std::string> found;
  const auto offer = [&](std::string_view candidate) {
    if (!found.has_value() || LengthOf(key, candidate) >= LengthOf(key, *found)) found = candidate;
  };
  for (TableFile& table : tables_) {
    if (table.finder == nullptr) table.finder.reset(table.reader->NewIterator({}));
    table.finder->Seek(key);
    if (table.finder->Valid() && table.finder->key() == key) offer(ToView(table.finder->value()));
  }
  const auto logged = logs_.find(key);
  if (logged != logs_.end()) offer(logged->second);
  return found;
}

void SurvivingRecords::VerifyTables(const std::function<void(uint64_t bytes)>& progress) {
  uint64_t bytes = 0;
  for (const TableFile& table : tables_) {
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    const rocksdb::Status verified = table.reader->VerifyChecksum(options);
    if (!verified.ok()) AddDamage(table.name, verified.ToString());
    bytes += table.bytes;
    if (progress) progress(bytes);
  }
}

}  // namespace dpledger::embedded
