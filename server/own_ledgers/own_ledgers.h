// Ledgers that only the server writes to: notes that hold messages as JSON. They are stored, signed
// and exported like every other ledger. Thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dpledger/v1/ledger_service.pb.h"

namespace dpledger::server {

// The projects of such ledgers: nobody but the server creates, writes to, forks or seals ledgers of
// them.
inline constexpr std::string_view kAccessRecordProject = "projects/access-record";
inline constexpr std::string_view kRecomputationsProject = "projects/recomputations";
inline constexpr std::string_view kStatementsProject = "projects/statements";
inline constexpr std::string_view kAttentionProject = "projects/attention";

// What the access record calls reads beyond those that it names one by one.
inline constexpr char kOthers[] = "(others)";

// Of a note's text.
inline constexpr size_t kMaxNoteBytes = 4096;

// Whether `name`, of a project or of a ledger, is `project` or one of its ledgers.
bool IsOf(std::string_view project, std::string_view name);
// Whether `name`, of a project or of a ledger, is the server's own.
bool IsOfServer(std::string_view name);

// Makes the ledger; the same request of every server, so that each finds what another has made.
// `what` is its data set, and `unit` what one of its records is.
v1::CreateLedgerRequest NewOwnLedger(const std::string& name, const std::string& what,
                                     const std::string& unit, const std::string& description);

// A name of this start of the server among others.
std::string NewServerName();

// At most the first `most` bytes of what comes from outside, so that JSON writes each with one.
std::string PlainText(std::string text, size_t most);

// A batch of the notes. Who sends another batch under the id of one that is stored is refused
// (REQUEST_ID_REUSED): a batch is stored once, whichever server brings it.
v1::AppendBatchRequest NoteBatch(const std::string& ledger, const std::string& writer,
                                 const std::string& request_id, std::vector<std::string> notes);

}  // namespace dpledger::server
