#include "server/recompute/recompute_service.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/hex.h"
#include "base/status.h"
#include "events/names.h"
#include "events/proto_json.h"
#include "events/unknown_fields.h"
#include "merkle/compact_tree.h"
#include "merkle/sha256.h"
#include "questions/answers.h"
#include "server/own_ledgers/note_log.h"
#include "server/own_ledgers/own_ledgers.h"
#include "server/recompute/said_answers.h"

namespace dpledger::server {
namespace {

constexpr char kWriter[] = "server";
// So many results are stored at once: what a restart computes again.
constexpr uint32_t kChunkSize = 50;
constexpr size_t kMostLedgers = 50'000;
constexpr size_t kIdBytes = 16;
constexpr absl::Duration kLongestFind = absl::Seconds(10);
constexpr uint32_t kUsualPage = 100, kMostPage = 1000;

std::string IdOf(const std::string& request_id, const std::string& caller) {
  const merkle::Hash hash = merkle::Sha256({request_id, std::string_view("\0", 1), caller});
  return HexEncode(merkle::ToBytes(hash).substr(0, kIdBytes));
}

size_t PageSize(uint32_t asked) { return asked == 0 ? kUsualPage : std::min(asked, kMostPage); }

absl::Status NoOperation(const std::string& name) {
  return absl::NotFoundError(absl::StrCat("name: there is no operation ", events::Quoted(name)));
}

// "0.2" or "1.0.3": its numbers.
absl::StatusOr<std::vector<uint64_t>> PartsOfVersion(const std::string& version) {
  std::vector<uint64_t> parts;
  for (const absl::string_view part : absl::StrSplit(version, '.')) {
    uint64_t number = 0;
    const bool digits = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
    if (!digits || !absl::SimpleAtoi(part, &number)) {
      return FieldError(
          "answered_before_version",
          absl::StrCat("must be numbers between dots, got ", events::Quoted(version)));
    }
    parts.push_back(number);
  }
  return parts;
}

// As many ledgers' names in a note as go into it.
void AddNames(const std::vector<std::string>& names, std::vector<v1::RecomputeNote>& notes) {
  size_t bytes = kMaxNoteBytes;
  for (const std::string& name : names) {
    if (bytes + name.size() + 3 > kMaxNoteBytes) {
      notes.emplace_back();
      bytes = 64;  // {"ledgers":{"names":[]}}
    }
    notes.back().mutable_ledgers()->add_names(name);
    bytes += name.size() + 3;
  }
}

}  // namespace

double RecomputeService::DeltaOf(const v1::StartRecomputeRequest& request) const {
  return request.delta() == 0 ? accounting_.limits().usual_delta : request.delta();
}

absl::Status RecomputeService::CheckStart(const v1::StartRecomputeRequest& request,
                                          const CallContext& call) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  RETURN_IF_ERROR(events::CheckToken("request_id", request.request_id()));
  if (request.parent() != "projects/-") {
    RETURN_IF_ERROR(events::CheckProjectName("parent", request.parent()));
  }
  const double delta = DeltaOf(request);
  if (!(delta > 0 && delta < 1)) {
    return FieldError("delta", absl::StrCat("must be in (0, 1), or 0 for the server's usual one, "
                                            "got ",
                                            delta));
  }
  if (request.options().parameters() != v1::PARAMETERS_UNSPECIFIED) {
    return FieldError("options.parameters", "is for events alone; every ledger declares its own");
  }
  RETURN_IF_ERROR(questions::CheckNotPlanned(request.options()));
  if (!request.answered_before_version().empty()) {
    RETURN_IF_ERROR(PartsOfVersion(request.answered_before_version()).status());
  }
  // Options that no question takes are refused now, and not for every ledger.
  v1::ComputeEpsilonRequest question;
  v1::SumQuery& query = *question.mutable_subject()->add_events()->mutable_rounds()->add_queries();
  query.set_l2_norm_bound(1);
  query.set_noise_stddev(1);
  v1::RoundsEvent& rounds = *question.mutable_subject()->mutable_events(0)->mutable_rounds();
  rounds.mutable_scheme()->mutable_full_batch();
  rounds.set_count(1);
  question.set_delta(delta);
  *question.mutable_options() = request.options();
  const absl::Status asked = accounting_.ComputeEpsilon(question, call).status();
  return absl::IsInvalidArgument(asked) ? asked : absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> RecomputeService::Choose(
    const v1::StartRecomputeRequest& request) {
  ASSIGN_OR_RETURN(std::vector<std::string> names,
                   finder_.Find(request.parent(), request.filter(), absl::Now() + kLongestFind));
  if (!request.answered_before_version().empty()) {
    ASSIGN_OR_RETURN(const auto bound, PartsOfVersion(request.answered_before_version()));
    std::vector<std::string> chosen;
    for (std::string& name : names) {
      ASSIGN_OR_RETURN(const auto before, Before(name, request));
      if (!before.has_value()) continue;
      const auto version = PartsOfVersion(before->version());
      if (version.ok() && *version < bound) chosen.push_back(std::move(name));
    }
    names = std::move(chosen);
  }
  if (names.size() > kMostLedgers) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "filter: finds ", names.size(), " ledgers, more than the ", kMostLedgers,
                          " of one operation; begin one for each project")),
                      {"TOO_MANY_LEDGERS", {{"field", "filter"}}});
  }
  return names;
}

absl::StatusOr<v1::Operation> RecomputeService::StartRecompute(
    const v1::StartRecomputeRequest& request, const CallContext& call) {
  RETURN_IF_ERROR(CheckStart(request, call));
  const std::string caller = call.NameInEntries();
  const std::string id = IdOf(request.request_id(), caller);
  const auto found = [&]() -> absl::StatusOr<v1::Operation> {
    absl::MutexLock lock(&mutex_);
    ASSIGN_OR_RETURN(Operation* const operation, Find(id));
    const v1::Operation& known = operation->log.operation();
    if (known.request().SerializeAsString() != request.SerializeAsString()) {
      return WithReason(
          absl::InvalidArgumentError("request_id: another operation was begun under this id"),
          {"REQUEST_ID_REUSED", {{"field", "request_id"}}});
    }
    ++begun_;
    return known;
  };
  if (absl::StatusOr<v1::Operation> known = found(); !absl::IsNotFound(known.status())) {
    return known;
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, Choose(request));
  std::vector<v1::RecomputeNote> notes(1);
  v1::RecomputeNote::Began& began = *notes[0].mutable_began();
  began.set_chunk_size(kChunkSize);
  v1::Operation& operation = *began.mutable_operation();
  operation.set_name(absl::StrCat(kOperationPrefix, id));
  operation.set_state(v1::Operation::RUNNING);
  *operation.mutable_request() = request;
  operation.set_creator(caller);
  operation.mutable_create_time()->set_seconds(absl::ToUnixSeconds(clock_.Now()));
  operation.set_total(names.size());
  operation.set_version(questions::Version());
  operation.set_results_ledger(OperationLedger(id));
  if (events::MessageToJson(notes[0]).size() > kMaxNoteBytes) {
    return FieldError("filter", "is too long");
  }
  AddNames(names, notes);
  RETURN_IF_ERROR(store_
                      .Create(NewOwnLedger(OperationLedger(id), "recomputations", "ledger",
                                           "results of a recomputation; docs/recompute.md"))
                      .status());
  // Another server may have been faster: what it has begun is the operation.
  RETURN_IF_ERROR(Store(OperationLedger(id), "begin", notes).status());
  return found();
}

absl::StatusOr<RecomputeService::Operation*> RecomputeService::Find(const std::string& id) {
  const auto known = operations_.find(id);
  if (known != operations_.end()) {
    RETURN_IF_ERROR(known->second->log.Refresh(store_));
    if (known->second->log.ended()) known->second->ended->store(true);
    return known->second.get();
  }
  auto operation = std::make_unique<Operation>(id);
  RETURN_IF_ERROR(operation->log.Refresh(store_));
  // Made, but not begun: its server may still begin it.
  if (!operation->log.begun()) return NoOperation(absl::StrCat(kOperationPrefix, id));
  if (operation->log.ended()) operation->ended->store(true);
  return (operations_[id] = std::move(operation)).get();
}

absl::StatusOr<RecomputeService::Operation*> RecomputeService::FindNamed(const std::string& name) {
  absl::string_view id = name;
  if (!absl::ConsumePrefix(&id, kOperationPrefix) || id.size() != 2 * kIdBytes ||
      id.find_first_not_of("0123456789abcdef") != id.npos) {
    return FieldError("name", absl::StrCat("must be operations/ and 32 hexadecimal digits, got ",
                                           events::Quoted(name)));
  }
  absl::StatusOr<Operation*> found = Find(std::string(id));
  if (absl::IsNotFound(found.status())) return NoOperation(name);
  return found;
}

absl::Status RecomputeService::Scan() {
  RETURN_IF_ERROR(store_.ForEach(
      std::string(kRecomputationsProject), [&](const v1::Ledger& ledger) -> absl::Status {
        const std::string id = ledger.name().substr(OperationLedger("").size());
        if (operations_.contains(id)) return absl::OkStatus();
        const absl::Status found = Find(id).status();
        return absl::IsNotFound(found) ? absl::OkStatus() : found;
      }));
  scanned_ = clock_.Now();
  return absl::OkStatus();
}

absl::StatusOr<v1::Operation> RecomputeService::GetOperation(
    const v1::GetOperationRequest& request) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(Operation* const operation, FindNamed(request.name()));
  return operation->log.operation();
}

absl::StatusOr<v1::ListOperationsResponse> RecomputeService::ListOperations(
    const v1::ListOperationsRequest& request) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Scan());
  std::vector<const v1::Operation*> newest;
  for (const auto& [id, operation] : operations_) {
    if (!operation->log.ended()) RETURN_IF_ERROR(Find(id).status());
    newest.push_back(&operation->log.operation());
  }
  std::stable_sort(newest.begin(), newest.end(), [](const auto* a, const auto* b) {
    return a->create_time().seconds() > b->create_time().seconds();
  });
  size_t at = 0;
  if (!request.page_token().empty()) {
    while (at < newest.size() && newest[at]->name() != request.page_token()) ++at;
    if (at == newest.size()) return FieldError("page_token", "is not of an answer before");
    ++at;
  }
  v1::ListOperationsResponse response;
  const size_t end = std::min(newest.size(), at + PageSize(request.page_size()));
  for (; at < end; ++at) *response.add_operations() = *newest[at];
  if (end < newest.size()) response.set_next_page_token(newest[end - 1]->name());
  return response;
}

absl::StatusOr<v1::Operation> RecomputeService::CancelOperation(
    const v1::CancelOperationRequest& request) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(Operation* const operation, FindNamed(request.name()));
  if (!operation->log.ended()) RETURN_IF_ERROR(End(*operation, v1::Operation::CANCELLED));
  return operation->log.operation();
}

absl::StatusOr<v1::ListRecomputedResponse> RecomputeService::ListRecomputed(
    const v1::ListRecomputedRequest& request) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  uint64_t first = 0;
  if (!request.page_token().empty() && !absl::SimpleAtoi(request.page_token(), &first)) {
    return FieldError("page_token", "is not of an answer before");
  }
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(Operation* const operation, FindNamed(request.name()));
  uint64_t next = 0;
  ASSIGN_OR_RETURN(std::vector<v1::Recomputed> results,
                   operation->log.Results(store_, first, PageSize(request.page_size()), &next));
  v1::ListRecomputedResponse response;
  for (v1::Recomputed& result : results) *response.add_results() = std::move(result);
  if (next > 0) response.set_next_page_token(absl::StrCat(next));
  return response;
}

absl::Status RecomputeService::AddOperations(const v1::Ledger& ledger, const CallContext& call,
                                             std::vector<v1::SaidAnswer>& said) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(Scan());
  for (const auto& [id, operation] : operations_) {
    RETURN_IF_ERROR(CheckWaiting(call));
    const OperationLog& log = operation->log;
    const v1::AccountingOptions& options = log.operation().request().options();
    if (!OfOneRecord(options.adjacency(), options.group_size(), ledger)) continue;
    if (!log.ended()) RETURN_IF_ERROR(Find(id).status());
    ASSIGN_OR_RETURN(std::optional<v1::Recomputed> result, log.ResultOf(store_, ledger.name()));
    if (!result.has_value()) continue;
    if (result->has_before()) *said.emplace_back().mutable_answer() = result->before();
    v1::SaidAnswer& now = said.emplace_back();
    *now.mutable_answer() = std::move(*result->mutable_now());
    now.set_operation(log.operation().name());
  }
  return absl::OkStatus();
}

absl::Status RecomputeService::AddStatements(const v1::Ledger& ledger, const CallContext& call,
                                             std::vector<v1::SaidAnswer>& said) {
  if (!options_.statements) return absl::OkStatus();
  v1::ListStatementsRequest request;
  request.set_ledger(ledger.name());
  request.set_page_size(kMostPage);
  do {
    ASSIGN_OR_RETURN(v1::ListStatementsResponse page, options_.statements(request, call));
    for (v1::IssuedStatement& statement : *page.mutable_statements()) {
      if (!OfOneRecord(statement.adjacency(), statement.group_size(), ledger)) continue;
      v1::SaidAnswer& one = said.emplace_back();
      *one.mutable_answer() = SaidBy(statement);
      *one.mutable_statement() = std::move(statement);
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return absl::OkStatus();
}

absl::StatusOr<v1::ListAnswersResponse> RecomputeService::ListAnswers(
    const v1::ListAnswersRequest& request, const CallContext& call) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  RETURN_IF_ERROR(events::CheckLedgerName("ledger", request.ledger()));
  if (!(request.delta() >= 0 && request.delta() < 1)) {
    return FieldError("delta",
                      absl::StrCat("must be in (0, 1), or 0 for all, got ", request.delta()));
  }
  uint64_t first = 0;
  if (!request.page_token().empty() && !absl::SimpleAtoi(request.page_token(), &first)) {
    return FieldError("page_token", "is not of an answer before");
  }
  ASSIGN_OR_RETURN(const v1::Ledger ledger, store_.Get(request.ledger(), kNoWriters));
  std::vector<v1::SaidAnswer> said;
  RETURN_IF_ERROR(AddOperations(ledger, call, said));
  RETURN_IF_ERROR(AddStatements(ledger, call, said));
  if (const auto listed = finder_.SummaryOf(request.ledger()); listed != nullptr) {
    *said.emplace_back().mutable_answer() = *listed;
  }
  std::erase_if(said, [&](const v1::SaidAnswer& one) {
    return request.delta() != 0 && one.answer().delta() != request.delta();
  });
  said = InOrder(std::move(said));
  v1::ListAnswersResponse response;
  const size_t end = std::min(said.size(), first + PageSize(request.page_size()));
  for (size_t i = first; i < end; ++i) *response.add_answers() = std::move(said[i]);
  if (end < said.size()) response.set_next_page_token(absl::StrCat(end));
  return response;
}

absl::Status RecomputeService::End(Operation& operation, v1::Operation::State state) {
  std::vector<v1::RecomputeNote> notes(1);
  v1::Operation& ended = *notes[0].mutable_ended();
  ended.set_state(state);
  ended.mutable_end_time()->set_seconds(absl::ToUnixSeconds(clock_.Now()));
  RETURN_IF_ERROR(Store(operation.log.ledger(), "end", notes).status());
  RETURN_IF_ERROR(operation.log.Refresh(store_));
  if (operation.log.ended()) operation.ended->store(true);
  return absl::OkStatus();
}

absl::StatusOr<bool> RecomputeService::Store(const std::string& ledger,
                                             const std::string& request_id,
                                             const std::vector<v1::RecomputeNote>& notes) {
  std::vector<std::string> texts;
  for (const v1::RecomputeNote& note : notes) texts.push_back(events::MessageToJson(note));
  const absl::Status stored =
      store_.Append(NoteBatch(ledger, kWriter, request_id, std::move(texts))).status();
  if (ReasonOf(stored).reason == "REQUEST_ID_REUSED") return false;
  RETURN_IF_ERROR(stored);
  return true;
}

}  // namespace dpledger::server
