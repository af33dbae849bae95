// JSON Schema (draft 2020-12), as much of it as docs/schema/answers.json uses: $ref within the
// file, type, enum, pattern, properties, required, unevaluatedProperties, items and oneOf. A schema
// with any other keyword fails the test, so that no rule is passed over in silence.
#pragma once

#include <google/protobuf/struct.pb.h>

#include <set>
#include <string>
#include <vector>

namespace dpledger::testing {

class JsonSchema {
 public:
  // Reads docs/schema/answers.json.
  JsonSchema();

  // Where `value` breaks the rules of a definition ("ledgers[0].size: must be an integer"); empty:
  // nowhere.
  std::vector<std::string> Errors(const std::string& definition,
                                  const google::protobuf::Value& value) const;
  // The definitions of what a command prints: those that say so.
  std::set<std::string> Commands() const;

 private:
  google::protobuf::Struct root_;
};

}  // namespace dpledger::testing
