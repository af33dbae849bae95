// What a check of a store found. Not thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace dpledger {

// A fault, and its place.
struct Finding {
  std::string place;  // "projects/p/ledgers/a: entry 17", "the registry", "000012.sst"
  std::string what;
};

class FsckReport {
 public:
  void Add(std::string place, std::string what);
  // OK adds nothing.
  void Add(std::string place, const absl::Status& status);
  // Adds a remark: something was not checked, or is odd but not damage.
  void Note(std::string note) { notes_.push_back(std::move(note)); }

  bool clean() const { return count_ == 0; }
  // The number of findings; only the first kMostKept are kept.
  uint64_t count() const { return count_; }
  const std::vector<Finding>& findings() const { return findings_; }
  const std::vector<std::string>& notes() const { return notes_; }

  static constexpr size_t kMostKept = 10'000;

  // Counts of what was read.
  uint64_t ledgers = 0;
  uint64_t entries = 0;
  uint64_t tiles = 0;
  uint64_t registry_entries = 0;
  uint64_t registry_size = 0;  // as signed

 private:
  std::vector<Finding> findings_;
  uint64_t count_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace dpledger
