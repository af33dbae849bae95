// What a CSV file holds, in public constants: column kinds, category lists, scaling ranges. Nothing
// here may be computed from the data, for what is computed from data needs privacy of its own.
//
//   {"rows": 32561,
//    "columns": [{"name": "age", "kind": "number", "minimum": 17, "maximum": 90},
//                {"name": "gain", "kind": "number", "minimum": 0, "maximum": 99999, "log": true},
//                {"name": "hours", "kind": "bucket", "edges": [20, 40, 60]},
//                {"name": "sex", "kind": "category", "values": ["Female", "Male"]},
//                {"name": "id", "kind": "ignore"},
//                {"name": "income", "kind": "label", "values": ["<=50K", ">50K"]}]}
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace dpledger::examples {

struct Column {
  enum class Kind { kNumber, kBucket, kCategory, kLabel, kIgnore };

  std::string name;
  Kind kind = Kind::kIgnore;
  double minimum = 0,
         maximum = 1;         // number: scaled to [0, 1], values outside are moved to the ends
  bool logarithmic = false;   // number: log(1 + value - minimum) first
  std::vector<double> edges;  // bucket: edges.size() + 1 one-hot features
  std::vector<std::string> values;  // category: one-hot features; label: the classes

  // How many features it becomes.
  size_t width() const;
  // Sets `features` (width() zeros) from one cell. INVALID_ARGUMENT for what the schema does not
  // know.
  absl::Status Encode(std::string_view cell, absl::Span<float> features) const;
  // Label only: its class.
  absl::StatusOr<int> ClassOf(std::string_view cell) const;
};

struct Schema {
  std::optional<uint64_t> rows;  // declared number of records
  std::vector<Column> columns;

  // INVALID_ARGUMENT names the field. Exactly one label column, at least one feature.
  static absl::StatusOr<Schema> Parse(const std::string& json);

  size_t feature_count() const;
  const Column& label() const;
};

}  // namespace dpledger::examples
