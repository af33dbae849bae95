#include "events/wire_errors.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "google/rpc/error_details.pb.h"

namespace dpledger::events {
namespace {

constexpr char kDomain[] = "dpledger";
// Clients take 8 KiB of trailers by default; a message is there twice, its bytes at most tripled by
// percent-encoding.
constexpr size_t kMaxMessageBytes = 1024;
constexpr size_t kMaxMetadataBytes = 256;

// `text` of at most `max_bytes` bytes, cut between characters.
std::string Cut(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  constexpr std::string_view kMark = "...";
  size_t end = max_bytes - kMark.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)).append(kMark);
}

}  // namespace

google::rpc::Status WithErrorInfo(const absl::Status& status) {
  const ErrorReason reason = ReasonOf(status);
  google::rpc::ErrorInfo info;
  info.set_domain(kDomain);
  info.set_reason(reason.reason.empty() ? absl::StatusCodeToString(status.code()) : reason.reason);
  for (const auto& [key, value] : reason.metadata) {
    (*info.mutable_metadata())[key] = Cut(value, kMaxMetadataBytes);
  }
  google::rpc::Status details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(Cut(FromAbsl(status.message()), kMaxMessageBytes));
  details.add_details()->PackFrom(info);
  if (const absl::Duration delay = RetryDelayOf(reason); delay > absl::ZeroDuration()) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(absl::ToInt64Seconds(delay));
    details.add_details()->PackFrom(retry);
  }
  return details;
}

absl::Status NotAMessage(const google::protobuf::Descriptor& type) {
  return WithReason(absl::InvalidArgumentError(absl::StrCat(
                        "the request's bytes are not a ", type.full_name(),
                        ": malformed, text that is not UTF-8, or nested deeper than 100 levels")),
                    {"MALFORMED_MESSAGE", {}});
}

}  // namespace dpledger::events
