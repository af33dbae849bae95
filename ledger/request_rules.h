// The rules that a request meets or breaks by itself, whatever the ledger holds, and the hash that
// tells a repeated request from another one under the same id. Shared by all engines. Pure; thread
// safe.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "google/protobuf/message.h"
#include "merkle/sha256.h"

namespace dpledger {

// Names, ids, the number of entries, what is set, bounds and unknown fields. INVALID_ARGUMENT
// naming the field. Events and declarations are not looked into: their one home is
// events/event_rules.h.
absl::Status CheckRequest(const v1::CreateLedgerRequest& request);
absl::Status CheckRequest(const v1::AppendBatchRequest& request);
absl::Status CheckRequest(const v1::SealLedgerRequest& request);
absl::Status CheckRequest(const v1::ForkLedgerRequest& request);

// docs/formats.md, section 1. expected_sequence and claimed times do not count: a retry a minute
// later is the same request.
merkle::Hash RequestHash(const v1::CreateLedgerRequest& request);
merkle::Hash RequestHash(const v1::AppendBatchRequest& request);
merkle::Hash RequestHash(const v1::SealLedgerRequest& request);
merkle::Hash RequestHash(const v1::ForkLedgerRequest& request);
// The same of a request that is serialised already, without what does not count. The message's name
// keeps requests of different kinds apart that would serialise alike.
merkle::Hash RequestHashOf(const google::protobuf::Descriptor& message, std::string_view bytes);

// The same bytes for equal messages, in every run of this program.
std::string SerializeDeterministically(const google::protobuf::Message& message);

}  // namespace dpledger
