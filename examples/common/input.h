// What the example programs train on, and the flags that say so.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "examples/common/dataset.h"
#include "flags/app.h"

namespace dpledger::examples {

struct DataFlags {
  std::string data, schema, idx_images, idx_labels;  // none: made-up data
  std::string dataset;                               // its name in the ledger
  uint64_t population = 0;                           // 0: the schema's
};
void AddDataFlags(flags::App& app, DataFlags& flags);

struct Input {
  Dataset data;
  std::string name;         // in the ledger
  uint64_t population = 0;  // declared records, held out ones included
};

// The number of records is public where one of them is replaced. Where one may come or go it is a
// secret, and must not be read off a file.
enum class Size { kPublic, kSecret };

// Notes on stderr what it takes for public. Errors name the file, or --population.
absl::StatusOr<Input> ReadInput(const DataFlags& flags, Size size);

}  // namespace dpledger::examples
