#include "server/statement/statement_service.h"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "base/status.h"
#include "events/field_checks.h"
#include "events/names.h"
#include "events/unknown_fields.h"
#include "ledger_store/evidence/log_reader.h"
#include "merkle/compact_tree.h"
#include "merkle/sha256.h"
#include "questions/answers.h"
#include "server/own_ledgers/own_ledgers.h"
#include "server/statement/attack.h"
#include "server/statement/pages.h"
#include "server/statement/sections.h"
#include "server/statement/words.h"

namespace dpledger::server {
namespace {

using statement::Facts;
using statement::LedgerFacts;

// A page that people print; a question about more ledgers is answered by ComputeEpsilon.
constexpr size_t kMostLedgers = 1000;
constexpr size_t kMostDatasetBytes = 256;
constexpr size_t kMostIssuerBytes = 256;

absl::Status CheckRequest(const v1::GetStatementRequest& request) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  RETURN_IF_ERROR(questions::CheckNotPlanned(request.options()));
  if (request.has_ledger()) return events::CheckLedgerName("ledger", request.ledger());
  if (!request.has_dataset()) return FieldError("ledger", "must be given, or a dataset");
  if (request.up_to_sequence() != 0) {
    return FieldError("up_to_sequence", absl::StrCat("must be 0 unless a ledger is named, got ",
                                                     request.up_to_sequence()));
  }
  if (request.dataset().empty() || request.dataset().size() > kMostDatasetBytes) {
    return FieldError("dataset", absl::StrCat("must have 1 to ", kMostDatasetBytes, " bytes, got ",
                                              request.dataset().size()));
  }
  return absl::OkStatus();
}

// What a statement says instead of a number. Other errors end the call: they say nothing of the
// ledgers.
bool IsRefusal(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || ReasonOf(status).reason == "HISTORY_TOO_LARGE";
}

void Refuse(const absl::Status& status, v1::Statement::Answer& answer) {
  answer.mutable_refusal()->set_reason(ReasonOf(status).reason);
  answer.mutable_refusal()->set_message(std::string(status.message()));
}

// The answer and its profile about a subject that was gathered.
absl::Status Answer(const questions::Subject& subject, const v1::AccountingOptions& options,
                    const accountant::Limits& limits, Facts& facts) {
  v1::ComputeEpsilonRequest question;
  question.set_delta(facts.delta);
  *question.mutable_options() = options;
  absl::StatusOr<v1::ComputeEpsilonResponse> epsilon = questions::Answer(subject, question, limits);
  if (IsRefusal(epsilon.status())) {
    Refuse(epsilon.status(), facts.answer);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(epsilon.status());
  *facts.answer.mutable_epsilon() = epsilon->epsilon();
  *facts.answer.mutable_details() = std::move(*epsilon->mutable_details());
  if (epsilon->has_planned_epsilon()) {
    *facts.answer.mutable_planned_epsilon() = epsilon->planned_epsilon();
  }
  v1::ComputeProfileRequest profile;
  *profile.mutable_options() = options;
  profile.add_priors(0.5);
  profile.add_type_one_errors(statement::kFalseAlarm);
  absl::StatusOr<v1::ComputeProfileResponse> curve = questions::Answer(subject, profile, limits);
  if (curve.ok()) {
    facts.profile = *std::move(curve);
  } else if (!IsRefusal(curve.status())) {
    return curve.status();
  }
  return absl::OkStatus();
}

bool HasAny(const std::string& text, std::initializer_list<absl::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](absl::string_view part) { return absl::StrContains(text, part); });
}

// Texts that people answer with their name for, and that documents quote.
absl::Status CheckIssuer(const v1::Issuer& issuer, absl::Time now) {
  const std::pair<const char*, const std::string&> texts[] = {
      {"issuer.organization", issuer.organization()},
      {"issuer.name", issuer.name()},
      {"issuer.role", issuer.role()}};
  for (const auto& [field, text] : texts) {
    RETURN_IF_ERROR(events::Text(1, kMostIssuerBytes, field, text));
    if (statement::Shown(text) != text || text.front() == ' ' || text.back() == ' ' ||
        HasAny(text, {"\n", "  ", "\u00a0", "\u3000", "\u202f", "\u205f", "\u1680", "“", "”"})) {
      return FieldError(field,
                        absl::StrCat("must be one line with single blanks between its words, "
                                     "without hidden characters and “”, got ",
                                     events::Quoted(text)));
    }
  }
  if (!issuer.has_valid_until()) return absl::OkStatus();
  constexpr int64_t kDay = 24 * 60 * 60, kYear10000 = 253'402'300'800;
  const int64_t until = issuer.valid_until().seconds();
  if (issuer.valid_until().nanos() != 0 || until % kDay != 0 || until >= kYear10000 ||
      until <= absl::ToUnixSeconds(now)) {
    return FieldError(
        "issuer.valid_until",
        absl::StrCat("must be a day in the future, at 00:00 UTC, got ",
                     absl::FormatTime(absl::FromUnixSeconds(until), absl::UTCTimeZone())));
  }
  return absl::OkStatus();
}

std::string HashOf(const std::string& document) {
  return HexEncode(merkle::ToBytes(merkle::Sha256({document})));
}

// The whole statement.
v1::Statement Written(const Facts& facts) {
  v1::Statement made;
  made.set_title(statement::TitleOf(facts));
  for (v1::Statement::Section& section : statement::SectionsOf(facts)) {
    *made.add_sections() = std::move(section);
  }
  *made.mutable_answer() = facts.answer;
  for (const v1::Statement::LedgerCheckpoint& one : facts.checkpoints) {
    *made.add_checkpoints() = one;
  }
  made.mutable_time()->set_seconds(absl::ToUnixSeconds(facts.time));
  made.set_version(facts.version);
  if (facts.issued.has_value()) *made.mutable_issued() = *facts.issued;
  const std::string markdown = statement::ToMarkdown(made);
  made.set_html(statement::ToHtml(made));
  made.set_markdown(markdown);
  return made;
}

// How many of the ledger's entries the answer covers; 0: it is no part of it, as a budget is none
// of a data set's.
uint64_t SizeIn(const questions::Subject& whole, const std::string& ledger) {
  for (const v1::LedgerReference& one : whole.ledgers) {
    if (one.name() == ledger) return one.size();
  }
  return 0;
}

// Takes the digits that `name` begins with, without zeros before them.
std::string_view TakeDigits(std::string_view& name) {
  const size_t end = std::min(name.find_first_not_of("0123456789"), name.size());
  std::string_view digits = name.substr(0, end);
  name.remove_prefix(end);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

// The order in which people count: "run-2" before "run-10".
bool IsBefore(const std::string& one, const std::string& other) {
  std::string_view a = one, b = other;
  while (!a.empty() && !b.empty()) {
    const std::string_view digits = TakeDigits(a), others = TakeDigits(b);
    if (digits.size() != others.size()) return digits.size() < others.size();
    if (digits != others) return digits < others;
    if (a.empty() || b.empty()) break;
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return std::pair(a.size(), one) < std::pair(b.size(), other);
}

}  // namespace

absl::Status StatementService::Find(const v1::GetStatementRequest& request, absl::Time deadline,
                                    const CallContext& call, Facts& facts) {
  facts.of_dataset = request.about_case() == v1::GetStatementRequest::kDataset;
  if (!facts.of_dataset) {
    facts.name = request.ledger();
    ASSIGN_OR_RETURN(facts.ledgers.emplace_back().ledger, store_.Get(request.ledger()));
  } else {
    facts.name = request.dataset();
    ASSIGN_OR_RETURN(std::vector<std::string> found, finder_.Over(facts.name, deadline));
    std::erase_if(found, IsOfServer);
    std::sort(found.begin(), found.end(), IsBefore);
    if (found.empty()) {
      return absl::NotFoundError(
          absl::StrCat("dataset: no ledger declares ", events::Quoted(facts.name)));
    }
    if (found.size() > kMostLedgers) {
      return WithReason(
          absl::FailedPreconditionError(absl::StrCat("dataset: more than ", kMostLedgers,
                                                     " ledgers declare it, too many for a page")),
          {"TOO_MANY_LEDGERS", {{"field", "dataset"}}});
    }
    for (const std::string& name : found) {
      ASSIGN_OR_RETURN(facts.ledgers.emplace_back().ledger, store_.Get(name));
    }
  }
  const std::string& dataset = facts.ledgers[0].declaration().dataset();
  const MayCount may_count = accounting_.MayCountFor(call);
  if (may_count && !may_count(dataset)) return absl::OkStatus();
  ASSIGN_OR_RETURN(facts.declaring, store_.CountDeclaring(dataset));
  return absl::OkStatus();
}

absl::Status StatementService::Account(const v1::GetStatementRequest& request,
                                       const accountant::Limits& limits, const MayCount& may_count,
                                       Facts& facts) {
  v1::Subject subject;
  std::vector<std::string> names;
  for (const LedgerFacts& ledger : facts.ledgers) names.push_back(ledger.ledger.name());
  subject.add_ledgers(names[0]);
  subject.set_up_to_sequence(request.up_to_sequence());
  const uint64_t group_size = request.options().group_size();
  absl::StatusOr<questions::Subject> whole =
      facts.of_dataset ? accounting_.subjects().GatherAll(names, group_size, limits)
                       : accounting_.subjects().Gather(subject, group_size, limits, may_count);
  if (whole.ok()) {
    if (const absl::Status holds = accounting_.CheckBudgetsHold(*whole); !holds.ok()) whole = holds;
  }
  if (whole.ok()) {
    RETURN_IF_ERROR(Answer(*whole, request.options(), limits, facts));
  } else if (IsRefusal(whole.status()) || facts.of_dataset) {
    if (!IsRefusal(whole.status()) && !absl::IsInvalidArgument(whole.status()))
      return whole.status();
    Refuse(whole.status(), facts.answer);
  } else {
    return whole.status();
  }
  for (size_t i = 0; i < facts.ledgers.size(); ++i) {
    LedgerFacts& ledger = facts.ledgers[i];
    if (whole.ok() && facts.ledgers.size() == 1) {
      ledger.own = *whole;
      continue;
    }
    // The entries that the answer covers, though more may have come since.
    v1::Subject alone;
    alone.add_ledgers(ledger.ledger.name());
    alone.set_up_to_sequence(whole.ok() ? SizeIn(*whole, ledger.ledger.name())
                                        : request.up_to_sequence());
    absl::StatusOr<questions::Subject> own =
        accounting_.subjects().Gather(alone, 0, limits, may_count);
    if (own.ok()) {
      ledger.own = *std::move(own);
    } else if (IsRefusal(own.status())) {
      ledger.unreadable = std::string(own.status().message());
    } else {
      return own.status();
    }
  }
  return absl::OkStatus();
}

absl::Status StatementService::Bind(uint64_t up_to_sequence, const CallContext& call,
                                    Facts& facts) {
  for (const LedgerFacts& ledger : facts.ledgers) {
    v1::Statement::LedgerCheckpoint& bound = facts.checkpoints.emplace_back();
    bound.set_ledger(ledger.ledger.name());
    bound.set_size(ledger.own.has_value() ? ledger.own->ledgers[0].size()
                   : up_to_sequence != 0  ? up_to_sequence
                                          : ledger.ledger.size());
    ASSIGN_OR_RETURN(SignedCheckpoint checkpoint,
                     logs_.AwaitSigned(ledger.ledger.name(), bound.size(), call));
    bound.set_note(checkpoint.note);
    LogReader reader(store_, ledger.ledger.name(), std::move(checkpoint));
    ASSIGN_OR_RETURN(const merkle::Hash root, reader.RootAt("up_to_sequence", bound.size()));
    bound.set_root_hash(merkle::ToBytes(root));
    if (ledger.own.has_value() && ledger.own->ledgers[0].root_hash() != bound.root_hash()) {
      return absl::DataLossError(
          absl::StrCat(ledger.ledger.name(),
                       ": the entries that were accounted for are not those that are "
                       "signed"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Facts> StatementService::Gather(const v1::GetStatementRequest& request,
                                               const CallContext& call) {
  RETURN_IF_ERROR(CheckRequest(request));
  const accountant::Limits limits = accounting_.LimitsOf(call);
  Facts facts;
  facts.delta = request.delta() == 0 ? accounting_.limits().usual_delta : request.delta();
  if (!(facts.delta > 0 && facts.delta < 1)) {
    return FieldError("delta", absl::StrCat("must be in (0, 1), or 0 for the server's usual one, "
                                            "got ",
                                            facts.delta));
  }
  facts.answer.set_delta(facts.delta);
  facts.version = questions::Version();
  facts.time = clock_.Now();
  RETURN_IF_ERROR(Find(request, limits.deadline, call, facts));
  RETURN_IF_ERROR(Account(request, limits, accounting_.MayCountFor(call), facts));
  RETURN_IF_ERROR(Bind(request.up_to_sequence(), call, facts));
  facts.answer.set_in_words(statement::AttackWords(facts));
  return facts;
}

absl::StatusOr<v1::Statement> StatementService::GetStatement(const v1::GetStatementRequest& request,
                                                             const CallContext& call) {
  ASSIGN_OR_RETURN(const Facts facts, Gather(request, call));
  return Written(facts);
}

absl::StatusOr<v1::Statement> StatementService::IssueStatement(
    const v1::IssueStatementRequest& request, const CallContext& call) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  RETURN_IF_ERROR(CheckIssuer(request.issuer(), clock_.Now()));
  absl::StatusOr<Facts> facts = Gather(request.statement(), call);
  RETURN_IF_ERROR(PrefixField("statement", facts.status()));
  v1::IssuedStatement& issued = facts->issued.emplace();
  if (facts->of_dataset) {
    issued.set_dataset(facts->name);
  } else {
    issued.set_ledger(facts->name);
  }
  issued.set_title(statement::TitleOf(*facts));
  *issued.mutable_issuer() = request.issuer();
  issued.set_caller(call.NameInEntries());
  issued.mutable_issue_time()->set_seconds(absl::ToUnixSeconds(facts->time));
  issued.set_delta(facts->delta);
  if (facts->answer.has_epsilon()) {
    *issued.mutable_epsilon() = facts->answer.epsilon();
    issued.set_regime(facts->answer.details().regime());
    issued.set_method(facts->answer.details().method());
  }
  const v1::Adjacency asked = request.statement().options().adjacency();
  issued.set_adjacency(
      asked != v1::ADJACENCY_UNSPECIFIED ? asked : facts->ledgers[0].declaration().adjacency());
  issued.set_group_size(std::max<uint64_t>(1, request.statement().options().group_size()));
  for (const v1::Statement::LedgerCheckpoint& bound : facts->checkpoints) {
    issued.set_size(issued.size() + bound.size());
  }
  issued.set_version(facts->version);
  v1::Statement made;
  RETURN_IF_ERROR(register_.Enter(
      [&](uint64_t number) -> absl::StatusOr<v1::IssuedStatement> {
        issued.set_number(number);
        made = Written(*facts);
        made.mutable_issued()->set_markdown_sha256(HashOf(made.markdown()));
        made.mutable_issued()->set_html_sha256(HashOf(made.html()));
        return made.issued();
      },
      call));
  return made;
}

}  // namespace dpledger::server
