#include "events/entry_json.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::events {
namespace {

// Copies of copies are shown so deep; what lies below stays as its bytes.
constexpr int kShownCopies = 8;

// False for bytes that are no entry.
bool EntryToJson(const std::string& bytes, int depth, std::string& json) {
  v1::LedgerEntry entry;
  if (!entry.ParseFromString(bytes)) return false;
  std::string copied;
  const bool shown = entry.has_imported() && depth < kShownCopies &&
                     EntryToJson(entry.imported().entry(), depth + 1, copied);
  if (shown) entry.clear_imported();
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  if (!google::protobuf::util::MessageToJsonString(entry, &json, options).ok()) return false;
  if (shown) {
    json.pop_back();
    absl::StrAppend(&json, json.size() > 1 ? "," : "", "\"imported\":", copied, "}");
  }
  return true;
}

}  // namespace

absl::StatusOr<std::string> EntryToLine(const std::string& bytes) {
  std::string line;
  if (!EntryToJson(bytes, 0, line)) {
    return absl::DataLossError("entries: the server sent bytes that are not a ledger entry");
  }
  return line;
}

}  // namespace dpledger::events
