#include "examples/common/dataset.h"

#include <cmath>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace dpledger::examples {
namespace {

constexpr int kIdxClasses = 10;

// SplitMix64: enough for a split and for made-up data, which need no secrecy.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

double UnitInterval(uint64_t x) { return static_cast<double>(Mix(x) >> 11) * 0x1p-53; }

// An IDX file of unsigned bytes: 0 0 8 <dimensions>, each dimension's size big-endian, the bytes.
struct Idx {
  std::vector<uint64_t> sizes;
  std::string_view bytes;
};

absl::StatusOr<Idx> ParseIdxFile(std::string_view file, std::string_view what) {
  const auto error = [&](std::string_view rule) {
    return absl::InvalidArgumentError(
        absl::StrCat("the IDX file of ", std::string(what), ": ", std::string(rule)));
  };
  if (file.size() < 4 || file[0] != 0 || file[1] != 0 || file[2] != 8) {
    return error("must start with the bytes 0 0 8 (unsigned bytes); is it still compressed?");
  }
  const auto dimensions = static_cast<size_t>(file[3]);
  if (dimensions < 1 || dimensions > 4 || file.size() < 4 + 4 * dimensions) {
    return error("must have 1 to 4 dimensions");
  }
  Idx idx;
  uint64_t total = 1;
  for (size_t i = 0; i < dimensions; ++i) {
    uint64_t size = 0;
    for (size_t byte = 0; byte < 4; ++byte) {
      size = size << 8 | static_cast<uint8_t>(file[4 + 4 * i + byte]);
    }
    // Sizes above what the file can hold are refused before they overflow the product.
    if (size > file.size()) return error("is shorter than its header says");
    total *= size;
    if (total > file.size()) return error("is shorter than its header says");
    idx.sizes.push_back(size);
  }
  idx.bytes = file.substr(4 + 4 * dimensions);
  if (idx.bytes.size() != total) return error("does not have the length that its header says");
  return idx;
}

}  // namespace

absl::StatusOr<Dataset> ParseCsv(const std::string& csv, const Schema& schema) {
  Dataset data;
  data.feature_count = schema.feature_count();
  data.class_count = static_cast<int>(schema.label().values.size());
  size_t line_number = 0;
  for (const absl::string_view line : absl::StrSplit(csv, '\n')) {
    ++line_number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
    if (cells.size() != schema.columns.size()) {
      return absl::InvalidArgumentError(absl::StrCat("line ", line_number, ": must have ",
                                                     schema.columns.size(), " cells, got ",
                                                     cells.size()));
    }
    size_t begin = data.features.size();
    data.features.resize(begin + data.feature_count);
    for (size_t i = 0; i < cells.size(); ++i) {
      const Column& column = schema.columns[i];
      const absl::string_view stripped = absl::StripAsciiWhitespace(cells[i]);
      const std::string_view cell(stripped.data(), stripped.size());
      absl::Status status =
          column.Encode(cell, absl::MakeSpan(data.features).subspan(begin, column.width()));
      if (column.kind == Column::Kind::kLabel) {
        const auto label = column.ClassOf(cell);
        status = label.status();
        if (label.ok()) data.labels.push_back(*label);
      }
      if (!status.ok()) {
        return absl::InvalidArgumentError(absl::StrCat("line ", line_number, ", column \"",
                                                       column.name, "\": ", status.message()));
      }
      begin += column.width();
    }
  }
  return data;
}

absl::StatusOr<Dataset> ParseIdx(const std::string& images, const std::string& labels) {
  ASSIGN_OR_RETURN(const Idx image_file, ParseIdxFile(images, "images"));
  ASSIGN_OR_RETURN(const Idx label_file, ParseIdxFile(labels, "labels"));
  if (image_file.sizes.size() < 2 || image_file.sizes[0] == 0) {
    return absl::InvalidArgumentError("the IDX file of images: must have 2 dimensions or more");
  }
  if (label_file.sizes.size() != 1 || label_file.sizes[0] != image_file.sizes[0]) {
    return absl::InvalidArgumentError(absl::StrCat("the IDX file of labels: must hold ",
                                                   image_file.sizes[0], " labels in 1 dimension"));
  }
  Dataset data;
  data.feature_count = image_file.bytes.size() / image_file.sizes[0];
  data.class_count = kIdxClasses;
  data.features.reserve(image_file.bytes.size());
  for (const char byte : image_file.bytes) {
    data.features.push_back(static_cast<float>(static_cast<uint8_t>(byte)) / 255);
  }
  for (const char byte : label_file.bytes) {
    if (static_cast<uint8_t>(byte) >= kIdxClasses) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the IDX file of labels: must hold 0 to 9, got ", static_cast<uint8_t>(byte)));
    }
    data.labels.push_back(byte);
  }
  return data;
}

Dataset MakeSynthetic(size_t size) {
  Dataset data;
  data.feature_count = 20;
  data.class_count = 3;
  for (uint64_t i = 0; i < size; ++i) {
    const auto label = static_cast<int>(Mix(i) % 3);
    data.labels.push_back(label);
    for (uint64_t f = 0; f < data.feature_count; ++f) {
      // A sum of four uniforms around the class's corner.
      double value = (f % 3 == static_cast<uint64_t>(label)) ? 0.4 : 0;
      for (uint64_t k = 0; k < 4; ++k) value += UnitInterval((i * 64 + f) * 4 + k + 1) - 0.5;
      data.features.push_back(static_cast<float>(value / 2));
    }
  }
  return data;
}

bool IsHeldOut(uint64_t index, double fraction) { return UnitInterval(~index) < fraction; }

Split SplitRecords(size_t records, double held_out_fraction) {
  Split split;
  for (size_t row = 0; row < records; ++row)
    (IsHeldOut(row, held_out_fraction) ? split.held_out : split.training).push_back(row);
  return split;
}

}  // namespace dpledger::examples
