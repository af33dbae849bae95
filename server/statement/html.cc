#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/absl_view.h"
#include "base/hex.h"
#include "server/statement/page_parts.h"
#include "server/statement/pages.h"
#include "server/statement/words.h"

namespace dpledger::server::statement {
namespace {

// Black on white, in the reader's own fonts: it is made to be printed and signed.
constexpr char kHead[] = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
@page { size: A4; margin: 20mm 18mm; @bottom-right { content: counter(page) " / " counter(pages); } }
body { color: #000; background: #fff; font: 10.5pt/1.45 serif; max-width: 174mm; margin: 0 auto; }
h1 { font-size: 16pt; line-height: 1.25; }
h2 { font-size: 12pt; margin: 1.4em 0 0.3em; break-after: avoid; }
h1, dd, p, pre { overflow-wrap: anywhere; }
.result { font-size: 14pt; border: 1.5pt solid #000; padding: 0.5em 0.8em; }
dl { margin: 0; }
dl > div { border-top: 0.5pt solid #999; padding: 0.3em 0; break-inside: avoid; }
dt { font-weight: bold; }
dt span { font-weight: normal; font-style: italic; }
dd { margin: 0; white-space: pre-line; }
.open dd { border: 1pt dashed #000; padding: 0.2em 0.5em; }
table { border-collapse: collapse; width: 100%; font-size: 9pt; margin: 0.6em 0; }
th, td { border: 0.5pt solid #999; padding: 0.2em 0.4em; text-align: left; vertical-align: top; }
td { overflow-wrap: anywhere; white-space: pre-line; }
tr { break-inside: avoid; }
.sign { margin-top: 3em; display: flex; gap: 10mm; }
.sign span { flex: 1; border-top: 0.5pt solid #000; padding-top: 0.2em; font-size: 9pt; }
pre { font-size: 8.5pt; white-space: pre-wrap; margin: 0.3em 0 1em; }
footer { margin-top: 2em; font-size: 9pt; }
</style>
)";

std::string Escaped(std::string_view text) {
  return absl::StrReplaceAll(
      ToAbsl(text),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

// A text whose direction of writing stays its own.
std::string Apart(std::string_view text) { return absl::StrCat("<bdi>", Escaped(text), "</bdi>"); }

std::string HtmlOf(const v1::Statement::Field& field) {
  const std::string source = SourceWords(field.source());
  return absl::StrCat(
      field.source() == v1::Statement::NOT_STATED ? "<div class=\"open\">" : "<div>", "<dt>",
      Escaped(field.label()), source.empty() ? "" : absl::StrCat(" <span>(", source, ")</span>"),
      "</dt><dd>", Apart(field.value()), "</dd></div>\n");
}

std::string RowOf(const google::protobuf::RepeatedPtrField<std::string>& cells, const char* kind) {
  std::string row = "<tr>";
  for (const std::string& cell : cells)
    absl::StrAppend(&row, "<", kind, ">", Apart(cell), "</", kind, ">");
  return row + "</tr>\n";
}

std::string HtmlOf(const v1::Statement::Table& table) {
  std::string text =
      absl::StrCat("<table>\n<thead>", RowOf(table.columns(), "th"), "</thead>\n<tbody>\n");
  for (const v1::Statement::Table::Row& row : table.rows()) text += RowOf(row.cells(), "td");
  return text + "</tbody>\n</table>\n";
}

// To be filled in by hand.
constexpr char kSignature[] =
    "<p class=\"sign\"><span>Place and date</span><span>Signature</span></p>\n";

}  // namespace

std::string ToHtml(const v1::Statement& statement) {
  std::string page = absl::StrCat(kHead, "<title>", kPageTitle, ": ", Escaped(statement.title()),
                                  "</title>\n</head>\n<body>\n");
  absl::StrAppend(&page, "<h1>", kPageTitle, ": ", Apart(statement.title()), "</h1>\n");
  absl::StrAppend(&page, "<p class=\"result\">", Escaped(ResultText(statement)), "</p>\n");
  if (statement.has_issued())
    absl::StrAppend(&page, "<p>", Apart(IssuerText(statement.issued())), "</p>\n");
  absl::StrAppend(&page, "<p>", Escaped(statement.answer().in_words()), "</p>\n");
  absl::StrAppend(&page, "<p>", Escaped(kOpenText), "</p>\n");
  for (const v1::Statement::Section& section : statement.sections()) {
    absl::StrAppend(&page, "<h2>", Escaped(section.heading()), "</h2>\n<dl>\n");
    for (const v1::Statement::Field& field : section.fields()) page += HtmlOf(field);
    page += "</dl>\n";
    if (section.has_table()) page += HtmlOf(section.table());
  }
  absl::StrAppend(&page, "<h2>", kCheckpointHeading, "</h2>\n<p>", Escaped(kCheckpointText),
                  "</p>\n");
  for (const v1::Statement::LedgerCheckpoint& one : statement.checkpoints()) {
    absl::StrAppend(&page, "<p>", Apart(one.ledger()), " at size ", CountText(one.size()),
                    ", root ", HexEncode(one.root_hash()), ":</p>\n<pre>", Escaped(one.note()),
                    "</pre>\n");
  }
  if (statement.has_issued()) page += kSignature;
  absl::StrAppend(&page, "<footer>", TimeText(statement), ", dpledger ",
                  Escaped(statement.version()), "</footer>\n</body>\n</html>\n");
  return page;
}

}  // namespace dpledger::server::statement
