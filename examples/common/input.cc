#include "examples/common/input.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file.h"
#include "base/status.h"
#include "examples/common/program.h"
#include "examples/common/schema.h"

namespace dpledger::examples {
namespace {

constexpr size_t kSyntheticRecords = 20000;

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

}  // namespace

void AddDataFlags(flags::App& app, DataFlags& flags) {
  auto* data = app.add_option("--data", flags.data, "CSV file")->check(flags::ExistingFile());
  auto* schema = app.add_option("--schema", flags.schema, "JSON file of the CSV's public constants")
                     ->check(flags::ExistingFile());
  data->needs(schema);
  schema->needs(data);
  auto* images = app.add_option("--idx-images", flags.idx_images, "IDX file (MNIST's format)")
                     ->check(flags::ExistingFile())
                     ->excludes(data);
  auto* labels = app.add_option("--idx-labels", flags.idx_labels, "IDX file of its labels")
                     ->check(flags::ExistingFile());
  images->needs(labels);
  labels->needs(images);
  app.add_option(
      "--dataset", flags.dataset,
      "the data set's name in the ledger, the same for all runs on it [the file's name]");
  app.add_option("--population", flags.population,
                 "number of records, a public constant that was chosen beforehand [the schema's "
                 "rows]")
      ->check(Between(1, 1e8));
}

absl::StatusOr<Input> ReadInput(const DataFlags& flags, Size size) {
  Input input;
  if (!flags.data.empty()) {
    ASSIGN_OR_RETURN(const std::string json, ReadFile(flags.schema));
    const auto schema = Schema::Parse(json);
    if (!schema.ok()) return InFile(flags.schema, schema.status());
    ASSIGN_OR_RETURN(const std::string csv, ReadFile(flags.data));
    auto data = ParseCsv(csv, *schema);
    if (!data.ok()) return InFile(flags.data, data.status());
    input = {*std::move(data), flags.data, schema->rows.value_or(0)};
  } else if (!flags.idx_images.empty()) {
    ASSIGN_OR_RETURN(const std::string images, ReadFile(flags.idx_images));
    ASSIGN_OR_RETURN(const std::string labels, ReadFile(flags.idx_labels));
    ASSIGN_OR_RETURN(input.data, ParseIdx(images, labels));
    input.name = flags.idx_images;
  } else {
    input = {MakeSynthetic(kSyntheticRecords), "synthetic", kSyntheticRecords};
  }
  input.name.erase(0, input.name.rfind('/') + 1);
  if (!flags.dataset.empty()) input.name = flags.dataset;
  if (flags.population > 0) input.population = flags.population;
  if (input.population == 0 && size == Size::kSecret) {
    return FieldError("--population",
                      "must be given, or \"rows\" in the schema: how many records there are is a "
                      "secret where one may come or go. Give a constant that was chosen beforehand "
                      "and is at least that");
  }
  if (input.population == 0) {
    input.population = input.data.size();
    absl::FPrintF(stderr, "note: the number of records, %d, is taken as public (--population)\n",
                  input.data.size());
  }
  if (input.population < input.data.size()) {
    absl::FPrintF(stderr, "note: records after the declared %d are left out\n", input.population);
  }
  return input;
}

}  // namespace dpledger::examples
