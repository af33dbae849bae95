// What a backup holds, as its file BACKUP says it (docs/formats.md, section 2). Values; pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace dpledger::embedded {

struct BackupFile {
  // Whether a file may have this name: it stays in its folder, and needs no quotes.
  static bool IsName(std::string_view name);

  std::string name;    // of a file in the store's folder
  uint64_t bytes = 0;  // its size
  std::string sha256;  // of its bytes, 64 hexadecimal digits
};

struct BackupManifest {
  static constexpr char kFile[] = "BACKUP";  // its name
  absl::Time created;                        // whole seconds
  std::string version;                       // of the software that made it; one word
  std::vector<BackupFile> files;             // by name

  uint64_t bytes() const;
  std::string ToText() const;
  // INVALID_ARGUMENT that names the line of what is not a manifest.
  static absl::StatusOr<BackupManifest> Parse(std::string_view text);
};

}  // namespace dpledger::embedded
