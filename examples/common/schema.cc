#include "examples/common/schema.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::examples {
namespace {

using google::protobuf::Value;
using Fields = google::protobuf::Map<std::string, Value>;

const Value* Find(const Fields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? nullptr : &found->second;
}

absl::StatusOr<std::string> StringAt(const Fields& fields, const std::string& name) {
  const Value* value = Find(fields, name);
  if (!value || !value->has_string_value()) return FieldError(name, "must be a string");
  return value->string_value();
}

absl::StatusOr<double> NumberAt(const Fields& fields, const std::string& name) {
  const Value* value = Find(fields, name);
  if (!value || !value->has_number_value()) return FieldError(name, "must be a number");
  return value->number_value();
}

absl::StatusOr<std::vector<std::string>> StringsAt(const Fields& fields, const std::string& name) {
  const Value* value = Find(fields, name);
  std::vector<std::string> strings;
  if (value && value->has_list_value()) {
    for (const Value& item : value->list_value().values()) {
      if (!item.has_string_value()) return FieldError(name, "must hold strings only");
      strings.push_back(item.string_value());
    }
  }
  if (strings.empty()) return FieldError(name, "must be a list of one string or more");
  return strings;
}

absl::StatusOr<std::vector<double>> EdgesAt(const Fields& fields) {
  const Value* value = Find(fields, "edges");
  std::vector<double> edges;
  if (value && value->has_list_value()) {
    for (const Value& item : value->list_value().values()) edges.push_back(item.number_value());
  }
  if (edges.empty() || !std::is_sorted(edges.begin(), edges.end())) {
    return FieldError("edges", "must be a list of one growing number or more");
  }
  return edges;
}

absl::StatusOr<Column> ParseColumn(const Fields& fields) {
  Column column;
  ASSIGN_OR_RETURN(column.name, StringAt(fields, "name"));
  ASSIGN_OR_RETURN(const std::string kind, StringAt(fields, "kind"));
  if (kind == "number") {
    column.kind = Column::Kind::kNumber;
    ASSIGN_OR_RETURN(column.minimum, NumberAt(fields, "minimum"));
    ASSIGN_OR_RETURN(column.maximum, NumberAt(fields, "maximum"));
    if (!(column.minimum < column.maximum)) return FieldError("maximum", "must exceed minimum");
    const Value* logarithmic = Find(fields, "log");
    column.logarithmic = logarithmic && logarithmic->bool_value();
  } else if (kind == "bucket") {
    column.kind = Column::Kind::kBucket;
    ASSIGN_OR_RETURN(column.edges, EdgesAt(fields));
  } else if (kind == "category" || kind == "label") {
    column.kind = kind == "label" ? Column::Kind::kLabel : Column::Kind::kCategory;
    ASSIGN_OR_RETURN(column.values, StringsAt(fields, "values"));
  } else if (kind != "ignore") {
    return FieldError(
        "kind",
        absl::StrCat("must be number, bucket, category, label or ignore, got \"", kind, "\""));
  }
  return column;
}

std::string FromView(std::string_view text) { return std::string(text); }

absl::StatusOr<size_t> IndexOf(const std::vector<std::string>& values, std::string_view cell) {
  const auto found = std::find(values.begin(), values.end(), cell);
  if (found == values.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", FromView(cell), "\" is not among the schema's values"));
  }
  return static_cast<size_t>(found - values.begin());
}

}  // namespace

size_t Column::width() const {
  switch (kind) {
    case Kind::kNumber:
      return 1;
    case Kind::kBucket:
      return edges.size() + 1;
    case Kind::kCategory:
      return values.size();
    case Kind::kLabel:
    case Kind::kIgnore:
      return 0;
  }
  return 0;
}

absl::Status Column::Encode(std::string_view cell, absl::Span<float> features) const {
  if (kind == Kind::kLabel || kind == Kind::kIgnore) return absl::OkStatus();
  if (kind == Kind::kCategory) {
    ASSIGN_OR_RETURN(const size_t index, IndexOf(values, cell));
    features[index] = 1;
    return absl::OkStatus();
  }
  double value = 0;
  if (!absl::SimpleAtod(absl::string_view(cell.data(), cell.size()), &value) ||
      !std::isfinite(value)) {
    return absl::InvalidArgumentError(absl::StrCat("\"", FromView(cell), "\" is not a number"));
  }
  if (kind == Kind::kBucket) {
    features[std::upper_bound(edges.begin(), edges.end(), value) - edges.begin()] = 1;
    return absl::OkStatus();
  }
  const double above = std::clamp(value, minimum, maximum) - minimum;
  const double range = maximum - minimum;
  features[0] =
      static_cast<float>(logarithmic ? std::log1p(above) / std::log1p(range) : above / range);
  return absl::OkStatus();
}

absl::StatusOr<int> Column::ClassOf(std::string_view cell) const {
  ASSIGN_OR_RETURN(const size_t index, IndexOf(values, cell));
  return static_cast<int>(index);
}

absl::StatusOr<Schema> Schema::Parse(const std::string& json) {
  google::protobuf::Struct document;
  const auto parsed = google::protobuf::util::JsonStringToMessage(json, &document);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the schema is not a JSON object: ", parsed.ToString()));
  }
  Schema schema;
  if (document.fields().contains("rows")) {
    ASSIGN_OR_RETURN(const double rows, NumberAt(document.fields(), "rows"));
    if (!(rows >= 1 && rows < 0x1p53 && rows == std::floor(rows))) {
      return FieldError("rows", absl::StrCat("must be an integer in [1, 2^53), got ", rows));
    }
    schema.rows = static_cast<uint64_t>(rows);
  }
  const Value* columns = Find(document.fields(), "columns");
  if (!columns || !columns->has_list_value()) return FieldError("columns", "must be a list");
  size_t labels = 0;
  for (const Value& item : columns->list_value().values()) {
    auto column = ParseColumn(item.struct_value().fields());
    if (!column.ok()) {
      return PrefixField(absl::StrCat("columns[", schema.columns.size(), "]"), column.status());
    }
    labels += column->kind == Column::Kind::kLabel;
    schema.columns.push_back(*std::move(column));
  }
  if (labels != 1) {
    return FieldError("columns", absl::StrCat("must hold exactly one label, got ", labels));
  }
  if (schema.feature_count() == 0) return FieldError("columns", "must hold a feature");
  return schema;
}

size_t Schema::feature_count() const {
  size_t count = 0;
  for (const Column& column : columns) count += column.width();
  return count;
}

const Column& Schema::label() const {
  return *std::find_if(columns.begin(), columns.end(),
                       [](const Column& column) { return column.kind == Column::Kind::kLabel; });
}

}  // namespace dpledger::examples
