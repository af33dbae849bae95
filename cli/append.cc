#include "cli/append.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"

namespace dpledger::cli {
namespace {

constexpr int kMaxBatchEvents = 1000;
constexpr size_t kMaxBatchBytes = size_t{1} << 20;  // servers take messages of a few MiB

}  // namespace

std::vector<v1::AppendBatchRequest> MakeBatches(const v1::AppendBatchRequest& base,
                                                const std::vector<v1::Event>& events) {
  std::vector<v1::AppendBatchRequest> batches;
  size_t batch_bytes = 0;
  uint64_t events_before = 0;
  for (const v1::Event& event : events) {
    const size_t event_bytes = event.ByteSizeLong();
    if (batches.empty() || batches.back().entries_size() == kMaxBatchEvents ||
        batch_bytes + event_bytes > kMaxBatchBytes) {
      v1::AppendBatchRequest batch = base;
      if (!batches.empty()) {
        batch.set_request_id(absl::StrCat(base.request_id(), ".", batches.size()));
      }
      if (base.has_expected_sequence()) {
        batch.set_expected_sequence(base.expected_sequence() + events_before);
      }
      batches.push_back(std::move(batch));
      batch_bytes = 0;
    }
    *batches.back().add_entries()->mutable_event() = event;
    batch_bytes += event_bytes;
    ++events_before;
  }
  return batches;
}

absl::StatusOr<v1::Receipt> SendBatches(const std::vector<v1::AppendBatchRequest>& batches,
                                        ServerCalls& server) {
  v1::Receipt all;
  for (const v1::AppendBatchRequest& batch : batches) {
    absl::StatusOr<v1::Receipt> receipt = server.Append(batch);
    if (!receipt.ok()) {
      const absl::Status& status = receipt.status();
      const ErrorReason reason = ReasonOf(status);
      std::string stored;
      if (all.count() > 0) {
        stored = absl::StrCat("the first ", all.count(), " events are stored");
      } else if (absl::IsDeadlineExceeded(status) || reason.reason == "RECEIPT_NOT_SIGNED") {
        stored = "it may be stored all the same";
      } else {
        return status;
      }
      return WithReason(
          absl::Status(status.code(),
                       absl::StrCat(status.message(), " (", stored, "; repeat with --request-id ",
                                    batches.front().request_id(), ", and nothing counts twice)")),
          reason);
    }
    if (all.count() == 0) all.set_first_sequence(receipt->first_sequence());
    all.set_count(all.count() + receipt->count());
    all.set_size(receipt->size());
    all.set_root_hash(receipt->root_hash());
  }
  return all;
}

}  // namespace dpledger::cli
