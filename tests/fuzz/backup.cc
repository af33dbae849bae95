// Manifests of backups. What is read is written and read again as it was, and names no file outside
// its folder.
#include "ledger_store/embedded/backup_manifest.h"
#include "tests/fuzz/target.h"

namespace dpledger::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input = Text(data, size);
  const auto manifest = embedded::BackupManifest::Parse(input);
  if (!manifest.ok()) return 0;
  FUZZ_CHECK(manifest->ToText() == input);
  for (const embedded::BackupFile& file : manifest->files) {
    FUZZ_CHECK(!file.name.empty() && file.name.front() != '.');
    FUZZ_CHECK(file.name.find('/') == std::string::npos);
  }
  return 0;
}

}  // namespace dpledger::fuzz
