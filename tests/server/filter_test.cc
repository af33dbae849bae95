// The filter language of lists: what it means, against an evaluator that is nothing but the
// definition, and how it refuses.
#include "server/summaries/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/ledger_store/requests.h"
#include "tests/server/row_of.h"

namespace dpledger::server {
namespace {

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

struct Sample {
  v1::Ledger ledger;
  std::optional<v1::LedgerSummary> summary;
  mutable LedgerRow row = {};
  Listed listed() const { return {row = RowOf(ledger, summary), kNow}; }
};

Sample Adult() {
  Sample sample;
  sample.ledger.set_name("projects/vision/ledgers/adult-1");
  sample.ledger.set_state(v1::OPEN);
  sample.ledger.set_size(7);
  sample.ledger.set_open_writer_count(2);
  sample.ledger.set_creator("token:ada");
  sample.ledger.mutable_create_time()->set_seconds(absl::ToUnixSeconds(kNow - absl::Hours(48)));
  sample.ledger.mutable_declaration()->set_dataset("Adult \"census\"");
  sample.ledger.mutable_declaration()->set_unit_of_privacy("user");
  sample.ledger.mutable_declaration()->set_adjacency(v1::REPLACE_ONE);
  sample.ledger.mutable_declaration()->set_parameters(v1::FIXED);
  v1::LedgerSummary& summary = sample.summary.emplace();
  summary.mutable_epsilon()->set_lower(1.5);
  summary.mutable_epsilon()->set_upper(2.5);
  summary.set_delta(1e-5);
  summary.set_method("pld");
  summary.set_version("1.2");
  summary.set_rounds(3);
  summary.mutable_compute_time()->set_seconds(absl::ToUnixSeconds(kNow - absl::Hours(30)));
  summary.mutable_last_entry_time()->set_seconds(absl::ToUnixSeconds(kNow - absl::Hours(31)));
  return sample;
}

Sample Refused() {
  Sample sample = Adult();
  sample.summary->clear_epsilon();
  sample.summary->clear_method();
  sample.summary->mutable_refusal()->set_reason("NO_ANALYSIS");
  return sample;
}

Sample WithoutSummary() {
  Sample sample = Adult();
  sample.summary.reset();
  return sample;
}

bool Holds(const std::string& text, const Sample& sample) {
  const auto filter = Filter::Parse(text);
  EXPECT_TRUE(filter.ok()) << text << ": " << filter.status();
  return filter.ok() && filter->Holds(sample.listed());
}

TEST(Filter, ComparesEachKindOfField) {
  for (const char* text : {"",
                           "  ",
                           "name = projects/vision/ledgers/adult-1",
                           "project = vision",
                           "project=\"vision\"",
                           "dataset = \"Adult \\\"census\\\"\"",
                           "dataset:ADULT",
                           "unit != example",
                           "creator:ada",
                           "adjacency = replace_one",
                           "parameters = FIXED",
                           "state = OPEN",
                           "state != sealed",
                           "size = 7",
                           "size >= 7",
                           "size < 7.5",
                           "open_writers > 1",
                           "epsilon > 1.5",
                           "epsilon = 2.5",
                           "epsilon < Infinity",
                           "epsilon:*",
                           "delta = 1e-5",
                           "method = pld",
                           "version < 1.3",
                           "rounds <= 3",
                           "conflicts = 0",
                           "create_time < 2030-01-01",
                           "create_time > 2020-01-01T00:00:00Z",
                           "last_entry_time > 2023-11-01",
                           "age > 1d",
                           "age < 30h1s",
                           "age > 29h30m",
                           "NOT refused:*",
                           "NOT size = 8",
                           "NOT NOT size = 7",
                           "size = 8 OR size = 7",
                           "size = 7 OR size = 7 AND size = 8",
                           "(size = 8 OR size = 7) AND size = 7",
                           "NOT(size=8)AND(size=7)"}) {
    EXPECT_TRUE(Holds(text, Adult())) << text;
  }
  for (const char* text :
       {"project = visio", "dataset = adult", "dataset:adults", "adjacency = ADD_OR_REMOVE_ONE",
        "size != 7", "size > 7", "epsilon > 2.5", "epsilon <= 1.5", "age > 2d", "refused:*",
        "NOT size = 7", "size = 7 AND size = 8", "(size = 7 OR size = 7) AND size = 8"}) {
    EXPECT_FALSE(Holds(text, Adult())) << text;
  }
}

TEST(Filter, WhatALedgerDoesNotHaveComparesAsFalse) {
  for (const char* text : {"epsilon > 0", "epsilon <= 1e300", "epsilon:*", "epsilon = 2.5"}) {
    EXPECT_FALSE(Holds(text, Refused())) << text;
    EXPECT_FALSE(Holds(text, WithoutSummary())) << text;
    EXPECT_TRUE(Holds(absl::StrCat("NOT ", text), Refused())) << text;
  }
  EXPECT_TRUE(Holds("epsilon != 2.5", Refused()));
  EXPECT_TRUE(Holds("refused = NO_ANALYSIS AND refused:analysis AND refused:*", Refused()));
  EXPECT_FALSE(Holds("rounds >= 0", WithoutSummary()));
}

TEST(Filter, ErrorsNameTheByteAndTheRule) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"sise = 3", "filter: byte 1: must be a field (name, project,"},
      {"size", "filter: byte 5: must be one of = != < <= > >= :"},
      {"size = ", "filter: byte 8: must be a value"},
      {"size = many", "filter: byte 8: size must be a number, got \"many\""},
      {"size = nan", "filter: byte 8: size must be a number, got \"nan\""},
      {"size : 3", "filter: byte 6: must be =, !=, <, <=, > or >=, or :*, for size"},
      {"state < OPEN", "filter: byte 7: must be = or !=, or :*, for state"},
      {"state = CLOSED", "filter: byte 9: state must be one of OPEN, SEALED, got \"CLOSED\""},
      {"age > 3", "filter: byte 7: age must be a duration as 90s, 15m, 12h, 3d or 2w"},
      {"age > 3y", "filter: byte 7: age must be a duration"},
      {"create_time > now", "filter: byte 15: create_time must be a time as 2026-01-31"},
      {"size = 3 size = 4", "filter: byte 10: must be AND, OR or the end"},
      {"size = 3 AND", "filter: byte 13: must be a field, NOT or ("},
      {"AND size = 3", "filter: byte 1: must be a field, NOT or ("},
      {"(size = 3", "filter: byte 1: there is no ) for this ("},
      {"size = 3)", "filter: byte 9: there is no ( for this )"},
      {"dataset = \"a", "filter: byte 11: there is no second \""},
      {"dataset = \"a\\n\"", "filter: byte 13: \\ must stand before"},
      {std::string(33, '('), "filter: byte 33: must not be deeper than 32 levels"},
      {std::string(4097, ' '), "filter: must be at most 4096 bytes, got 4097"}};
  for (const auto& [text, message] : cases) {
    EXPECT_TRUE(IsError(Filter::Parse(text).status(), kInvalid, "INVALID_FIELD", message)) << text;
  }
}

TEST(Filter, TheLongestAndTheDeepestAreAsked) {
  std::string deep = "size = 7";
  for (int i = 0; i < 31; ++i) deep = absl::StrCat("(", deep, ")");
  EXPECT_TRUE(Holds(deep, Adult()));
  std::string longest = "size=8";
  while (longest.size() + 10 <= kMostFilterBytes) longest += " OR size=8";
  EXPECT_FALSE(Holds(longest, Adult()));
}

// ---- The same as the definition ----

// A filter as a tree, which is printed for the parser and asked by itself.
struct Tree {
  enum Kind { kSize, kEpsilon, kProject, kHas, kThere, kNot, kAnd, kOr } kind = kSize;
  std::string op;
  double number = 0;
  std::string text;
  std::vector<Tree> parts;
};

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}
  size_t Below(size_t n) { return random_() % n; }

  Tree Make(int depth) {
    static const std::vector<std::string> kOps = {"=", "!=", "<", "<=", ">", ">="};
    static const std::vector<std::string> kTexts = {"vision", "Vi",  "audio",
                                                    "AND",    "a b", "x\"y\\z"};
    Tree tree;
    tree.kind = static_cast<Tree::Kind>(Below(depth == 0 ? 5 : 8));
    tree.op = kOps[Below(kOps.size())];
    tree.number = static_cast<double>(Below(5));
    tree.text = kTexts[Below(kTexts.size())];
    const size_t parts = tree.kind == Tree::kNot ? 1 : tree.kind >= Tree::kAnd ? 2 + Below(2) : 0;
    for (size_t i = 0; i < parts; ++i) tree.parts.push_back(Make(depth - 1));
    return tree;
  }
  std::string Space() { return std::string(Below(3), ' '); }

  std::string Print(const Tree& tree) {
    const auto quoted = [&](const std::string& text) {
      std::string out = "\"";
      for (const char c : text) {
        if (c == '"' || c == '\\') out.push_back('\\');
        out.push_back(c);
      }
      return out + "\"";
    };
    switch (tree.kind) {
      case Tree::kSize:
        return absl::StrCat("size", Space(), tree.op, Space(), tree.number);
      case Tree::kEpsilon:
        return absl::StrCat("epsilon", Space(), tree.op, Space(), tree.number);
      case Tree::kProject:
        return absl::StrCat("project", Space(), tree.op, Space(), quoted(tree.text));
      case Tree::kHas:
        return absl::StrCat("project", Space(), ":", Space(), quoted(tree.text));
      case Tree::kThere:
        return "epsilon:*";
      case Tree::kNot:
        return absl::StrCat("NOT ", Part(tree.parts[0], Tree::kNot));
      default:
        break;
    }
    std::string out = Part(tree.parts[0], tree.kind);
    for (size_t i = 1; i < tree.parts.size(); ++i) {
      absl::StrAppend(&out, tree.kind == Tree::kAnd ? " AND " : " OR ",
                      Part(tree.parts[i], tree.kind));
    }
    return out;
  }
  // With parentheses where it binds less than what it is part of, and sometimes where it need not.
  std::string Part(const Tree& tree, Tree::Kind of) {
    const bool must = tree.kind > of || (of == Tree::kNot && tree.kind > Tree::kNot);
    return must || Below(4) == 0 ? absl::StrCat("(", Space(), Print(tree), Space(), ")")
                                 : Print(tree);
  }

 private:
  std::mt19937_64 random_;
};

template <typename T>
bool Compares(const T& a, const std::string& op, const T& b) {
  if (op == "=") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  return op == ">" ? a > b : a >= b;
}

bool Naively(const Tree& tree, double size, std::optional<double> epsilon,
             const std::string& project) {
  switch (tree.kind) {
    case Tree::kSize:
      return Compares(size, tree.op, tree.number);
    case Tree::kEpsilon:
      return epsilon.has_value() ? Compares(*epsilon, tree.op, tree.number) : tree.op == "!=";
    case Tree::kProject:
      return Compares(project, tree.op, tree.text);
    case Tree::kHas:
      return absl::StrContains(absl::AsciiStrToLower(project), absl::AsciiStrToLower(tree.text));
    case Tree::kThere:
      return epsilon.has_value();
    default:
      break;
  }
  std::vector<bool> parts;
  for (const Tree& part : tree.parts) parts.push_back(Naively(part, size, epsilon, project));
  if (tree.kind == Tree::kNot) return !parts[0];
  const bool looked_for = tree.kind == Tree::kOr;
  return (std::find(parts.begin(), parts.end(), looked_for) != parts.end()) == looked_for;
}

TEST(Filter, IsTheDefinitionOnRandomFilters) {
  Maker maker(20261122);
  int held = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Tree tree = maker.Make(3);
    const std::string text = maker.Print(tree);
    Sample sample = Adult();
    const double size = static_cast<double>(maker.Below(5));
    const std::string project = maker.Below(2) == 0 ? "vision" : "audio";
    std::optional<double> epsilon;
    sample.ledger.set_size(static_cast<uint64_t>(size));
    sample.ledger.set_name(absl::StrCat("projects/", project, "/ledgers/l"));
    sample.summary->clear_epsilon();
    if (maker.Below(3) > 0) {
      epsilon = static_cast<double>(maker.Below(5));
      sample.summary->mutable_epsilon()->set_upper(*epsilon);
    }
    const auto filter = Filter::Parse(text);
    ASSERT_TRUE(filter.ok()) << text << ": " << filter.status();
    const bool wanted = Naively(tree, size, epsilon, project);
    held += wanted ? 1 : 0;
    ASSERT_EQ(filter->Holds(sample.listed()), wanted)
        << text << " of size " << size << ", project " << project;
  }
  EXPECT_GT(held, 4'000);
  EXPECT_LT(held, 16'000);
}

// Whatever the bytes: an error or a filter, and no crash.
TEST(Filter, TakesAnyBytes) {
  std::mt19937_64 random(7);
  const std::vector<std::string> pieces = {
      "size", "=",  "AND", "NOT", "(", ")", "\"",   "\\",
      " ",    "3d", "age", ":",   "*", "<", "\xc3", std::string(1, '\0')};
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (size_t n = random() % 12; n > 0; --n) text += pieces[random() % pieces.size()];
    const auto filter = Filter::Parse(text);
    if (filter.ok()) filter->Holds(Adult().listed());
  }
}

// ---- Orders ----

TEST(ListOrder, IsByFieldThenNameWithTheAbsentLast) {
  std::vector<Sample> samples(4, Adult());
  const std::vector<double> epsilons = {2, 1, 2};
  for (size_t i = 0; i < 3; ++i) {
    samples[i].ledger.set_name(
        absl::StrCat("projects/p/ledgers/", std::string("cba").substr(i, 1)));
    samples[i].summary->mutable_epsilon()->set_upper(epsilons[i]);
  }
  samples[3] = Refused();
  const auto names = [&](const std::string& text) {
    const ListOrder order = *ListOrder::Parse(text);
    std::vector<ListOrder::Place> places;
    for (const Sample& sample : samples) places.push_back(order.PlaceOf(sample.listed().ledger));
    std::sort(places.begin(), places.end(),
              [&](const auto& a, const auto& b) { return order.Before(a, b); });
    std::string out;
    for (const auto& place : places) {
      out.append(place.name.substr(place.name.rfind('/') + 1)).append(" ");
    }
    return out;
  };
  EXPECT_EQ(names(""), "a b c adult-1 ");
  EXPECT_EQ(names("name"), "a b c adult-1 ");
  EXPECT_EQ(names("name desc"), "adult-1 c b a ");
  EXPECT_EQ(names("epsilon"), "b a c adult-1 ");
  EXPECT_EQ(names("epsilon asc"), "b a c adult-1 ");
  EXPECT_EQ(names("epsilon  desc"), "a c b adult-1 ");
  EXPECT_TRUE(IsError(ListOrder::Parse("sise").status(), kInvalid, "INVALID_FIELD",
                      "order_by: must be a field (name,"));
  for (const char* text : {"size down", "size desc desc"}) {
    EXPECT_TRUE(IsError(ListOrder::Parse(text).status(), kInvalid, "INVALID_FIELD",
                        "order_by: must be a field, alone or with \"asc\" or \"desc\" behind it"));
  }
}

}  // namespace
}  // namespace dpledger::server
