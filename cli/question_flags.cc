#include "cli/question_flags.h"

#include "cli/event_file.h"

namespace dpledger::cli {

void MethodFlags::AddTo(CLI::App& app) {
  AddChoice<v1::Method>(app, "--method", method,
                        {{"best", v1::BEST},
                         {"rdp", v1::RDP},
                         {"pld", v1::PLD},
                         {"contour", v1::CONTOUR},
                         {"gaussian", v1::GAUSSIAN_CLOSED_FORM}},
                        "best (default), rdp, pld, contour or gaussian");
  AddAdjacency(app, adjacency,
               "add-or-remove-one (default where nothing is declared), replace-one or zero-out");
}

void QuestionFlags::AddTo(CLI::App& app) {
  app.add_option("--events", events,
                 "an event file: one event in proto JSON a line; - is standard input")
      ->type_name("FILE");
  AddServer(app, server);
  AddLedgerNames(app, "--ledger", ledgers,
                 "a ledger on the server; may repeat: the ledgers are composed");
  method.AddTo(app);
  AddParameters(app, parameters,
                "fixed (default where nothing is declared): schemes, noise multipliers and the "
                "number of rounds were decided without looking at outputs; adaptive: anything "
                "else");
  AddReal(app, "--relative-gap", relative_gap, kRelativeGap,
          "wanted width of the interval over its upper bound; default 1e-4");
  AddCount(app, "--group-size", group_size, 1,
           "neighbours differ in up to so many records (user-level privacy); default 1");
}

void QuestionFlags::CheckSubject() const {
  const bool whole_server = !server.empty() && !ledgers.empty();
  const bool any_server = !server.empty() || !ledgers.empty();
  if (events.empty() ? !whole_server : any_server) {
    throw CLI::ValidationError("--events",
                               "give --events FILE, or --server HOST:PORT with --ledger NAME");
  }
}

v1::AccountingOptions QuestionFlags::Options() const {
  v1::AccountingOptions options;
  options.set_method(method.method);
  options.set_adjacency(method.adjacency);
  options.set_parameters(parameters);
  options.set_relative_gap(relative_gap);
  options.set_group_size(group_size);
  return options;
}

absl::StatusOr<accountant::Subject> SubjectOfFile(const std::string& path) {
  ASSIGN_OR_RETURN(EventFile file, ReadEventFile(path));
  accountant::Subject subject;
  subject.entries = file.events.size();
  subject.history = std::move(file.history);
  return subject;
}

}  // namespace dpledger::cli
