#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "cli/answer_output.h"
#include "cli/answer_parts.h"
#include "cli/number_text.h"
#include "cli/shown_text.h"

namespace dpledger::cli {
namespace {

std::string SummaryText(const v1::LedgerSummary& summary) {
  if (!summary.has_epsilon()) {
    const std::string& why = summary.refusal().message();
    return absl::StrCat("refused", why.empty() ? "" : ": ", Shown(why));
  }
  return absl::StrCat(TextUp(summary.epsilon().upper()), " by ", summary.method(), " (",
                      summary.version(), ")");
}

std::string GrantText(const v1::Grant& grant) {
  return absl::StrCat(grant.role(), " ", grant.scope(),
                      grant.data_set().empty() ? "" : " data-set=", grant.data_set());
}

std::string StateOf(const v1::Token& token) {
  if (token.has_revoke_time()) return "revoked " + TimeText(token.revoke_time());
  if (!token.has_expire_time()) return "does not expire";
  const bool past = token.expire_time().seconds() <= absl::ToUnixSeconds(absl::Now());
  return absl::StrCat(past ? "expired " : "expires ", TimeText(token.expire_time()));
}

std::string TokenText(const v1::Token& token) {
  std::string text = Row("caller", token.caller());
  text += Row("id", token.id());
  for (const v1::Grant& grant : token.grants()) text += Row("may", GrantText(grant));
  text += Row("state", StateOf(token));
  text += Row("made", TimeText(token.create_time()));
  return text +
         Row("last use", token.has_last_use_time() ? TimeText(token.last_use_time()) : "none");
}

std::string TokensText(const google::protobuf::RepeatedPtrField<v1::Token>& tokens) {
  return absl::StrJoin(
      tokens, "\n", [](std::string* text, const v1::Token& token) { *text += TokenText(token); });
}

// Of what was refused: where it came from, what for and why.
std::string RefusalText(const v1::Access::Refused& refused) {
  std::string text = "refused";
  for (const std::string& part : {refused.permission(), refused.resource()}) {
    if (!part.empty()) absl::StrAppend(&text, " ", part);
  }
  absl::StrAppend(&text, ": ", refused.reason());
  if (refused.count() != 1) absl::StrAppend(&text, ", ", refused.count(), " times");
  if (!refused.request_id().empty()) absl::StrAppend(&text, ", request ", refused.request_id());
  return text;
}

std::string ReadText(const v1::Access::Reads& read) {
  return absl::StrCat(read.permission(), " ",
                      read.resource().empty() ? "(nothing named)" : read.resource(), "  ",
                      Counted(read.count(), "time", "times"),
                      read.entries() == 0 ? "" : absl::StrCat(", ", read.entries(), " entries"));
}

std::string AccessText(const v1::Access& access) {
  std::string start = TimeText(access.time());
  if (access.reads_size() > 0) start.replace(start.rfind(':'), 3, "");  // of the whole minute
  absl::StrAppend(&start, "  ", access.caller().empty() ? "(unknown)" : access.caller(),
                  access.peer().empty() ? "" : " at ", access.peer(), "  ");
  std::string text;
  const auto line = [&](const std::string& what) {
    absl::StrAppend(&text, Shown(start + what), "\n");
  };
  for (const v1::Access::Reads& read : access.reads()) line(ReadText(read));
  if (access.has_refused()) line(RefusalText(access.refused()));
  if (access.has_administers()) {
    line(absl::StrCat("administers: ", access.administers().method(), " ",
                      access.administers().about()));
  }
  return text;
}

}  // namespace

std::string ToText(const v1::Operation& operation) {
  std::string text = Row("operation", operation.name());
  text += Row("state", v1::Operation::State_Name(operation.state()));
  text += Row("asked", operation.done(), " of ", operation.total(), " ledgers");
  text += Row("said then, now", operation.lower(), " lower, ", operation.higher(), " higher, ",
              operation.unchanged(), " unchanged, ", operation.fresh(), " not asked before, ",
              operation.refused(), " refused");
  const v1::StartRecomputeRequest& request = operation.request();
  text += Row("of", request.parent(), request.filter().empty() ? "" : ", ", request.filter());
  if (request.delta() > 0) text += Row("delta", TextNear(request.delta()));
  text += Row("answered before", request.answered_before_version());
  text += Row("begun", TimeText(operation.create_time()), " by ", operation.creator());
  if (operation.has_end_time()) text += Row("ended", TimeText(operation.end_time()));
  text += Row("results", operation.results_ledger());
  return text + Row("version", operation.version());
}

std::string ToText(const v1::ListOperationsResponse& list) {
  std::string text;
  for (const v1::Operation& one : list.operations()) {
    absl::StrAppend(&text, one.name(), "  ", v1::Operation::State_Name(one.state()), "  ",
                    one.done(), " of ", one.total(), "\n");
  }
  return text;
}

std::string ToText(const v1::RecomputeResults& results) {
  std::string text = ToText(results.operation());
  for (const v1::Recomputed& one : results.results()) {
    absl::StrAppend(&text, one.now().ledger(), " at size ", one.now().size(), "\n");
    if (one.has_before()) text += Row("  said then", SummaryText(one.before()));
    text += Row("  says now", SummaryText(one.now()));
  }
  return text;
}

std::string SaidByText(const v1::SaidAnswer& said) {
  if (said.has_operation()) return said.operation();
  if (!said.has_statement()) return "in lists";
  return absl::StrCat("statement ", said.statement().number(),
                      said.statement().has_withdrawal() ? ", withdrawn" : "");
}

// A difference of two upper ends, in words.
std::string GivenBackText(double given_back) {
  if (given_back == 0) return "as was said before";
  if (!std::isfinite(given_back))
    return given_back > 0 ? "a bound, where none was finite before" : "no finite bound any more";
  const std::string by = TextNear(std::abs(given_back));
  return absl::StrCat(by, given_back > 0 ? " less" : " more", " than was said before");
}

std::string ToText(const v1::ListAnswersResponse& list) {
  std::string text;
  for (const v1::SaidAnswer& one : list.answers()) {
    const v1::LedgerSummary& answer = one.answer();
    absl::StrAppend(&text, TimeText(answer.compute_time()), "  ", SaidByText(one), "\n");
    text += Row("  epsilon", SummaryText(answer));
    text += Row("  of", answer.size(), " entries at delta ", TextNear(answer.delta()));
    if (one.has_given_back()) text += Row("  which is", GivenBackText(one.given_back()));
  }
  return text;
}

std::string ToText(const v1::TokenMade& made) {
  return TokenText(made.token()) + Row("token", made.secret()) + Row("token in", made.file());
}

std::string ToText(const v1::ListTokensResponse& list) { return TokensText(list.tokens()); }

std::string ToText(const v1::RevokeTokenResponse& revoked) { return TokensText(revoked.tokens()); }

std::string ToText(const v1::IssuedStatement& statement) {
  const v1::Issuer& issuer = statement.issuer();
  std::string text =
      Row("statement", statement.number(), " about ", statement.has_dataset() ? "data set " : "",
          Shown(statement.has_dataset() ? statement.dataset() : statement.ledger()));
  text += Row("title", Shown(statement.title()));
  text += Row("stated by", Shown(issuer.name()), ", ", Shown(issuer.role()), ", ",
              Shown(issuer.organization()));
  text += Row("issued", TimeText(statement.issue_time()), " by ",
              statement.caller().empty() ? "(not asked)" : statement.caller());
  text += Row("valid until",
              issuer.has_valid_until() ? TimeText(issuer.valid_until()) : "no end is stated");
  text += statement.has_epsilon() ? BoundRow("epsilon", statement.epsilon())
                                  : Row("epsilon", "refused");
  if (statement.regime() == v1::ODOMETER) text += Row("which is", kOdometerText);
  text += Row("delta", TextNear(statement.delta()));
  text += Row("covers", statement.size(), " entries, ", v1::Adjacency_Name(statement.adjacency()),
              ", groups of ", statement.group_size());
  text += Row("method", statement.method(), statement.method().empty() ? "" : ", ", "version ",
              statement.version());
  text += Row("Markdown", "SHA-256 ", statement.markdown_sha256());
  text += Row("HTML", "SHA-256 ", statement.html_sha256());
  if (statement.has_withdrawal()) {
    const v1::StatementWithdrawal& withdrawal = statement.withdrawal();
    text += Row("WITHDRAWN", TimeText(withdrawal.time()), " by ",
                withdrawal.caller().empty() ? "(not asked)" : withdrawal.caller(), ": ",
                Shown(withdrawal.reason()));
  }
  return text;
}

std::string ToText(const v1::ListStatementsResponse& list) {
  return absl::StrJoin(
      list.statements(), "\n",
      [](std::string* text, const v1::IssuedStatement& one) { *text += ToText(one); });
}

std::string ToText(const v1::StatementChecked& checked) {
  return Row("file", Shown(checked.file()), ", SHA-256 ", checked.sha256()) +
         Row("register", Shown(checked.origin()), " at ", checked.size(), " entries, ",
             checked.verified() ? "signed by a key of yours"
                                : "NOT VERIFIED: give the server's key, --key") +
         ToText(checked.statement());
}

// The newest stands last, where a terminal ends.
std::string ToText(const v1::AccessRead& read) {
  return absl::StrJoin(
      read.access().rbegin(), read.access().rend(), "",
      [](std::string* text, const v1::Access& access) { *text += AccessText(access); });
}

}  // namespace dpledger::cli
