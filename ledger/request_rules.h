// The rules for a request that do not depend on the ledger, and the hash that tells a repeated
// request from a different one under the same id. Shared by all engines. Pure; thread safe.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "google/protobuf/message.h"
#include "merkle/sha256.h"

namespace dpledger {

// Check names, ids, the number of entries, set fields, bounds and unknown fields. INVALID_ARGUMENT
// naming the field. Events and declarations are not checked here but by events/event_values.h and
// events/declaration_rules.h.
absl::Status CheckRequest(const v1::CreateLedgerRequest& request);
absl::Status CheckRequest(const v1::AppendBatchRequest& request);
absl::Status CheckRequest(const v1::SealLedgerRequest& request);
absl::Status CheckRequest(const v1::ForkLedgerRequest& request);
absl::Status CheckRequest(const v1::GrantBudgetRequest& request);

// docs/formats.md, section 1, defines the hash. It leaves out expected_sequence, writer_position,
// signed_receipt and claimed times: a retry a minute later is the same request.
merkle::Hash RequestHash(const v1::CreateLedgerRequest& request);
merkle::Hash RequestHash(const v1::AppendBatchRequest& request);
merkle::Hash RequestHash(const v1::SealLedgerRequest& request);
merkle::Hash RequestHash(const v1::ForkLedgerRequest& request);
merkle::Hash RequestHash(const v1::GrantBudgetRequest& request);
// The same for a request already serialised, without the fields that the hash leaves out. The
// message's name distinguishes requests of different kinds with the same bytes.
merkle::Hash RequestHashOf(const google::protobuf::Descriptor& message, std::string_view bytes);

// Equal messages give equal bytes, in every run of this program.
std::string SerializeDeterministically(const google::protobuf::Message& message);

}  // namespace dpledger
