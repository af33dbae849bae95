#include "server/own_ledgers/own_ledgers.h"

#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"

namespace dpledger::server {

bool IsOf(std::string_view project, std::string_view name) {
  return name.starts_with(project) &&
         (name.size() == project.size() || name[project.size()] == '/');
}

bool IsOfServer(std::string_view name) {
  return IsOf(kAccessRecordProject, name) || IsOf(kRecomputationsProject, name) ||
         IsOf(kStatementsProject, name) || IsOf(kAttentionProject, name);
}

v1::CreateLedgerRequest NewOwnLedger(const std::string& name, const std::string& what,
                                     const std::string& unit, const std::string& description) {
  v1::CreateLedgerRequest request;
  request.set_name(name);
  request.set_request_id(what);
  v1::Declaration& declaration = *request.mutable_declaration();
  declaration.set_dataset(what);
  declaration.set_unit_of_privacy(unit);
  declaration.set_adjacency(v1::ADD_OR_REMOVE_ONE);
  declaration.set_parameters(v1::FIXED);
  declaration.set_description(description);
  return request;
}

std::string NewServerName() {
  absl::BitGen random;  // no secret
  return absl::StrCat("server-", absl::Hex(absl::Uniform<uint64_t>(random), absl::kZeroPad16));
}

std::string PlainText(std::string text, size_t most) {
  if (text.size() > most) text.resize(most);
  for (char& c : text) {
    if (c == '"') c = '\'';
    if (c < ' ' || c > '~' || c == '\\' || c == '<' || c == '>') c = '?';
  }
  return text;
}

v1::AppendBatchRequest NoteBatch(const std::string& ledger, const std::string& writer,
                                 const std::string& request_id, std::vector<std::string> notes) {
  v1::AppendBatchRequest batch;
  batch.set_ledger(ledger);
  batch.set_writer(writer);
  batch.set_request_id(request_id);
  for (std::string& text : notes) batch.add_entries()->mutable_note()->set_text(std::move(text));
  return batch;
}

}  // namespace dpledger::server
