// The flags that all questions share: the subject of the question and the way to answer it.
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
#include "client/server_access.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "ledger/questions.h"

namespace dpledger::cli {

struct MethodFlags {
  v1::Method method = v1::BEST;
  v1::Adjacency adjacency = v1::ADJACENCY_UNSPECIFIED;
  uint64_t group_size = 0;

  void AddTo(CLI::App& app);
  v1::AccountingOptions Options() const;
};

// Equal steps of DP-SGD, described by flags. 0: the flag was not given.
struct RunFlags {
  double noise_multiplier = 0;
  double sampling_probability = 0;
  uint64_t steps = 0;

  void AddTo(CLI::App& app);
  // The first flag that is given; empty if none is.
  std::string GivenFlag() const;
  std::string ToText() const;
  absl::StatusOr<accountant::Subject> Subject() const;
};

struct QuestionFlags {
  RunFlags run;
  std::string events;
  client::ServerAccess server;
  std::vector<std::string> ledgers;
  std::string dataset;
  MethodFlags method;
  v1::Parameters parameters = v1::PARAMETERS_UNSPECIFIED;
  double relative_gap = 0;

  void AddTo(CLI::App& app);
  bool HasSubject() const;
  // Throws CLI::ValidationError unless the flags name exactly one subject: a run by its flags, an
  // event file, ledgers of a server, or a data set there.
  void CheckSubject() const;
  bool OnServer() const { return !ledgers.empty() || !dataset.empty(); }
  // The subject in words, if it is not a ledger: the file's name, or the run.
  std::string LocalText() const;
  // Precondition: !OnServer().
  absl::StatusOr<accountant::Subject> LocalSubject() const;
  v1::AccountingOptions Options() const;
};

// The answer to `request`: computed here with `answer`, or by the server for its ledgers.
template <typename Request, typename Response>
absl::StatusOr<Response> AnswerTo(const QuestionFlags& flags, Request request,
                                  absl::StatusOr<Response> (*answer)(const accountant::Subject&,
                                                                     const Request&,
                                                                     const accountant::Limits&)) {
  *request.mutable_options() = flags.Options();
  if (!flags.OnServer()) {
    ASSIGN_OR_RETURN(const accountant::Subject subject, flags.LocalSubject());
    return answer(subject, request, accountant::Limits());
  }
  for (const std::string& ledger : flags.ledgers) request.mutable_subject()->add_ledgers(ledger);
  request.mutable_subject()->set_dataset(flags.dataset);
  return ServerCalls(flags.server).Ask(request);
}

// Answers `request` and prints the answer.
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
