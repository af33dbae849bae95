#include "server/summaries/filter.h"

#include <string.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "events/names.h"

namespace dpledger::server {
namespace {

// In time linear in both, whatever they repeat: std::string::find takes their product.
bool Contains(std::string_view text, std::string_view part) {
  return ::memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
}

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsNameByte(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool EndsWord(char c) { return IsSpace(c) || c == '(' || c == ')' || c == '"'; }

std::optional<double> NumberFrom(const std::string& text) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || std::isnan(number)) return std::nullopt;
  return number;
}

// "2026-11-22", "2026-11-22T20:10:00Z".
std::optional<absl::Time> TimeFrom(const std::string& text) {
  absl::Time time;
  std::string error;
  for (const char* format : {absl::RFC3339_full, "%Y-%m-%d"}) {
    if (absl::ParseTime(format, text, &time, &error) && time != absl::InfiniteFuture() &&
        time != absl::InfinitePast()) {
      return time;
    }
  }
  return std::nullopt;
}

// "90s", "3d", "1d12h".
std::optional<absl::Duration> DurationFrom(const std::string& text) {
  static const std::map<char, absl::Duration> kUnits = {{'s', absl::Seconds(1)},
                                                        {'m', absl::Minutes(1)},
                                                        {'h', absl::Hours(1)},
                                                        {'d', absl::Hours(24)},
                                                        {'w', absl::Hours(24 * 7)}};
  absl::Duration sum;
  size_t at = 0;
  while (at < text.size()) {
    const size_t begin = at;
    while (at < text.size() &&
           (absl::ascii_isdigit(static_cast<unsigned char>(text[at])) || text[at] == '.')) {
      ++at;
    }
    double number = 0;
    if (at == begin || at == text.size() ||
        !absl::SimpleAtod(text.substr(begin, at - begin), &number)) {
      return std::nullopt;
    }
    const auto unit = kUnits.find(text[at++]);
    if (unit == kUnits.end()) return std::nullopt;
    sum += number * unit->second;
  }
  if (text.empty()) return std::nullopt;
  return sum;
}

struct Operator {
  std::string_view spelling;
  bool (*holds)(const FieldValue& value, const FieldValue& asked);  // none of ":"
};

// A spelling stands before what it begins with. A value that is not there is below all others.
constexpr Operator kOperators[] = {
    {"!=", [](const FieldValue& a, const FieldValue& b) { return a != b; }},
    {"<=", [](const FieldValue& a, const FieldValue& b) { return a.index() != 0 && a <= b; }},
    {">=", [](const FieldValue& a, const FieldValue& b) { return a >= b; }},
    {"=", [](const FieldValue& a, const FieldValue& b) { return a == b; }},
    {"<", [](const FieldValue& a, const FieldValue& b) { return a.index() != 0 && a < b; }},
    {">", [](const FieldValue& a, const FieldValue& b) { return a > b; }},
    {":", nullptr}};

}  // namespace

// One ledger's values, each made when it is first asked for: a filter of some hundred terms may ask
// for one text as often.
class Filter::Values {
 public:
  Values(const Listed& listed, const std::vector<const ListedField*>& fields)
      : listed_(listed), fields_(fields), read_(fields.size()) {}

  const FieldValue& Of(size_t field) {
    std::optional<FieldValue>& value = read_[field].value;
    if (!value.has_value()) value = fields_[field]->of(listed_);
    return *value;
  }
  // Of a text that is there.
  const std::string& LowerOf(size_t field) {
    std::optional<std::string>& lower = read_[field].lower;
    if (!lower.has_value())
      lower = absl::AsciiStrToLower(ToAbsl(std::get<std::string_view>(Of(field))));
    return *lower;
  }

 private:
  struct Field {
    std::optional<FieldValue> value;
    std::optional<std::string> lower;
  };
  const Listed& listed_;
  const std::vector<const ListedField*>& fields_;
  absl::InlinedVector<Field, 4> read_;
};

class FilterParser {
 public:
  explicit FilterParser(std::string_view text) : text_(text) {}

  absl::StatusOr<Filter> Parse() {
    if (text_.size() > kMostFilterBytes) {
      return FieldError("filter", absl::StrCat("must be at most ", kMostFilterBytes, " bytes, got ",
                                               text_.size()));
    }
    SkipSpace();
    if (at_ == text_.size()) return Filter();
    ASSIGN_OR_RETURN(filter_.test_, Any());
    if (at_ < text_.size()) {
      return text_[at_] == ')' ? Wrong(at_, "there is no ( for this )")
                               : Wrong(at_, "must be AND, OR or the end");
    }
    return std::move(filter_);
  }

 private:
  using Values = Filter::Values;
  using Test = std::function<bool(Values& values)>;

  absl::StatusOr<Test> Any() {
    return Joined("OR", true, [this] { return All(); });
  }
  absl::StatusOr<Test> All() {
    return Joined("AND", false, [this] { return Term(); });
  }

  // Terms with `word` between them: one that is `decides` decides.
  template <typename Read>
  absl::StatusOr<Test> Joined(std::string_view word, bool decides, const Read& read) {
    std::vector<Test> terms;
    do {
      ASSIGN_OR_RETURN(Test term, read());
      terms.push_back(std::move(term));
    } while (Takes(word));
    if (terms.size() == 1) return std::move(terms[0]);
    return [terms = std::move(terms), decides](Values& values) {
      const auto is = [&](const Test& term) { return term(values) == decides; };
      return std::any_of(terms.begin(), terms.end(), is) == decides;
    };
  }

  absl::StatusOr<Test> Term() {
    if (depth_ == kMostFilterDepth) {
      return Wrong(at_, absl::StrCat("must not be deeper than ", kMostFilterDepth, " levels"));
    }
    ++depth_;
    absl::StatusOr<Test> term = Inner();
    --depth_;
    return term;
  }

  absl::StatusOr<Test> Inner() {
    const size_t begin = at_;
    if (Takes("NOT")) {
      ASSIGN_OR_RETURN(Test inner, Term());
      return [inner = std::move(inner)](Values& values) { return !inner(values); };
    }
    if (at_ == text_.size() || text_[at_] != '(') return Comparison();
    ++at_;
    SkipSpace();
    ASSIGN_OR_RETURN(Test inner, Any());
    if (at_ == text_.size()) return Wrong(begin, "there is no ) for this (");
    if (text_[at_] != ')') return Wrong(at_, "must be AND, OR or )");
    ++at_;
    SkipSpace();
    return inner;
  }

  absl::StatusOr<Test> Comparison() {
    const size_t begin = at_;
    while (at_ < text_.size() && IsNameByte(text_[at_])) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (name.empty()) return Wrong(begin, "must be a field, NOT or (");
    if (name == "AND" || name == "OR") return Wrong(begin, "must be a field, NOT or (");
    const ListedField* const field = FindListedField(name);
    if (field == nullptr) {
      return Wrong(begin, absl::StrCat("must be a field (", ListedFieldNames(), "), got ",
                                       events::Quoted(name)));
    }
    const auto known = std::find(filter_.fields_.begin(), filter_.fields_.end(), field);
    const auto index = static_cast<size_t>(known - filter_.fields_.begin());
    if (known == filter_.fields_.end()) filter_.fields_.push_back(field);
    SkipSpace();
    const size_t at_operator = at_;
    ASSIGN_OR_RETURN(const Operator op, TakeOperator());
    SkipSpace();
    const size_t at_value = at_;
    bool quoted = false;
    ASSIGN_OR_RETURN(const std::string value, TakeValue(quoted));
    SkipSpace();
    const bool has = op.holds == nullptr;
    if (has && value == "*" && !quoted) {
      return [index](Values& values) { return values.Of(index).index() != 0; };
    }
    if (has && field->kind != FieldKind::kText) {
      return Wrong(at_operator,
                   absl::StrCat("must be =, !=, <, <=, > or >=, or :*, for ", ToAbsl(field->name)));
    }
    if (field->kind == FieldKind::kChoice && op.spelling != "=" && op.spelling != "!=") {
      return Wrong(at_operator, absl::StrCat("must be = or !=, or :*, for ", ToAbsl(field->name)));
    }
    ASSIGN_OR_RETURN(const FieldValue asked, ValueFor(*field, value, at_value));
    if (has) {
      return [index, part = absl::AsciiStrToLower(value)](Values& values) {
        return values.Of(index).index() != 0 && Contains(values.LowerOf(index), part);
      };
    }
    return
        [index, asked, holds = op.holds](Values& values) { return holds(values.Of(index), asked); };
  }

  absl::StatusOr<Operator> TakeOperator() {
    for (const Operator& op : kOperators) {
      if (!text_.substr(at_).starts_with(op.spelling)) continue;
      at_ += op.spelling.size();
      return op;
    }
    return Wrong(at_, "must be one of = != < <= > >= :");
  }

  absl::StatusOr<std::string> TakeValue(bool& quoted) {
    const size_t begin = at_;
    std::string value;
    quoted = at_ < text_.size() && text_[at_] == '"';
    if (!quoted) {
      while (at_ < text_.size() && !EndsWord(text_[at_])) ++at_;
      if (at_ == begin) return Wrong(begin, "must be a value");
      return std::string(text_.substr(begin, at_ - begin));
    }
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
        if (at_ == text_.size() || (text_[at_] != '"' && text_[at_] != '\\')) {
          return Wrong(at_ - 1, "\\ must stand before \" or \\");
        }
      }
      value.push_back(text_[at_]);
    }
    if (at_ == text_.size()) return Wrong(begin, "there is no second \"");
    ++at_;
    return value;
  }

  absl::StatusOr<FieldValue> ValueFor(const ListedField& field, const std::string& value,
                                      size_t at) {
    const auto wrong = [&](std::string_view rule) {
      return Wrong(at, absl::StrCat(ToAbsl(field.name), " must be ", ToAbsl(rule), ", got ",
                                    events::Quoted(value)));
    };
    switch (field.kind) {
      case FieldKind::kText:
        return Kept(value);
      case FieldKind::kChoice: {
        for (const std::string& choice : field.choices) {
          if (absl::EqualsIgnoreCase(choice, value)) return FieldValue(choice);
        }
        return wrong(absl::StrCat("one of ", absl::StrJoin(field.choices, ", ")));
      }
      case FieldKind::kNumber: {
        const std::optional<double> number = NumberFrom(value);
        return number.has_value() ? absl::StatusOr<FieldValue>(*number) : wrong("a number");
      }
      case FieldKind::kTime: {
        const std::optional<absl::Time> time = TimeFrom(value);
        return time.has_value() ? absl::StatusOr<FieldValue>(*time)
                                : wrong("a time as 2026-01-31 or 2026-01-31T12:00:00Z");
      }
      case FieldKind::kDuration: {
        const std::optional<absl::Duration> duration = DurationFrom(value);
        return duration.has_value() ? absl::StatusOr<FieldValue>(*duration)
                                    : wrong("a duration as 90s, 15m, 12h, 3d or 2w");
      }
    }
    return wrong("known");
  }

  // The word, as a whole.
  bool Takes(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    const size_t end = at_ + word.size();
    if (end < text_.size() && !EndsWord(text_[end])) return false;
    at_ = end;
    SkipSpace();
    return true;
  }

  void SkipSpace() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
  }

  FieldValue Kept(std::string text) { return filter_.texts_.emplace_back(std::move(text)); }

  static absl::Status Wrong(size_t at, std::string_view rule) {
    return FieldError("filter", absl::StrCat("byte ", at + 1, ": ", ToAbsl(rule)));
  }

  const std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  Filter filter_;
};

absl::StatusOr<Filter> Filter::Parse(std::string_view text) { return FilterParser(text).Parse(); }

bool Filter::Holds(const Listed& listed) const {
  if (test_ == nullptr) return true;
  Values values(listed, fields_);
  return test_(values);
}

absl::StatusOr<ListOrder> ListOrder::Parse(std::string_view text) {
  const std::vector<std::string> words =
      absl::StrSplit(ToAbsl(text), absl::ByAnyChar(" \t"), absl::SkipEmpty());
  ListOrder order;
  if (words.empty() && text.size() <= kMostFilterBytes) return order;
  if (text.size() > kMostFilterBytes || words.size() > 2 ||
      (words.size() == 2 && words[1] != "asc" && words[1] != "desc")) {
    return FieldError("order_by", "must be a field, alone or with \"asc\" or \"desc\" behind it");
  }
  order.field_ = FindListedField(words[0]);
  if (order.field_ == nullptr) {
    return FieldError("order_by", absl::StrCat("must be a field (", ListedFieldNames(), "), got ",
                                               events::Quoted(words[0])));
  }
  order.descending_ = words.size() == 2 && words[1] == "desc";
  if (order.field_->name == "name" && !order.descending_) order.field_ = nullptr;
  return order;
}

ListOrder::Place ListOrder::PlaceOf(const LedgerRow& row) const {
  Place place;
  if (field_ != nullptr) place.value = field_->of({row, absl::UnixEpoch()});
  place.name = row.name();
  return place;
}

bool ListOrder::Before(const Place& a, const Place& b) const {
  if (a.value != b.value) {
    if (a.value.index() == 0 || b.value.index() == 0) return b.value.index() == 0;
    return descending_ ? b.value < a.value : a.value < b.value;
  }
  return a.name < b.name;
}

}  // namespace dpledger::server
