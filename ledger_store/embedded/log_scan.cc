#include "ledger_store/embedded/log_scan.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"
#include "boost/crc.hpp"

namespace dpledger::embedded {
namespace {

constexpr size_t kBlockBytes = 32768;
constexpr size_t kHeaderBytes = 7;

enum class RecordType : uint8_t { kZero = 0, kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

// Castagnoli's.
using Crc = boost::crc_optimal<32, 0x1edc6f41, 0xffffffff, 0xffffffff, true, true>;

// As RocksDB stores it, so that a checksum of a checksum is not trivial.
uint32_t Masked(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8; }

uint64_t LittleEndian(std::string_view bytes) {
  uint64_t number = 0;
  for (size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

struct Header {
  explicit Header(std::string_view bytes)
      : crc(static_cast<uint32_t>(LittleEndian(bytes.substr(0, 4)))),
        length(LittleEndian(bytes.substr(4, 2))),
        type(bytes.substr(6, 1)) {}
  bool IsZero() const { return crc == 0 && length == 0 && type[0] == 0; }
  uint32_t crc;
  size_t length;
  std::string_view type;
};

bool IsKnownType(std::string_view type) {
  return type[0] >= static_cast<char>(RecordType::kFull) &&
         type[0] <= static_cast<char>(RecordType::kLast);
}

// The payload of the record at the beginning of `bytes`, if it is whole.
std::optional<std::string_view> WholeRecord(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  const Header header(bytes);
  if (!IsKnownType(header.type) || bytes.size() < kHeaderBytes + header.length) return std::nullopt;
  const std::string_view payload = bytes.substr(kHeaderBytes, header.length);
  if (Masked(Crc32c(header.type, payload)) != header.crc) return std::nullopt;
  return payload;
}

bool AllZero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

class Scanner {
 public:
  Scanner(LogScan& scan, const std::function<void(std::string_view)>& visit)
      : scan_(scan), visit_(visit) {}

  // The next block, which stands at `offset`; it is shorter than others only at the file's end.
  void TakeBlock(std::string_view block, uint64_t offset) {
    const bool at_end = block.size() < kBlockBytes;
    size_t at = 0;
    while (block.size() - at >= kHeaderBytes) {
      const std::string_view rest = block.substr(at);
      if (const auto payload = WholeRecord(rest); payload.has_value()) {
        TakeRecord(static_cast<RecordType>(rest[6]), *payload, offset + at);
        at += kHeaderBytes + payload->size();
        continue;
      }
      if (Header(rest).IsZero() && AllZero(rest)) {
        Suspect(offset + at, "zeros", /*may_be_torn=*/true);
        return;
      }
      const size_t next = FindRecord(block, at + 1);
      Suspect(offset + at, "a record does not match its checksum or length",
              next == block.size() && (Header(rest).IsZero() || (at_end && LooksTorn(rest))));
      at = next;
    }
    if (at == block.size()) return;
    if (at_end) {
      Suspect(offset + at, "a record's header is cut short", /*may_be_torn=*/true);
    } else if (!AllZero(block.substr(at))) {
      scan_.damage.push_back(
          {offset + at, offset + block.size(), "the end of a block is not zeros"});
    }
  }

  void Finish() {
    if (fragment_begin_.has_value() && !suspect_.has_value()) {
      Suspect(*fragment_begin_, "a record lacks its last part", /*may_be_torn=*/true);
    }
    if (!suspect_.has_value()) return;
    if (suspect_->may_be_torn) {
      scan_.torn_bytes = scan_.file_bytes - suspect_->begin;
    } else {
      Condemn(scan_.file_bytes);
    }
  }

 private:
  struct Suspicion {
    uint64_t begin = 0;
    std::string what;
    bool may_be_torn = false;  // if nothing whole follows
  };

  static size_t FindRecord(std::string_view block, size_t from) {
    for (size_t at = from; at + kHeaderBytes < block.size(); ++at) {
      const auto payload = WholeRecord(block.substr(at));
      if (payload.has_value() && !payload->empty()) return at;
    }
    return block.size();
  }

  // A write that stopped short, and has no hole where it begins: the length goes beyond the file,
  // and no shorter one fits.
  static bool LooksTorn(std::string_view rest) {
    const Header header(rest);
    if (rest.size() >= kHeaderBytes + header.length) return false;
    Crc crc;
    crc.process_bytes(header.type.data(), header.type.size());
    if (Masked(crc.checksum()) == header.crc) return false;
    for (const char byte : rest.substr(kHeaderBytes)) {
      crc.process_byte(static_cast<unsigned char>(byte));
      if (Masked(crc.checksum()) == header.crc) return false;
    }
    return true;
  }

  void Suspect(uint64_t begin, const char* what, bool may_be_torn) {
    if (!suspect_.has_value()) {
      suspect_ = {begin, what, may_be_torn};
    } else if (!may_be_torn && suspect_->may_be_torn) {
      suspect_->may_be_torn = false;
      suspect_->what = what;
    }
    fragment_begin_.reset();
  }

  void Condemn(uint64_t end) {
    scan_.damage.push_back({suspect_->begin, end, std::move(suspect_->what)});
    suspect_.reset();
  }

  void TakeRecord(RecordType type, std::string_view payload, uint64_t offset) {
    if (suspect_.has_value()) Condemn(offset);
    const bool continues = type == RecordType::kMiddle || type == RecordType::kLast;
    if (continues != fragment_begin_.has_value()) {
      const bool damaged_before = !scan_.damage.empty() && scan_.damage.back().end == offset;
      const uint64_t begin = fragment_begin_.value_or(offset);
      const uint64_t end = continues ? offset + kHeaderBytes + payload.size() : offset;
      if (continues && damaged_before) {
        scan_.damage.back().end = end;  // the rest of a record that is lost already
      } else {
        scan_.damage.push_back({begin, end, "parts of a record are missing"});
      }
      fragment_begin_.reset();
      if (continues) return;
    }
    if (!continues) {
      fragment_.clear();
      fragment_begin_ = offset;
    }
    fragment_.append(payload);
    if (type == RecordType::kFull || type == RecordType::kLast) {
      fragment_begin_.reset();
      ++scan_.records;
      scan_.whole_bytes = offset + kHeaderBytes + payload.size();
      visit_(fragment_);
    }
  }

  LogScan& scan_;
  const std::function<void(std::string_view)>& visit_;
  std::optional<Suspicion> suspect_;
  std::optional<uint64_t> fragment_begin_;  // of a record whose first parts are in fragment_
  std::string fragment_;
};

absl::Status FirstDamage(const std::filesystem::path& path, const LogScan& scan) {
  if (scan.damage.empty()) return absl::OkStatus();
  const LogScan::Damage& damage = scan.damage.front();
  return absl::DataLossError(
      absl::StrCat(path.string(), ": bytes ", damage.begin, " to ", damage.end, ": ", damage.what));
}

}  // namespace

uint32_t Crc32c(std::string_view first, std::string_view second) {
  Crc crc;
  crc.process_bytes(first.data(), first.size());
  crc.process_bytes(second.data(), second.size());
  return crc.checksum();
}

absl::StatusOr<LogScan> ScanLog(const std::string& path,
                                const std::function<void(std::string_view record)>& visit) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return ErrnoError(errno, "open", path);
  LogScan scan;
  Scanner scanner(scan, visit);
  std::string block(kBlockBytes, '\0');
  while (in) {
    in.read(block.data(), kBlockBytes);
    const size_t read = static_cast<size_t>(in.gcount());
    if (in.bad()) return ErrnoError(EIO, "read", path);
    if (read == 0) break;
    scanner.TakeBlock(std::string_view(block).substr(0, read), scan.file_bytes);
    scan.file_bytes += read;
  }
  scanner.Finish();
  return scan;
}

uint64_t LastSequence(std::string_view batch) {
  return LittleEndian(batch.substr(0, 8)) + LittleEndian(batch.substr(8, 4)) - 1;
}

absl::StatusOr<CheckedLogs> CheckLogs(const std::string& folder) {
  std::map<uint64_t, std::filesystem::path> logs;  // by number: in the order of their writing
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    uint64_t number = 0;
    const std::filesystem::path& path = it->path();
    if (path.extension() == ".log" && absl::SimpleAtoi(path.stem().string(), &number)) {
      logs[number] = path;
    } else if (path.filename().string().starts_with("MANIFEST-")) {
      ASSIGN_OR_RETURN(const LogScan scan, ScanLog(path.string(), [](std::string_view) {}));
      RETURN_IF_ERROR(FirstDamage(path, scan));
    }
  }
  CheckedLogs checked;
  std::vector<TornLog>& torn = checked.torn;
  constexpr size_t kBatchHeaderBytes = 12;
  const auto visit = [&](std::string_view record) {
    if (record.size() < kBatchHeaderBytes) return;
    checked.last_sequence = std::max(checked.last_sequence, LastSequence(record));
  };
  if (error == std::errc::no_such_file_or_directory) return checked;
  if (error) return ErrnoError(error.value(), "read the folder", folder);
  for (const auto& [number, path] : logs) {
    ASSIGN_OR_RETURN(const LogScan scan, ScanLog(path.string(), visit));
    RETURN_IF_ERROR(FirstDamage(path, scan));
    if (!torn.empty() && scan.records > 0) {
      return absl::DataLossError(absl::StrCat(torn.front().path, ": ends within a record, but ",
                                              path.filename().string(), " goes on behind it"));
    }
    if (scan.torn_bytes > 0) torn.push_back({path.string(), scan.whole_bytes});
  }
  return checked;
}

}  // namespace dpledger::embedded
