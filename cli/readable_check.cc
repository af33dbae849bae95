#include "cli/readable_check.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "base/status.h"
#include "cli/answer_output.h"
#include "events/entry_json.h"
#include "ledger_store/bundle/difference.h"
#include "ledger_store/bundle/file.h"
#include "merkle/compact_tree.h"

namespace dpledger::cli {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

// ---- events.jsonl ----

// The lines of a member that is too large to be held.
class Lines {
 public:
  explicit Lines(bundle::UstarReader* reader) : reader_(*reader) {}

  // Without its newline; nothing at the end. The last line must end too.
  absl::StatusOr<std::optional<std::string>> Next() {
    std::string line;
    while (true) {
      const size_t end = piece_.find('\n');
      line += piece_.substr(0, end);
      if (line.size() > kMaxLineBytes) return Bad("has a line that is longer than any entry");
      if (end != std::string_view::npos) {
        piece_.remove_prefix(end + 1);
        return line;
      }
      ASSIGN_OR_RETURN(piece_, reader_.Piece());
      if (!piece_.empty()) continue;
      if (!line.empty()) return Bad("must end with a newline");
      return std::nullopt;
    }
  }

 private:
  static constexpr size_t kMaxLineBytes = size_t{8} << 20;

  static absl::Status Bad(const char* what) {
    return bundle::Differs(bundle::kEventsClass, bundle::kEventsMember, what);
  }

  bundle::UstarReader& reader_;
  std::string_view piece_;
};

// Whether the line is this entry in JSON. Versions may spell an entry in different ways: then what
// counts is what the line comes to.
bool Says(const std::string& line, const std::string& entry) {
  const absl::StatusOr<std::string> own = events::EntryToLine(entry);
  if (line == (own.ok() ? *own : "{}")) return true;
  v1::LedgerEntry stated, signed_entry;
  return google::protobuf::util::JsonStringToMessage(line, &stated).ok() &&
         signed_entry.ParseFromString(entry) &&
         stated.SerializeAsString() == signed_entry.SerializeAsString();
}

// The next member of this name, or at all; nothing if there is none.
absl::StatusOr<std::optional<bundle::UstarMember>> Find(bundle::UstarReader& reader,
                                                        std::string_view name) {
  while (true) {
    ASSIGN_OR_RETURN(std::optional<bundle::UstarMember> member, reader.Next());
    if (!member.has_value() || member->name == name) return member;
  }
}

// ---- statement.json ----

const Value* Find(const Struct& object, const std::string& name) {
  const auto found = object.fields().find(name);
  return found == object.fields().end() ? nullptr : &found->second;
}

// A number as cli/json.h prints it.
std::optional<double> NumberOf(const Value* value) {
  if (value == nullptr) return {};
  if (value->has_number_value()) return value->number_value();
  if (value->string_value() == "Infinity") return std::numeric_limits<double>::infinity();
  return {};
}

struct Bounds {
  double lower, upper;
};
std::optional<Bounds> BoundsIn(const Struct& object, const std::string& name) {
  const Value* value = Find(object, name);
  if (value == nullptr || !value->has_struct_value()) return {};
  const std::optional<double> lower = NumberOf(Find(value->struct_value(), "lower"));
  const std::optional<double> upper = NumberOf(Find(value->struct_value(), "upper"));
  if (!lower.has_value() || !upper.has_value()) return {};
  return Bounds{*lower, *upper};
}

bool Same(const Value& a, const Value& b);
bool Same(const Struct& a, const Struct& b) {
  if (a.fields().size() != b.fields().size()) return false;
  return std::all_of(a.fields().begin(), a.fields().end(), [&](const auto& field) {
    const Value* other = Find(b, field.first);
    return other != nullptr && Same(field.second, *other);
  });
}
bool Same(const Value& a, const Value& b) {
  if (a.kind_case() != b.kind_case()) return false;
  if (a.has_struct_value()) return Same(a.struct_value(), b.struct_value());
  if (!a.has_list_value()) return a.SerializeAsString() == b.SerializeAsString();
  const auto &left = a.list_value().values(), &right = b.list_value().values();
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const Value& x, const Value& y) { return Same(x, y); });
}

// Whether each of `some` is among `all`.
bool Among(const Value& some, const Value& all) {
  const auto& values = all.list_value().values();
  return std::all_of(some.list_value().values().begin(), some.list_value().values().end(),
                     [&](const Value& one) {
                       return std::any_of(values.begin(), values.end(),
                                          [&](const Value& other) { return Same(one, other); });
                     });
}

std::string Text(const Value* value) {
  if (value == nullptr) return "nothing";
  std::string text;
  (void)google::protobuf::util::MessageToJsonString(*value, &text);
  return bundle::Quoted(text);
}

absl::Status Wrong(const std::string& where, const std::string& expected,
                   const std::string& found) {
  return bundle::Differs(bundle::kStatementClass, absl::StrCat("statement.json, ", where), expected,
                         found);
}

// That a claimed interval promises no more privacy than the entries prove.
absl::Status CheckBounds(const std::string& name, const Struct& stated, const Struct& own) {
  const std::optional<Bounds> claim = BoundsIn(stated, name), truth = BoundsIn(own, name);
  if (!truth.has_value()) {
    if (!claim.has_value()) return absl::OkStatus();
    return Wrong(name, "absent: the ledger has no plan beyond what was spent",
                 Text(Find(stated, name)));
  }
  if (claim.has_value() && claim->upper >= truth->upper && claim->lower >= 0 &&
      claim->lower <= truth->upper) {
    return absl::OkStatus();
  }
  return Wrong(name,
               absl::StrCat("an interval whose upper bound is at least ", truth->upper,
                            " and whose lower bound is at most that, as the entries prove"),
               claim.has_value() ? absl::StrCat("[", claim->lower, ", ", claim->upper, "]")
                                 : Text(Find(stated, name)));
}

// Members whose content depends on the version of the program that wrote them.
const std::set<std::string>& OfTheVersion() {
  static const auto& names =
      *new std::set<std::string>{"method", "assumptions", "warnings", "version", "schemes"};
  return names;
}

absl::Status CheckMembers(const Struct& stated, const Struct& own) {
  const Value *version = Find(stated, "version"), *own_version = Find(own, "version");
  const bool same_version = version != nullptr && own_version != nullptr &&
                            version->string_value() == own_version->string_value();
  for (const auto& [name, value] : own.fields()) {
    if (name == "epsilon" || name == "planned_epsilon") continue;
    const Value* claim = Find(stated, name);
    if (!same_version && (claim == nullptr || OfTheVersion().count(name) > 0)) continue;
    // A server warns of what it knows beyond this ledger too.
    const bool agrees =
        claim != nullptr && (name == "warnings" ? Among(value, *claim) : Same(value, *claim));
    if (agrees) continue;
    return Wrong(name, Text(&value), Text(claim));
  }
  for (const auto& [name, value] : stated.fields()) {
    if (same_version && name != "planned_epsilon" && Find(own, name) == nullptr)
      return Wrong(name, "absent", Text(&value));
  }
  return absl::OkStatus();
}

// In what terms the statement was asked for.
v1::AccountingOptions OptionsOf(const Struct& statement) {
  v1::AccountingOptions options;
  const Value* source = Find(statement, "declaration_source");
  const Value* adjacency = Find(statement, "adjacency");
  v1::Adjacency stated = v1::ADJACENCY_UNSPECIFIED;
  if (source != nullptr && source->string_value() == "STATED" && adjacency != nullptr &&
      v1::Adjacency_Parse(adjacency->string_value(), &stated)) {
    options.set_adjacency(stated);
  }
  const double group_size = NumberOf(Find(statement, "group_size")).value_or(0);
  if (group_size > 1 && group_size < 1e15)
    options.set_group_size(static_cast<uint64_t>(group_size));
  return options;
}

// A ledger's origin without the registry's name, as a server names it.
void NameAsTheServer(const VerifiedLineage& lineage, v1::ComputeEpsilonResponse& answer) {
  const std::string prefix = lineage.own().evidence().registry().origin + "/";
  for (v1::LedgerReference& ledger : *answer.mutable_details()->mutable_ledgers())
    if (ledger.name().starts_with(prefix)) ledger.mutable_name()->erase(0, prefix.size());
}

}  // namespace

absl::StatusOr<bool> CheckEvents(const std::string& path, const LedgerCheck& check) {
  ASSIGN_OR_RETURN(bundle::FileSource lines_file, bundle::FileSource::Open(path));
  bundle::UstarReader lines_reader(&lines_file);
  ASSIGN_OR_RETURN(const auto events, Find(lines_reader, bundle::kEventsMember));
  if (!events.has_value()) return false;
  Lines lines(&lines_reader);

  ASSIGN_OR_RETURN(bundle::FileSource entries_file, bundle::FileSource::Open(path));
  bundle::UstarReader entries_reader(&entries_file);
  const merkle::Checkpoint& checkpoint = check.verifier().evidence().checkpoint();
  merkle::CompactTree tree;
  bundle::TreeMembers members(checkpoint.size);
  while (const std::optional<bundle::TreeMember> member = members.Next()) {
    if (!member->entries) continue;
    ASSIGN_OR_RETURN(const auto found, Find(entries_reader, member->Path()));
    if (!found.has_value() || found->size > bundle::kMaxEntriesBytes) break;
    ASSIGN_OR_RETURN(const std::string content, entries_reader.Content());
    ASSIGN_OR_RETURN(const auto entries, merkle::DecodeEntryBundle(content, member->tile.width));
    for (const std::string_view entry : entries) {
      const std::string where = absl::StrCat(bundle::kEventsMember, ", line ", tree.size() + 1);
      ASSIGN_OR_RETURN(const std::optional<std::string> line, lines.Next());
      if (!line.has_value()) {
        return bundle::Differs(bundle::kEventsClass, where,
                               absl::StrCat("is missing: there are ", checkpoint.size,
                                            " entries, and it must have a line for each"));
      }
      if (!Says(*line, std::string(entry))) {
        const absl::StatusOr<std::string> own = events::EntryToLine(std::string(entry));
        return bundle::Differs(bundle::kEventsClass, where,
                               absl::StrCat("what entry ", tree.size(), " says, ",
                                            bundle::Quoted(own.ok() ? *own : "{}")),
                               bundle::Quoted(*line));
      }
      tree.Append(merkle::LeafHash(entry));
    }
  }
  if (tree.Root() != checkpoint.root)
    return absl::DataLossError(absl::StrCat(path, ": changed while it was verified"));
  ASSIGN_OR_RETURN(const std::optional<std::string> more, lines.Next());
  if (!more.has_value()) return true;
  return bundle::Differs(
      bundle::kEventsClass, bundle::kEventsMember,
      absl::StrCat("must have ", checkpoint.size, " lines, one for each entry, and has more"));
}

absl::StatusOr<double> CheckStatement(const VerifiedLineage& lineage, const std::string& json) {
  Struct statement;
  const bool parsed = google::protobuf::util::JsonStringToMessage(json, &statement).ok();
  const std::optional<double> delta = NumberOf(Find(statement, "delta"));
  if (!parsed || !delta.has_value() || !(*delta > 0 && *delta < 1) ||
      !BoundsIn(statement, "epsilon").has_value()) {
    return bundle::Differs(bundle::kStatementClass, bundle::kStatementMember,
                           "must be an answer of epsilon about one ledger, in JSON");
  }
  ASSIGN_OR_RETURN(v1::ComputeEpsilonResponse answer,
                   RecomputeEpsilon(lineage, *delta, OptionsOf(statement)));
  NameAsTheServer(lineage, answer);
  Struct own;
  (void)google::protobuf::util::JsonStringToMessage(ToJson(answer).ToString(), &own);
  // Version 0.1.0 had one `ledger` in the place of the list, with less in it.
  if (const Value* ledger = Find(statement, "ledger"); ledger != nullptr) {
    const v1::LedgerReference& reference = answer.details().ledgers(0);
    const Value* root = Find(ledger->struct_value(), "root");
    const std::string own_root = HexEncode(reference.root_hash());
    if (root == nullptr || root->string_value() != own_root)
      return Wrong("ledger.root", own_root, Text(root));
    const Value* name = Find(ledger->struct_value(), "name");
    if (name == nullptr || name->string_value() != reference.name())
      return Wrong("ledger.name", bundle::Quoted(reference.name()), Text(name));
  } else if (Find(statement, "ledgers") == nullptr) {
    return Wrong("ledgers", Text(Find(own, "ledgers")), "nothing");
  }
  RETURN_IF_ERROR(CheckMembers(statement, own));
  for (const char* name : {"epsilon", "planned_epsilon"})
    RETURN_IF_ERROR(CheckBounds(name, statement, own));
  return *delta;
}

}  // namespace dpledger::cli
