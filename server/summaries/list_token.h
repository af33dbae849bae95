// The page tokens of lists: where the page before ended, and in which list. Functions; thread safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "server/summaries/filter.h"

namespace dpledger::server {

struct ListToken {
  ListOrder::Place last;  // of the page before
  absl::Time now;         // of the first page: what ages are counted from on all pages
  std::shared_ptr<const std::vector<std::string>> texts = nullptr;  // of `last`, if it was read
};

std::string ToText(const ListToken& token, const v1::ListLedgersRequest& request);

// INVALID_ARGUMENT unless it came from the answer before, to a request with the same parent, filter
// and order.
absl::StatusOr<ListToken> TokenOf(const v1::ListLedgersRequest& request);

}  // namespace dpledger::server
