// A statement as Markdown, and as a page that prints on A4.
//
//  1. Whatever a text of the statement holds, it stays text: no markup, no link, no heading.
//  2. The page runs nothing and fetches nothing, and tells the browser so.
// Functions; thread safe.
#pragma once

#include <string>

#include "dpledger/v1/statement_service.pb.h"

namespace dpledger::server::statement {

// Both read all of the statement but `markdown` and `html`.
std::string ToMarkdown(const v1::Statement& statement);
std::string ToHtml(const v1::Statement& statement);

}  // namespace dpledger::server::statement
