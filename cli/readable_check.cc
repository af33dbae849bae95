#include "cli/readable_check.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "events/entry_json.h"
#include "events/proto_json.h"
#include "ledger_store/bundle/difference.h"
#include "ledger_store/bundle/file.h"
#include "merkle/compact_tree.h"

namespace dpledger::cli {
namespace {

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

absl::Status Wrong(const std::string& where, const std::string& expected,
                   const std::string& found) {
  return bundle::Differs(bundle::kStatementClass, absl::StrCat("statement.json, ", where), expected,
                         found);
}

std::string Shown(const v1::Interval& interval) {
  return absl::StrCat("[", interval.lower(), ", ", interval.upper(), "]");
}

// That a claimed interval promises no more privacy than the entries prove.
absl::Status CheckBounds(const char* name, const v1::Interval* claim, const v1::Interval* truth) {
  if (truth == nullptr) {
    if (claim == nullptr) return absl::OkStatus();
    return Wrong(name, "absent: the ledger has no plan beyond what was spent", Shown(*claim));
  }
  if (claim != nullptr && claim->upper() >= truth->upper() && claim->lower() >= 0 &&
      claim->lower() <= truth->upper()) {
    return absl::OkStatus();
  }
  return Wrong(name,
               absl::StrCat("an interval whose upper bound is at least ", truth->upper(),
                            " and whose lower bound is at most that, as the entries prove"),
               claim != nullptr ? Shown(*claim) : "nothing");
}

// Whether the field's content depends on the version of the program that wrote it.
bool IsOfTheVersion(const std::string& field) {
  return field == "method" || field == "assumptions" || field == "warnings" || field == "version" ||
         field == "schemes";
}

// One field of the details, in JSON.
std::string Part(v1::AnswerDetails details, const google::protobuf::FieldDescriptor* field) {
  v1::AnswerDetails only;
  details.GetReflection()->SwapFields(&details, &only, {field});
  return events::MessageToJson(only);
}

absl::Status CheckDetails(const v1::AnswerDetails& stated, const v1::AnswerDetails& own) {
  const bool same_version = stated.version() == own.version();
  for (int i = 0; i < own.GetDescriptor()->field_count(); ++i) {
    const auto* field = own.GetDescriptor()->field(i);
    const std::string claim = Part(stated, field), truth = Part(own, field);
    if (!same_version &&
        (IsOfTheVersion(field->name()) || (claim == "{}" && field->name() != "ledgers")))
      continue;
    bool agrees = claim == truth;
    if (field->name() == "warnings") {  // a server warns of what it knows beyond this ledger too
      agrees = std::all_of(own.warnings().begin(), own.warnings().end(), [&](const auto& warning) {
        return std::find(stated.warnings().begin(), stated.warnings().end(), warning) !=
               stated.warnings().end();
      });
    }
    if (!agrees) {
      return Wrong(absl::StrCat("details.", field->name()), bundle::Quoted(truth),
                   bundle::Quoted(claim));
    }
  }
  return absl::OkStatus();
}

// In what terms the statement was asked for.
v1::AccountingOptions OptionsOf(const v1::AnswerDetails& details) {
  v1::AccountingOptions options;
  if (details.declaration_source() == v1::STATED) options.set_adjacency(details.adjacency());
  if (details.group_size() > 1) options.set_group_size(details.group_size());
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
  v1::ComputeEpsilonResponse stated, same;
  constexpr char kWhat[] = "an answer of epsilon";
  // Another version may say more.
  if (!events::MessageFromJson(json, kWhat, stated, events::Unknown::kPassedOver).ok() ||
      !(stated.delta() > 0 && stated.delta() < 1) || !stated.has_epsilon()) {
    return bundle::Differs(bundle::kStatementClass, bundle::kStatementMember,
                           "must be an answer of epsilon about one ledger, in JSON");
  }
  ASSIGN_OR_RETURN(v1::ComputeEpsilonResponse own,
                   RecomputeEpsilon(lineage, stated.delta(), OptionsOf(stated.details())));
  NameAsTheServer(lineage, own);
  if (stated.details().version() == own.details().version())
    if (const absl::Status strict = events::MessageFromJson(json, kWhat, same); !strict.ok())
      return Wrong("its members", "those of this version", std::string(strict.message()));
  RETURN_IF_ERROR(CheckDetails(stated.details(), own.details()));
  RETURN_IF_ERROR(CheckBounds("epsilon", &stated.epsilon(), &own.epsilon()));
  RETURN_IF_ERROR(CheckBounds("planned_epsilon",
                              stated.has_planned_epsilon() ? &stated.planned_epsilon() : nullptr,
                              own.has_planned_epsilon() ? &own.planned_epsilon() : nullptr));
  return stated.delta();
}

}  // namespace dpledger::cli
