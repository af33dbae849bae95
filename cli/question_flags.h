// What a question is about and how it is to be answered: the flags that epsilon, delta and tuning
// share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "cli/answer_output.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/server_calls.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "ledger/questions.h"

namespace dpledger::cli {

struct MethodFlags {
  v1::Method method = v1::BEST;
  v1::Adjacency adjacency = v1::ADJACENCY_UNSPECIFIED;

  void AddTo(CLI::App& app);
};

struct QuestionFlags {
  std::string events;
  std::string server;
  std::vector<std::string> ledgers;
  MethodFlags method;
  v1::Parameters parameters = v1::PARAMETERS_UNSPECIFIED;
  double relative_gap = 0;
  uint64_t group_size = 0;

  void AddTo(CLI::App& app);
  // Throws CLI::ValidationError unless the subject is either an event file or ledgers of a server.
  void CheckSubject() const;
  v1::AccountingOptions Options() const;
};

// The history of an event file.
absl::StatusOr<accountant::Subject> SubjectOfFile(const std::string& path);

// The answer to `request`: computed here for an event file, with `answer`, and by the server for
// ledgers.
template <typename Request, typename Response>
absl::StatusOr<Response> AnswerTo(const QuestionFlags& flags, Request request,
                                  absl::StatusOr<Response> (*answer)(const accountant::Subject&,
                                                                     const Request&,
                                                                     const accountant::Limits&)) {
  *request.mutable_options() = flags.Options();
  if (!flags.events.empty()) {
    ASSIGN_OR_RETURN(const accountant::Subject subject, SubjectOfFile(flags.events));
    return answer(subject, request, accountant::Limits());
  }
  for (const std::string& ledger : flags.ledgers) request.mutable_subject()->add_ledgers(ledger);
  return ServerCalls(flags.server).Ask(request);
}

// Prints the answer.
template <typename Request, typename Response>
absl::Status Ask(const QuestionFlags& flags, Request request,
                 absl::StatusOr<Response> (*answer)(const accountant::Subject&, const Request&,
                                                    const accountant::Limits&),
                 Output& out) {
  const absl::StatusOr<Response> response = AnswerTo(flags, std::move(request), answer);
  RETURN_IF_ERROR(response.status());
  out.Answer(ToText(*response), ToJson(*response));
  return absl::OkStatus();
}

}  // namespace dpledger::cli
