#include "server/statement/page_parts.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "server/statement/words.h"

namespace dpledger::server::statement {

std::string SourceWords(v1::Statement::Source source) {
  if (source == v1::Statement::SOURCE_UNSPECIFIED) return "";
  if (source == v1::Statement::NOT_APPLICABLE) return "does not apply";
  return absl::AsciiStrToLower(
      absl::StrReplaceAll(v1::Statement::Source_Name(source), {{"_", " "}}));
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
  if (!std::isfinite(answer.epsilon().upper()))
    return absl::StrCat("No ε is finite at δ = ", StatedText(answer.delta()));
  return absl::StrCat("ε ≤ ", UpperText(answer.epsilon().upper()),
                      " at δ = ", StatedText(answer.delta()));
}

std::string IssuerText(const v1::IssuedStatement& issued) {
  const v1::Issuer& issuer = issued.issuer();
  return absl::StrCat(
      "Statement ", issued.number(), " of this server's register, of ",
      DayText(issued.issue_time()),
      issuer.has_valid_until() ? absl::StrCat(", valid until ", DayText(issuer.valid_until())) : "",
      ". Stated by “", issuer.name(), "”, “", issuer.role(), "”, “", issuer.organization(), "”.");
}

}  // namespace dpledger::server::statement
