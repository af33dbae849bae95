// The errors of a verifier that refuses a bundle. An error describes the first difference: its
// class, its place, what was expected and what was found. docs/formats.md, section "Bundles", lists
// the classes. Thread safe.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace dpledger::bundle {

// Reasons (base/status.h) of a verifier's statuses, with metadata class and where. DATA_LOSS: the
// file is a bundle, but not what it claims to be.
inline constexpr char kDifference[] = "BUNDLE_DIFFERENCE";
// INVALID_ARGUMENT: the file is not a bundle, or is incomplete. The class is kFormatClass.
inline constexpr char kNoBundle[] = "NO_BUNDLE";

inline constexpr char kFormatClass[] = "format";
inline constexpr char kKeysClass[] = "keys";
inline constexpr char kSignatureClass[] = "signature";
inline constexpr char kRegistryClass[] = "registry";
inline constexpr char kMapClass[] = "map";
inline constexpr char kCheckpointClass[] = "checkpoint";
inline constexpr char kTileClass[] = "tile";
inline constexpr char kEntryClass[] = "entry";
inline constexpr char kImportClass[] = "import";
inline constexpr char kRootClass[] = "root";
inline constexpr char kSealClass[] = "seal";
inline constexpr char kOlderClass[] = "older";
// Of whoever verifies, not of the bundle alone:
inline constexpr char kForkClass[] = "fork";            // with its parent's bundle
inline constexpr char kBudgetClass[] = "budget";        // with its budget's bundle
inline constexpr char kEventsClass[] = "events";        // events.jsonl
inline constexpr char kStatementClass[] = "statement";  // statement.json
inline constexpr char kDocumentClass[] = "document";    // a statement that was issued
inline constexpr char kTrustClass[] = "trust";          // nobody that the auditor named signed

// "<where>: <what>".
absl::Status Differs(std::string_view difference_class, std::string_view where,
                     std::string_view what);
// "<where>: must be <expected>, found <found>".
absl::Status Differs(std::string_view difference_class, std::string_view where,
                     std::string_view expected, std::string_view found);
// "<where>: <what>", `what` being the message of an error.
absl::Status Differs(std::string_view difference_class, std::string_view where,
                     const absl::Status& what);
absl::Status NoBundle(std::string_view where, std::string_view what);

// The class of such an error; empty for other statuses.
std::string ClassOf(const absl::Status& status);

// `text` escaped, in quotes and cut, for an error message: its bytes come from strangers.
std::string Quoted(std::string_view text);

}  // namespace dpledger::bundle
