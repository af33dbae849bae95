// What both forms of the page say beside the fields. Private to the files that write them.
#pragma once

#include <string>

#include "dpledger/v1/statement_service.pb.h"

namespace dpledger::server::statement {

inline constexpr char kPageTitle[] = "Privacy statement";
inline constexpr char kCheckpointHeading[] = "Checkpoints";
inline constexpr char kCheckpointText[] =
    "The statement is about the entries that these signed checkpoints cover, and no others. With "
    "the log's public key, anybody can check the signature, export the ledger and compute the "
    "number again.";
inline constexpr char kOpenText[] =
    "What is marked \"not stated\" nobody has said. It stays open, and the guarantee does not "
    "cover it. What is marked \"does not apply\" leaves nothing open.";

// "declared", "recorded", "computed", "stated", "not stated", "does not apply"; "" for a note.
std::string SourceWords(v1::Statement::Source source);
// "2026-11-22 20:34 UTC"
std::string TimeText(const v1::Statement& statement);
// The line below the title: ε and δ, or that ε is refused.
std::string ResultText(const v1::Statement& statement);
// The line below that of a statement that was issued: what the server says of it, then by whom it
// is stated, in their words and in quotes.
std::string IssuerText(const v1::IssuedStatement& issued);

}  // namespace dpledger::server::statement
