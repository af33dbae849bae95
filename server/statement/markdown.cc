#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/absl_view.h"
#include "base/hex.h"
#include "server/statement/page_parts.h"
#include "server/statement/pages.h"
#include "server/statement/words.h"

namespace dpledger::server::statement {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// What CommonMark and its common extensions read as something else than text.
bool IsMarkup(std::string_view line, size_t i) {
  constexpr std::string_view kAnywhere = "\\`*_[]<>&|~#!@$^{}";
  const char c = line[i];
  if (kAnywhere.find(c) != std::string_view::npos) return true;
  // A link that is found by its beginning.
  if (c == ':' && line.substr(i).starts_with("://")) return true;
  if (c == '.' && i >= 3 && absl::EqualsIgnoreCase(ToAbsl(line.substr(i - 3, 3)), "www")) {
    return true;
  }
  // A list, a rule or a heading at a line's beginning.
  const size_t begin = line.find_first_not_of(" \t");
  if (i == begin && (c == '-' || c == '+' || c == '=')) return true;
  if (c != '.' && c != ')') return false;
  if (i == begin) return false;
  for (size_t at = begin; at < i; ++at) {
    if (!IsDigit(line[at])) return false;
  }
  return true;
}

// Lines become hard breaks within the paragraph, which `indent` continues.
std::string Escaped(std::string_view text, std::string_view indent) {
  std::string escaped;
  bool first = true;
  for (absl::string_view line : absl::StrSplit(ToAbsl(text), '\n')) {
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    if (line.empty()) continue;
    if (!first) absl::StrAppend(&escaped, "\\\n", ToAbsl(indent));
    first = false;
    for (size_t i = 0; i < line.size(); ++i) {
      if (IsMarkup(FromAbsl(line), i)) escaped += '\\';
      escaped += line[i];
    }
  }
  return escaped;
}

std::string RowOf(const google::protobuf::RepeatedPtrField<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) {
    const std::string line = absl::StrReplaceAll(cell, {{"\n", "; "}});
    absl::StrAppend(&row, " ", Escaped(line, ""), " |");
  }
  return row + "\n";
}

std::string TableOf(const v1::Statement::Table& table) {
  std::string text = RowOf(table.columns()) + "|";
  for (int i = 0; i < table.columns_size(); ++i) text += "---|";
  text += "\n";
  for (const v1::Statement::Table::Row& row : table.rows()) text += RowOf(row.cells());
  return text;
}

}  // namespace

std::string ToMarkdown(const v1::Statement& statement) {
  std::string page = absl::StrCat("# ", kPageTitle, ": ", Escaped(statement.title(), ""), "\n\n");
  absl::StrAppend(&page, "**", Escaped(ResultText(statement), ""), "**\n\n");
  if (statement.has_issued())
    absl::StrAppend(&page, Escaped(IssuerText(statement.issued()), ""), "\n\n");
  absl::StrAppend(&page, Escaped(statement.answer().in_words(), ""), "\n\n");
  absl::StrAppend(&page, kOpenText, "\n");
  for (const v1::Statement::Section& section : statement.sections()) {
    absl::StrAppend(&page, "\n## ", section.heading(), "\n\n");
    for (const v1::Statement::Field& field : section.fields()) {
      const std::string source = SourceWords(field.source());
      absl::StrAppend(&page, "- **", Escaped(field.label(), "  "), "**",
                      source.empty() ? "" : absl::StrCat(" (", source, ")"), ": ",
                      Escaped(field.value(), "  "), "\n");
    }
    if (section.has_table()) absl::StrAppend(&page, "\n", TableOf(section.table()));
  }
  absl::StrAppend(&page, "\n## ", kCheckpointHeading, "\n\n", kCheckpointText, "\n");
  for (const v1::Statement::LedgerCheckpoint& one : statement.checkpoints()) {
    absl::StrAppend(&page, "\n", Escaped(one.ledger(), ""), " at size ", CountText(one.size()),
                    ", root ", HexEncode(one.root_hash()), ":\n\n");
    for (const absl::string_view line : absl::StrSplit(one.note(), '\n', absl::SkipEmpty())) {
      absl::StrAppend(&page, "    ", Shown(FromAbsl(line)), "\n");
    }
  }
  absl::StrAppend(&page, "\n", TimeText(statement), ", dpledger ", statement.version(), "\n");
  return page;
}

}  // namespace dpledger::server::statement
