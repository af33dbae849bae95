#include "tests/cli/json_schema.h"

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace dpledger::testing {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

bool HasType(const Value& value, const std::string& type) {
  if (type == "object") return value.has_struct_value();
  if (type == "array") return value.has_list_value();
  if (type == "string") return value.has_string_value();
  if (type == "boolean") return value.has_bool_value();
  if (type == "number") return value.has_number_value();
  if (type == "integer") {
    return value.has_number_value() && value.number_value() == std::floor(value.number_value());
  }
  ADD_FAILURE() << "the schema has a type " << type;
  return false;
}

// One value and all below it.
class Check {
 public:
  explicit Check(const Struct& root) : root_(root) {}

  std::vector<std::string> errors;

  // The names of the members that the schema speaks of.
  std::set<std::string> Run(const Struct& schema, const Value& value, const std::string& at) {
    std::set<std::string> known;
    for (const auto& [keyword, rule] : schema.fields()) {
      if (keyword == "$ref") {
        known.merge(Run(Resolve(rule.string_value()), value, at));
      } else if (keyword == "type") {
        if (!HasType(value, rule.string_value()))
          Fail(at, "must be of type " + rule.string_value());
      } else if (keyword == "enum") {
        CheckEnum(rule, value, at);
      } else if (keyword == "pattern") {
        if (!std::regex_search(value.string_value(), std::regex(rule.string_value()))) {
          Fail(at, "must match " + rule.string_value());
        }
      } else if (keyword == "required") {
        for (const Value& name : rule.list_value().values()) {
          if (value.struct_value().fields().count(name.string_value()) > 0) continue;
          Fail(at, "must have " + name.string_value());
        }
      } else if (keyword == "properties") {
        for (const auto& [name, property] : rule.struct_value().fields()) {
          known.insert(name);
          const auto found = value.struct_value().fields().find(name);
          if (found == value.struct_value().fields().end()) continue;
          Run(property.struct_value(), found->second, absl::StrCat(at, ".", name));
        }
      } else if (keyword == "items") {
        int index = 0;
        for (const Value& item : value.list_value().values()) {
          Run(rule.struct_value(), item, absl::StrCat(at, "[", index++, "]"));
        }
      } else if (keyword == "oneOf") {
        known.merge(CheckOneOf(rule, value, at));
      } else if (keyword != "unevaluatedProperties" && keyword != "description") {
        ADD_FAILURE() << "the schema has a keyword " << keyword;
      }
    }
    if (schema.fields().count("unevaluatedProperties") == 0) return known;
    for (const auto& [name, member] : value.struct_value().fields()) {
      if (known.count(name) == 0) Fail(at, "must not have " + name);
    }
    return known;
  }

 private:
  void Fail(const std::string& at, const std::string& rule) {
    errors.push_back(absl::StrCat(at, ": ", rule));
  }

  const Struct& Resolve(const std::string& reference) const {
    const std::string name(absl::StripPrefix(reference, "#/$defs/"));
    return root_.fields().at("$defs").struct_value().fields().at(name).struct_value();
  }

  void CheckEnum(const Value& rule, const Value& value, const std::string& at) {
    for (const Value& allowed : rule.list_value().values()) {
      if (value.has_string_value() && allowed.string_value() == value.string_value()) return;
    }
    Fail(at, absl::StrCat("must be in the list, got ", value.string_value()));
  }

  std::set<std::string> CheckOneOf(const Value& rule, const Value& value, const std::string& at) {
    int matches = 0;
    std::set<std::string> known;
    for (const Value& schema : rule.list_value().values()) {
      Check alone(root_);
      std::set<std::string> its_own = alone.Run(schema.struct_value(), value, at);
      if (!alone.errors.empty()) continue;
      ++matches;
      known.merge(its_own);
    }
    if (matches != 1) Fail(at, absl::StrCat("must match one of several rules, matches ", matches));
    return known;
  }

  const Struct& root_;
};

}  // namespace

JsonSchema::JsonSchema() {
  const char* source = std::getenv("DPLEDGER_SOURCE");
  EXPECT_NE(source, nullptr);
  std::ostringstream text;
  text << std::ifstream(absl::StrCat(source, "/docs/schema/answers.json")).rdbuf();
  const auto status = google::protobuf::util::JsonStringToMessage(text.str(), &root_);
  EXPECT_TRUE(status.ok()) << status.ToString();
}

std::vector<std::string> JsonSchema::Errors(const std::string& definition,
                                            const Value& value) const {
  Check check(root_);
  const auto& definitions = root_.fields().at("$defs").struct_value().fields();
  const auto found = definitions.find(definition);
  if (found == definitions.end()) return {"no definition " + definition};
  check.Run(found->second.struct_value(), value, definition);
  return check.errors;
}

std::set<std::string> JsonSchema::Commands() const {
  std::set<std::string> names = {"error"};
  for (const auto& [name, schema] : root_.fields().at("$defs").struct_value().fields()) {
    const auto description = schema.struct_value().fields().find("description");
    if (description == schema.struct_value().fields().end()) continue;
    if (absl::StartsWith(description->second.string_value(), "dpledger ")) names.insert(name);
  }
  return names;
}

}  // namespace dpledger::testing
