// The filter language of lists, a part of AIP-160 (docs/filters.md), and the order of lists:
//
//   filter     = [ any ]
//   any        = all { "OR" all }
//   all        = term { "AND" term }
//   term       = "NOT" term | "(" any ")" | field operator value
//   operator   = "=" | "!=" | "<" | "<=" | ">" | ">=" | ":"
//   value      = '"' text '"' | word
//
//  1. A filter that was parsed can be asked about any ledger: it knows its fields, and each value
//     is of its field's kind.
//  2. Parsing and asking take time and stack in proportion to the text, which is bounded; a
//     ledger's values are read once for a filter, however many of its terms ask for them.
//  3. A value that a ledger does not have compares as false; "a != b" is "NOT a = b".
// Immutable; thread safe.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/summaries/listed_fields.h"

namespace dpledger::server {

inline constexpr size_t kMostFilterBytes = 4096;
inline constexpr int kMostFilterDepth = 32;  // of parentheses and NOTs within each other

class Filter {
 public:
  // Everything.
  Filter() = default;
  Filter(Filter&&) = default;  // a copy's values would be texts of the other
  // INVALID_ARGUMENT: "filter: byte 12: …" names the first byte (from 1) that is wrong, and the
  // rule.
  static absl::StatusOr<Filter> Parse(std::string_view text);

  bool Holds(const Listed& listed) const;

 private:
  friend class FilterParser;
  class Values;

  std::function<bool(Values& values)> test_;  // empty: everything
  std::vector<const ListedField*> fields_;    // that are asked for, each once
  std::list<std::string> texts_;              // of values of the test; they stay where they are
};

// An order of ledgers: by a field, then by name. Ledgers without a value come last, either way.
class ListOrder {
 public:
  ListOrder() = default;  // by name
  // "epsilon desc". INVALID_ARGUMENT names `order_by` and the rule.
  static absl::StatusOr<ListOrder> Parse(std::string_view text);

  // Where a ledger stands. Its texts are the ledger's.
  struct Place {
    FieldValue value;
    std::string_view name;
  };
  // Ages are as of one fixed moment, which changes nothing in their order.
  Place PlaceOf(const LedgerRow& row) const;
  bool Before(const Place& a, const Place& b) const;
  bool by_name() const { return field_ == nullptr; }
  bool operator==(const ListOrder&) const = default;

 private:
  const ListedField* field_ = nullptr;  // null: by name alone
  bool descending_ = false;
};

}  // namespace dpledger::server
