// The flags that all questions share: the subject of the question and the way to answer it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "cli/flags.h"
#include "cli/ledger_place.h"
#include "cli/output.h"
#include "cli/server_calls.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "questions/answers.h"

namespace dpledger::cli {

struct MethodFlags {
  v1::Method method = v1::BEST;
  v1::Adjacency adjacency = v1::ADJACENCY_UNSPECIFIED;
  uint64_t group_size = 0;

  void AddTo(flags::App& app);
  // The first flag that says something; empty if none does.
  std::string GivenFlag() const;
  v1::AccountingOptions Options() const;
};

// Equal steps of DP-SGD, described by flags. 0: the flag was not given.
struct RunFlags {
  using Kind = v1::SamplingScheme::KindCase;
  double noise_multiplier = 0;
  double sampling_probability = 0;
  uint64_t steps = 0;
  uint64_t batch_size = 0;
  uint64_t population = 0;
  double epochs = 0;
  Kind scheme = v1::SamplingScheme::KIND_NOT_SET;

  void AddTo(flags::App& app);
  // The first flag that is given; empty if none is.
  std::string GivenFlag() const;
  // Throws flags::ValidationError for flags that do not go together.
  void CheckWords() const;
  // Throws flags::ValidationError unless they describe a whole run.
  void Check() const;

  // The rest once it is checked. The scheme, full batch unless something says otherwise:
  Kind SchemeOf() const;
  // of Poisson sampling, 1 for the full batch,
  double ProbabilityOf() const;
  uint64_t StepsOf() const;
  // The steps of as many epochs, of which none is unfinished.
  uint64_t WholeEpochs() const;
  // and the rounds of an epoch, 0 if the scheme has none.
  uint64_t RoundsPerEpoch() const;
  // What was taken to be so.
  std::vector<std::string> Assumptions() const;
  // Steps of which the last ones are no whole epoch are rounds of their own.
  std::vector<v1::Event> Events() const;
  absl::StatusOr<questions::Subject> Subject() const;
};

struct QuestionFlags {
  RunFlags run;
  std::string events;
  LedgerPlace place;
  std::vector<std::string> ledgers;
  std::string dataset;
  MethodFlags method;
  v1::Parameters parameters = v1::PARAMETERS_UNSPECIFIED;
  double relative_gap = 0;
  bool as_planned = false;

  void AddTo(flags::App& app);
  void AddAsPlanned(flags::App& app);  // for epsilon and delta
  bool HasSubject() const;
  // Throws flags::ValidationError unless the flags name a subject: a run by its flags or an event
  // file; ledgers of a server or at rest, or a data set there; or both, then together.
  void CheckSubject() const;
  // Whether it is about ledgers: at rest about all of them, if none is named.
  bool OfLedgers() const { return !ledgers.empty() || !dataset.empty() || place.AtRest(); }
  // Precondition: !OfLedgers().
  absl::StatusOr<questions::Subject> LocalSubject() const;
  // Precondition: OfLedgers().
  absl::StatusOr<v1::Subject> LedgersOf(const ServerCalls& calls) const;
  v1::AccountingOptions Options() const;

 private:
  absl::StatusOr<std::vector<v1::Event>> GivenEvents() const;
};

// The answer to `request`: computed here, or asked of those who have the ledgers.
template <typename Request>
auto AnswerTo(const QuestionFlags& flags, Request request)
    -> decltype(questions::Answer(questions::Subject(), request, accountant::Limits())) {
  *request.mutable_options() = flags.Options();
  if (!flags.OfLedgers()) {
    ASSIGN_OR_RETURN(const questions::Subject subject, flags.LocalSubject());
    return questions::Answer(subject, request, accountant::Limits());
  }
  ServerCalls calls(flags.place);
  ASSIGN_OR_RETURN(*request.mutable_subject(), flags.LedgersOf(calls));
  auto response = calls.Ask(request);
  if (!response.ok()) return response;
  calls.Assume(*response->mutable_details());
  if (flags.run.GivenFlag().empty()) return response;
  for (const std::string& one : flags.run.Assumptions())
    response->mutable_details()->add_assumptions(one);
  return response;
}

}  // namespace dpledger::cli
