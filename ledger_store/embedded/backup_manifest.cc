#include "ledger_store/embedded/backup_manifest.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/absl_view.h"
#include "base/status.h"

namespace dpledger::embedded {
namespace {

constexpr char kFirstLine[] = "dpledger-backup 1";
constexpr size_t kLongestName = 100;
constexpr char kTimeFormat[] = "%Y-%m-%dT%H:%M:%SZ";

std::string TimeText(absl::Time time) {
  return absl::FormatTime(kTimeFormat, time, absl::UTCTimeZone());
}

bool IsHash(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
         });
}

absl::Status Malformed(size_t line, std::string_view rule) {
  return FieldError(BackupManifest::kFile, absl::StrCat("line ", line, ": ", ToAbsl(rule)));
}

}  // namespace

bool BackupFile::IsName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_';
         });
}

uint64_t BackupManifest::bytes() const {
  uint64_t sum = 0;
  for (const BackupFile& file : files) sum += file.bytes;
  return sum;
}

std::string BackupManifest::ToText() const {
  std::string text =
      absl::StrCat(kFirstLine, "\ncreated ", TimeText(created), "\nversion ", version, "\n");
  for (const BackupFile& file : files) {
    absl::StrAppend(&text, "file ", file.bytes, " ", file.sha256, " ", file.name, "\n");
  }
  absl::StrAppend(&text, "end ", files.size(), "\n");
  return text;
}

absl::StatusOr<BackupManifest> BackupManifest::Parse(std::string_view text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(ToAbsl(text), '\n');
  // At least the four lines without files, and nothing behind the last.
  if (lines.size() < 5 || !lines.back().empty())
    return Malformed(lines.size(), "must end the file");
  if (lines[0] != kFirstLine) return Malformed(1, absl::StrCat("must be \"", kFirstLine, "\""));
  BackupManifest manifest;
  std::vector<absl::string_view> words = absl::StrSplit(lines[1], ' ');
  std::string error;
  if (words.size() != 2 || words[0] != "created" ||
      !absl::ParseTime(kTimeFormat, words[1], &manifest.created, &error) ||
      TimeText(manifest.created) != words[1]) {
    return Malformed(2, "must be \"created\" and a time in UTC");
  }
  words = absl::StrSplit(lines[2], ' ');
  if (words.size() != 2 || words[0] != "version" || words[1].empty())
    return Malformed(3, "must be \"version\" and a word");
  manifest.version = std::string(words[1]);
  const size_t last = lines.size() - 2;
  for (size_t i = 3; i < last; ++i) {
    words = absl::StrSplit(lines[i], ' ');
    BackupFile file;
    if (words.size() != 4 || words[0] != "file" || !absl::SimpleAtoi(words[1], &file.bytes) ||
        absl::StrCat(file.bytes) != words[1] || !IsHash(FromAbsl(words[2])) ||
        !BackupFile::IsName(FromAbsl(words[3]))) {
      return Malformed(i + 1, "must be \"file\", a size, a SHA-256 and a file's name");
    }
    file.sha256 = std::string(words[2]);
    file.name = std::string(words[3]);
    if (!manifest.files.empty() && manifest.files.back().name >= file.name)
      return Malformed(i + 1, "the names must be in order");
    manifest.files.push_back(std::move(file));
  }
  if (lines[last] != absl::StrCat("end ", manifest.files.size()))
    return Malformed(last + 1, "must be \"end\" and the number of files");
  return manifest;
}

}  // namespace dpledger::embedded
