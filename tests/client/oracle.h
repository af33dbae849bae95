// Values that tests/oracle/client_randomness.py computed from the text of docs/formats.md.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "client/key_stream.h"
#include "tests/support/json_file.h"

namespace dpledger::client {

using testing::JsonList;
using testing::JsonObject;

// What a machine with this generator draws.
inline google::protobuf::Struct LoadOracle(Generator generator = GeneratorOfThisMachine()) {
  return testing::ReadJsonFile("tests/oracle/client_randomness.json")
      .fields()
      .at(GeneratorName(generator))
      .struct_value();
}

inline const JsonList& ListAt(const JsonObject& object, const std::string& key) {
  return object.at(key).list_value().values();
}

inline double NumberAt(const JsonObject& object, const std::string& key) {
  return object.at(key).number_value();
}

// Integers below 2^53 are JSON numbers, words are strings.
inline std::vector<int64_t> IntegersAt(const JsonObject& object, const std::string& key) {
  std::vector<int64_t> result;
  for (const auto& value : ListAt(object, key)) {
    result.push_back(static_cast<int64_t>(value.number_value()));
  }
  return result;
}

inline std::vector<uint64_t> WordsAt(const JsonObject& object, const std::string& key) {
  std::vector<uint64_t> result;
  for (const auto& value : ListAt(object, key)) {
    uint64_t word = 0;
    EXPECT_TRUE(absl::SimpleAtoi(value.string_value(), &word));
    result.push_back(word);
  }
  return result;
}

}  // namespace dpledger::client
