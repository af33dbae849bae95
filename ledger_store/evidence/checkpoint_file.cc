#include "ledger_store/evidence/checkpoint_file.h"

#include <errno.h>
#include <stdio.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"
#include "merkle/signed_note.h"

namespace dpledger {
namespace {

constexpr char kNothingSigned[] = "dpledger: nothing was signed with this key yet\n";

std::string PreviousOf(const std::string& path) { return absl::StrCat(path, ".previous"); }

}  // namespace

absl::StatusOr<std::vector<std::string>> CheckpointFile::Read() const {
  std::vector<std::string> notes;
  for (const std::string& path : {path_, PreviousOf(path_)}) {
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(path, error);
    if (status.type() == std::filesystem::file_type::not_found) continue;
    if (error) return ErrnoError(error.value(), "stat", path);
    if (status.type() != std::filesystem::file_type::regular ||
        std::filesystem::file_size(path, error) > merkle::kMaxNoteBytes || error) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": is not a regular file with a checkpoint in it"));
    }
    ASSIGN_OR_RETURN(std::string note, ReadFile(path));
    if (note != kNothingSigned) notes.push_back(std::move(note));
  }
  return notes;
}

bool CheckpointFile::IsThere() const {
  std::error_code error;
  return std::filesystem::exists(path_, error) || std::filesystem::exists(PreviousOf(path_), error);
}

absl::Status CheckpointFile::MarkNew() const {
  return IsThere() ? absl::OkStatus() : WriteFileDurably(path_, kNothingSigned);
}

absl::Status CheckpointFile::Write(const std::string& note) {
  if (::rename(path_.c_str(), PreviousOf(path_).c_str()) != 0 && errno != ENOENT) {
    return ErrnoError(errno, "rename", path_);
  }
  return WriteFileDurably(path_, note);
}

}  // namespace dpledger
