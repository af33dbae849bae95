// Records as rows of features with a class each, from CSV, from IDX (the MNIST format), or made up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "examples/common/schema.h"

namespace dpledger::examples {

struct Dataset {
  size_t feature_count = 0;
  int class_count = 0;
  std::vector<float> features;  // row after row
  std::vector<int> labels;

  size_t size() const { return labels.size(); }
  absl::Span<const float> row(size_t i) const {
    return absl::MakeConstSpan(features).subspan(i * feature_count, feature_count);
  }
};

// Comma-separated cells without quotes; blanks around a cell do not count, empty lines are skipped.
// Errors name the line and the column.
absl::StatusOr<Dataset> ParseCsv(const std::string& csv, const Schema& schema);

// An IDX file of unsigned bytes with two dimensions or more, and one of labels; classes are 0 to 9,
// features are scaled to [0, 1]. Errors say which file is wrong.
absl::StatusOr<Dataset> ParseIdx(const std::string& images, const std::string& labels);

// Three overlapping clouds in 20 dimensions, always the same.
Dataset MakeSynthetic(size_t size);

// Whether record `index` is held out: by a hash of its index, never by what it holds.
bool IsHeldOut(uint64_t index, double fraction);
struct Split {
  std::vector<size_t> training, held_out;
};
// The first so many records.
Split SplitRecords(size_t records, double held_out_fraction);

}  // namespace dpledger::examples
