// A shared text in a file of mode 0600, which Edit replaces whole under a lock (FILE.lock).
#pragma once

#include <optional>
#include <string>

#include "base/shared_text.h"
#include "identity/watched_file.h"

namespace dpledger::identity {

class TextFile : public SharedText {
 public:
  enum class Kept {
    kDurably,  // written beside, synced, renamed
    kAsHint,   // not synced; UNAVAILABLE if another process has the lock: hints wait for nobody
  };
  TextFile(const std::string& path, const std::string& lock, Kept kept)
      : lock_(lock), kept_(kept), file_(path) {}

  std::string name() const override { return file_.path(); }
  bool is_near() const override { return true; }
  // Errors of WatchedFile.
  std::optional<absl::StatusOr<std::string>> Changed() override { return file_.Changed(); }
  absl::Status Edit(absl::FunctionRef<Edited(const Edited& now)> edit) override;

 private:
  const std::string lock_;
  const Kept kept_;
  WatchedFile file_;
};

}  // namespace dpledger::identity
