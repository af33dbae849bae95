// One call of AccountingService in bytes, about events alone.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "google/rpc/status.pb.h"

namespace dpledger::accounting {

enum class Encoding { kBinary, kJson };

// The response in the encoding of the question. Thread safe.
absl::StatusOr<std::string> Answer(Encoding encoding, std::string_view method,
                                   std::string_view question);

std::string Serialize(Encoding encoding, const google::protobuf::Message& message);

}  // namespace dpledger::accounting
