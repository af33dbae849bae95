// JSON as security needs it (RFC 8259, and the rules of I-JSON that close gaps): a text has one
// meaning or none.
//
// 1. Refused: a member name twice in one object, bytes that are not UTF-8, lone surrogates, NUL in
//    a string, anything after the value, nesting deeper than `max_depth`, numbers outside double.
// 2. Errors give the byte offset and the rule, never bytes of the text.
// Values; thread safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace dpledger::identity {

class Json {
 public:
  using Array = std::vector<Json>;
  struct Members {  // in the order of the text; as many names as values
    std::vector<std::string> names;
    std::vector<Json> values;
  };

  // INVALID_ARGUMENT "at byte 17: …".
  static absl::StatusOr<Json> Parse(std::string_view text, int max_depth = 8);

  // Null if the value is of another kind.
  const std::string* string() const { return std::get_if<std::string>(&value_); }
  const double* number() const { return std::get_if<double>(&value_); }
  const Array* array() const { return std::get_if<Array>(&value_); }
  const Members* object() const { return std::get_if<Members>(&value_); }
  // The member of an object; null if there is none, or this is no object.
  const Json* Find(std::string_view name) const;

 private:
  friend class JsonParser;
  std::variant<std::nullptr_t, bool, double, std::string, Array, Members> value_ = nullptr;
};

}  // namespace dpledger::identity
