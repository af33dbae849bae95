#include "cli/question_flags.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "cli/event_file.h"
#include "ledger/event_from_proto.h"

namespace dpledger::cli {
namespace {

absl::StatusOr<accountant::Subject> SubjectOfFile(const std::string& path) {
  ASSIGN_OR_RETURN(EventFile file, ReadEventFile(path));
  accountant::Subject subject;
  subject.entries = file.events.size();
  subject.history = file.given.history();
  return subject;
}

void RequireWith(const std::string& given, const char* flag, bool present) {
  if (present) return;
  throw CLI::ValidationError(flag, absl::StrCat("must be given with ", given));
}

}  // namespace

void MethodFlags::AddTo(CLI::App& app) {
  AddChoice<v1::Method>(app, "--method", method,
                        {{"best", v1::BEST},
                         {"rdp", v1::RDP},
                         {"pld", v1::PLD},
                         {"contour", v1::CONTOUR},
                         {"gaussian", v1::GAUSSIAN_CLOSED_FORM}},
                        "the method; best unless told");
  AddAdjacency(app, adjacency, "add-or-remove-one where nothing is declared and none is given");
  AddCount(app, "--group-size", group_size, 1,
           "neighbours differ in up to so many records (user-level privacy); default 1");
}

v1::AccountingOptions MethodFlags::Options() const {
  v1::AccountingOptions options;
  options.set_method(method);
  options.set_adjacency(adjacency);
  options.set_group_size(group_size);
  return options;
}

void RunFlags::AddTo(CLI::App& app) {
  AddReal(app, "--noise-multiplier", noise_multiplier, kFinitePositive,
          "a run without a file: the noise of each step over its sensitivity, > 0");
  AddReal(app, "--sampling-probability", sampling_probability, kProbability,
          "the probability that a record is in a step (Poisson sampling), in (0, 1]; without it "
          "every record is in every step (full batch)");
  AddCount(app, "--steps", steps, 1, "the number of steps of that run");
}

std::string RunFlags::GivenFlag() const {
  return noise_multiplier > 0       ? "--noise-multiplier"
         : steps > 0                ? "--steps"
         : sampling_probability > 0 ? "--sampling-probability"
                                    : "";
}

std::string RunFlags::ToText() const {
  return absl::StrCat(
      steps, steps == 1 ? " step" : " steps", ", noise multiplier ", noise_multiplier,
      sampling_probability > 0 ? absl::StrCat(", sampling probability ", sampling_probability)
                               : ", full batch");
}

absl::StatusOr<accountant::Subject> RunFlags::Subject() const {
  v1::Event event;
  v1::RoundsEvent& rounds = *event.mutable_rounds();
  rounds.set_count(steps);
  v1::SumQuery& query = *rounds.add_queries();
  query.set_l2_norm_bound(1);
  query.set_noise_stddev(noise_multiplier);
  accountant::Subject subject;
  if (sampling_probability > 0) {
    rounds.mutable_scheme()->mutable_poisson()->set_probability(sampling_probability);
  } else {
    rounds.mutable_scheme()->mutable_full_batch();
    subject.assumptions.push_back(
        "full batch: no --sampling-probability was given, so every record is in every step");
  }
  ASSIGN_OR_RETURN(const accountant::Event checked, accountant::EventFromProto(event));
  subject.history.Add("", checked);
  subject.entries = 1;
  return subject;
}

void QuestionFlags::AddTo(CLI::App& app) {
  run.AddTo(app);
  app.add_option("--events", events,
                 "an event file: one event in proto JSON a line; - is standard input")
      ->type_name("FILE");
  AddServer(app, server);
  AddLedgerNames(app, "--ledger", ledgers,
                 "a ledger on the server; may repeat: the ledgers are composed");
  app.add_option("--dataset", dataset, "all ledgers on the server over this data set, composed")
      ->type_name("NAME");
  method.AddTo(app);
  AddParameters(app, parameters,
                "fixed (default where nothing is declared): schemes, noise multipliers and the "
                "number of rounds were decided without looking at outputs; adaptive: anything "
                "else");
  AddReal(app, "--relative-gap", relative_gap, kRelativeGap,
          "wanted width of the interval over its upper bound; default 1e-4");
}

bool QuestionFlags::HasSubject() const {
  return !run.GivenFlag().empty() || !events.empty() || !server.address.empty() || OnServer();
}

void QuestionFlags::CheckSubject() const {
  std::vector<std::string> given;
  if (!run.GivenFlag().empty()) given.push_back(run.GivenFlag());
  if (!events.empty()) given.push_back("--events");
  if (!ledgers.empty()) given.push_back("--ledger");
  if (!dataset.empty()) given.push_back("--dataset");
  if (!OnServer() && !server.address.empty()) given.push_back("--server");
  if (given.empty()) {
    throw CLI::ValidationError(
        "--noise-multiplier",
        "a question needs a run: give --noise-multiplier, --steps and --sampling-probability, or "
        "--events FILE, or --server HOST:PORT with --ledger NAME or --dataset NAME");
  }
  if (given.size() > 1) {
    throw CLI::ValidationError(given[0], absl::StrCat("must not be given with ", given[1],
                                                      ": a question is about one or the other"));
  }
  if (given[0] == "--events") return;
  if (OnServer() || given[0] == "--server") {
    RequireWith("--server", "--ledger", OnServer());
    CheckServer(server);
    return;
  }
  RequireWith(given[0], "--noise-multiplier", run.noise_multiplier > 0);
  RequireWith(given[0], "--steps", run.steps > 0);
}

std::string QuestionFlags::LocalText() const {
  return events.empty()             ? run.ToText()
         : events == kStandardInput ? "standard input"
                                    : std::filesystem::path(events).filename().string();
}

absl::StatusOr<accountant::Subject> QuestionFlags::LocalSubject() const {
  return events.empty() ? run.Subject() : SubjectOfFile(events);
}

v1::AccountingOptions QuestionFlags::Options() const {
  v1::AccountingOptions options = method.Options();
  options.set_parameters(parameters);
  options.set_relative_gap(relative_gap);
  return options;
}

}  // namespace dpledger::cli
