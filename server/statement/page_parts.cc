#include "server/statement/page_parts.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/statement/words.h"

namespace dpledger::server::statement {

std::string SourceWords(v1::Statement::Source source) {
  switch (source) {
    case v1::Statement::DECLARED:
      return "declared";
    case v1::Statement::RECORDED:
      return "recorded";
    case v1::Statement::COMPUTED:
      return "computed";
    case v1::Statement::NOT_STATED:
      return "not stated";
    default:
      return "";
  }
}

std::string TimeText(const v1::Statement& statement) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::FromUnixSeconds(statement.time().seconds()),
                          absl::UTCTimeZone());
}

std::string ResultText(const v1::Statement& statement) {
  const v1::Statement::Answer& answer = statement.answer();
  if (!answer.has_epsilon()) {
    return absl::StrCat("ε is refused: ", Shown(answer.refusal().message()));
  }
  if (IsOdometer(answer)) return OdometerText(answer);
  return absl::StrCat("ε ≤ ", UpperText(answer.epsilon().upper()),
                      " at δ = ", StatedText(answer.delta()));
}

}  // namespace dpledger::server::statement
