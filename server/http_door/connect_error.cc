#include "server/http_door/connect_error.h"

#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/json_text.h"
#include "events/wire_errors.h"

namespace dpledger::server {
namespace {

struct CodeRow {
  std::string_view connect;
  int http_status;
};

// By the number of the code.
constexpr std::array<CodeRow, 17> kCodes = {{{"ok", 200},
                                             {"canceled", 499},
                                             {"unknown", 500},
                                             {"invalid_argument", 400},
                                             {"deadline_exceeded", 504},
                                             {"not_found", 404},
                                             {"already_exists", 409},
                                             {"permission_denied", 403},
                                             {"resource_exhausted", 429},
                                             {"failed_precondition", 400},
                                             {"aborted", 409},
                                             {"out_of_range", 400},
                                             {"unimplemented", 501},
                                             {"internal", 500},
                                             {"unavailable", 503},
                                             {"data_loss", 500},
                                             {"unauthenticated", 401}}};

const CodeRow& RowOf(absl::StatusCode code) {
  const auto number = static_cast<size_t>(code);
  return kCodes[number < kCodes.size() ? number : 2];
}

constexpr std::string_view kTypePrefix = "type.googleapis.com/";

}  // namespace

std::string_view ConnectCode(absl::StatusCode code) { return RowOf(code).connect; }
int HttpStatusOf(absl::StatusCode code) { return RowOf(code).http_status; }

std::string ConnectErrorJson(const absl::Status& status) {
  const google::rpc::Status error = events::WithErrorInfo(status);
  std::string details;
  for (const google::protobuf::Any& detail : error.details()) {
    std::string_view type = detail.type_url();
    if (type.starts_with(kTypePrefix)) type.remove_prefix(kTypePrefix.size());
    std::string value = absl::Base64Escape(detail.value());
    while (!value.empty() && value.back() == '=') value.pop_back();
    absl::StrAppend(&details, details.empty() ? "" : ",", "{\"type\":", JsonString(type),
                    ",\"value\":\"", value, "\"}");
  }
  return absl::StrCat("{\"code\":\"", ToAbsl(ConnectCode(status.code())),
                      "\",\"message\":", JsonString(error.message()), ",\"details\":[", details,
                      "]}");
}

}  // namespace dpledger::server
