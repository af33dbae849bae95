#include "cli/question_flags.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "cli/event_file.h"
#include "questions/given_events.h"

namespace dpledger::cli {
namespace {

// Of a run whose last epoch is not whole.
constexpr uint64_t kMostSingleRounds = 100'000;

absl::StatusOr<questions::Subject> SubjectOfFile(const std::string& path) {
  ASSIGN_OR_RETURN(EventFile file, ReadEventFile(path));
  questions::Subject subject;
  subject.entries = file.events.size();
  subject.history = file.given.history();
  return subject;
}

void RequireWith(const std::string& given, const char* flag, bool present) {
  RefuseIf(!present, flag, absl::StrCat("must be given with ", given));
}

}  // namespace

void MethodFlags::AddTo(flags::App& app) {
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

std::string MethodFlags::GivenFlag() const {
  return method != v1::BEST                       ? "--method"
         : adjacency != v1::ADJACENCY_UNSPECIFIED ? "--adjacency"
         : group_size > 0                         ? "--group-size"
                                                  : "";
}

v1::AccountingOptions MethodFlags::Options() const {
  v1::AccountingOptions options;
  options.set_method(method);
  options.set_adjacency(adjacency);
  options.set_group_size(group_size);
  return options;
}

void RunFlags::AddTo(flags::App& app) {
  AddReal(app, "--noise-multiplier", noise_multiplier, kFinitePositive,
          "a run without a file: the noise of each step over its sensitivity, > 0");
  AddReal(app, "--sampling-probability", sampling_probability, kProbability,
          "the probability that a record is in a step (Poisson sampling), in (0, 1], also as "
          "256/60000; without it every record is in every step (full batch)");
  AddCount(app, "--steps", steps, 1, "the number of steps of that run, also as 1e4");
  AddCount(app, "--batch-size", batch_size, 1,
           "with --population: the expected size of a batch, in place of --sampling-probability");
  AddCount(app, "--population", population, 1, "records in the data set");
  AddReal(app, "--epochs", epochs, kFinitePositive,
          "with --batch-size: passes over the data, in place of --steps; a last part of a step is "
          "a whole one");
  AddChoice<Kind>(app, "--scheme", scheme,
                  {{"poisson", Kind::kPoisson},
                   {"full-batch", Kind::kFullBatch},
                   {"without-replacement", Kind::kWithoutReplacement},
                   {"fixed-size", Kind::kWithoutReplacement},
                   {"disjoint-batches", Kind::kDisjointBatches},
                   {"shuffled", Kind::kDisjointBatches},
                   {"random-allocation", Kind::kRandomAllocation},
                   {"allocated", Kind::kRandomAllocation}},
                  "how a batch is drawn; poisson where --batch-size or --sampling-probability is "
                  "given. disjoint-batches, or shuffled: shuffled epochs; random-allocation, or "
                  "allocated: each record in one random batch of an epoch; without-replacement, or "
                  "fixed-size: batches of exactly that size");
}

std::string RunFlags::GivenFlag() const {
  return noise_multiplier > 0           ? "--noise-multiplier"
         : steps > 0                    ? "--steps"
         : sampling_probability > 0     ? "--sampling-probability"
         : batch_size > 0               ? "--batch-size"
         : population > 0               ? "--population"
         : epochs > 0                   ? "--epochs"
         : scheme != Kind::KIND_NOT_SET ? "--scheme"
                                        : "";
}

void RunFlags::CheckWords() const {
  RefuseIf(batch_size > 0 && population == 0, "--population",
           "must be given with --batch-size: the records in the data set");
  RefuseIf(batch_size > population, "--batch-size",
           absl::StrCat("must be at most --population, ", population, ", got ", batch_size));
  RefuseIf(batch_size > 0 && sampling_probability > 0, "--sampling-probability",
           "must not be given with --batch-size, which says it");
  RefuseIf(epochs > 0 && steps > 0, "--epochs", "must not be given with --steps, which says it");
  RefuseIf(epochs > 0 && batch_size == 0 && scheme != Kind::kFullBatch, "--batch-size",
           "must be given with --epochs, and --population");
  RefuseIf(scheme == Kind::kFullBatch && (sampling_probability > 0 || batch_size > 0), "--scheme",
           "full-batch has every record in every step: leave --sampling-probability "
           "and --batch-size out");
  const bool of_batches = scheme == Kind::kWithoutReplacement || scheme == Kind::kDisjointBatches ||
                          scheme == Kind::kRandomAllocation;
  RefuseIf(of_batches && batch_size == 0, "--batch-size",
           "must be given with this --scheme, and --population");
  RefuseIf(scheme == Kind::kPoisson && sampling_probability == 0 && batch_size == 0,
           "--sampling-probability",
           "must be given with --scheme poisson, or --batch-size and --population");
}

void RunFlags::Check() const {
  CheckWords();
  RequireWith(GivenFlag(), "--noise-multiplier", noise_multiplier > 0);
  RequireWith(GivenFlag(), "--steps", steps > 0 || epochs > 0);
  RefuseIf(StepsOf() > uint64_t{1} << 53, "--epochs",
           absl::StrCat("must be at most 2^53 steps, got ", epochs));
  const uint64_t of = RoundsPerEpoch();
  RefuseIf(of > 0 && StepsOf() % of > kMostSingleRounds, "--steps",
           absl::StrCat("must be within ", kMostSingleRounds, " of whole epochs, each of ", of,
                        " steps, got ", StepsOf(), "; --steps ", WholeEpochs(),
                        ", which finishes the last one, costs no less"));
}

RunFlags::Kind RunFlags::SchemeOf() const {
  if (scheme != Kind::KIND_NOT_SET) return scheme;
  return sampling_probability > 0 || batch_size > 0 ? Kind::kPoisson : Kind::kFullBatch;
}

double RunFlags::ProbabilityOf() const {
  if (SchemeOf() == Kind::kFullBatch) return 1;
  return batch_size > 0 ? static_cast<double>(batch_size) / static_cast<double>(population)
                        : sampling_probability;
}

uint64_t RunFlags::RoundsPerEpoch() const {
  const bool has_epochs =
      SchemeOf() == Kind::kDisjointBatches || SchemeOf() == Kind::kRandomAllocation;
  return has_epochs ? (population + batch_size - 1) / batch_size : 0;
}

uint64_t RunFlags::WholeEpochs() const {
  const uint64_t of = std::max<uint64_t>(1, RoundsPerEpoch());
  return (StepsOf() + of - 1) / of * of;
}

uint64_t RunFlags::StepsOf() const {
  if (epochs == 0) return steps;
  double an_epoch = static_cast<double>(RoundsPerEpoch());
  if (SchemeOf() == Kind::kFullBatch) {
    an_epoch = 1;
  } else if (RoundsPerEpoch() == 0) {
    an_epoch = static_cast<double>(population) / static_cast<double>(batch_size);
  }
  return static_cast<uint64_t>(std::min(std::ceil(epochs * an_epoch), 0x1p60));
}

std::vector<std::string> RunFlags::Assumptions() const {
  std::vector<std::string> assumptions;
  if (SchemeOf() == Kind::kFullBatch && scheme == Kind::KIND_NOT_SET) {
    assumptions.push_back(
        "full batch: no --sampling-probability was given, so every record is in every step");
  }
  if (batch_size > 0 && SchemeOf() == Kind::kPoisson) {
    assumptions.push_back(absl::StrCat(
        "poisson: each of ", population, " records is in a step by itself, with probability ",
        batch_size, "/", population, "; batches of exactly ", batch_size,
        " records are --scheme without-replacement, shuffled ones disjoint-batches"));
  }
  if (epochs > 0 && batch_size > 0) {
    assumptions.push_back(absl::StrCat(epochs, " epochs are ", StepsOf(), " steps"));
  }
  return assumptions;
}

std::vector<v1::Event> RunFlags::Events() const {
  v1::SumQuery query;
  query.set_l2_norm_bound(1);
  query.set_noise_stddev(noise_multiplier);
  v1::SamplingScheme drawn;
  switch (SchemeOf()) {
    case Kind::kPoisson:
      drawn.mutable_poisson()->set_probability(ProbabilityOf());
      break;
    case Kind::kWithoutReplacement:
      drawn.mutable_without_replacement()->set_sample_size(batch_size);
      drawn.set_population_size(population);
      break;
    case Kind::kDisjointBatches:
      drawn.mutable_disjoint_batches()->set_batches_per_epoch(RoundsPerEpoch());
      drawn.set_population_size(population);
      break;
    case Kind::kRandomAllocation:
      drawn.mutable_random_allocation()->set_rounds_per_epoch(RoundsPerEpoch());
      drawn.set_population_size(population);
      break;
    default:
      drawn.mutable_full_batch();
  }
  const uint64_t of_epoch = RoundsPerEpoch();
  const uint64_t left = of_epoch == 0 ? 0 : StepsOf() % of_epoch;
  std::vector<v1::Event> events;
  if (StepsOf() > left) {
    v1::RoundsEvent& rounds = *events.emplace_back().mutable_rounds();
    *rounds.mutable_scheme() = drawn;
    rounds.set_count(StepsOf() - left);
    *rounds.add_queries() = query;
  }
  for (uint64_t round = 0; round < left; ++round) {
    v1::SamplingEvent& sampling = *events.emplace_back().mutable_sampling();
    sampling.set_round(round);
    *sampling.mutable_scheme() = drawn;
    const uint64_t epoch = StepsOf() / of_epoch;
    if (drawn.has_disjoint_batches()) {
      sampling.mutable_scheme()->mutable_disjoint_batches()->set_epoch(epoch);
    } else {
      sampling.mutable_scheme()->mutable_random_allocation()->set_epoch(epoch);
    }
    v1::SumQueryEvent& sum = *events.emplace_back().mutable_sum_query();
    sum.set_round(round);
    *sum.mutable_query() = query;
  }
  return events;
}

absl::StatusOr<questions::Subject> RunFlags::Subject() const {
  questions::GivenEvents given;
  for (const v1::Event& event : Events()) RETURN_IF_ERROR(given.Add(event));
  questions::Subject subject;
  subject.history = given.history();
  subject.assumptions = Assumptions();
  subject.entries = 1;
  return subject;
}

void QuestionFlags::AddTo(flags::App& app) {
  run.AddTo(app);
  AddPlain(app, "--events", events, "FILE",
           "an event file: one event in proto JSON a line; - is standard input. Beside ledgers "
           "an event file or a run is what may be done yet, and counts with them");
  place.AddTo(app);
  AddLedgerNames(app, "--ledger", ledgers,
                 "a ledger of that server or store; may repeat: the ledgers are composed");
  AddPlain(app, "--dataset", dataset, "NAME",
           "all ledgers over this data set, composed; of a --store with neither, all of them");
  method.AddTo(app);
  AddParameters(app, parameters,
                "fixed (default where nothing is declared): schemes, noise multipliers and the "
                "number of rounds were decided without looking at outputs; adaptive: anything "
                "else");
  AddReal(app, "--relative-gap", relative_gap, kRelativeGap,
          "wanted width of the interval over its upper bound; default 1e-4");
}

void QuestionFlags::AddAsPlanned(flags::App& app) {
  app.add_flag("--as-planned", as_planned,
               "what adaptive runs, and runs that nothing bounds together, would cost had they "
               "been one plan made without looking at outputs; no guarantee");
}

bool QuestionFlags::HasSubject() const {
  return !run.GivenFlag().empty() || !events.empty() || place.IsGiven() || OfLedgers();
}

void QuestionFlags::CheckSubject() const {
  const std::string of_run = run.GivenFlag();
  RefuseIf(
      of_run.empty() && events.empty() && !OfLedgers() && !place.IsGiven(), "--noise-multiplier",
      "a question needs a run: give --noise-multiplier, --steps and --sampling-probability, or "
      "--events FILE, or --store PATH, or --server HOST:PORT with --ledger NAME or --dataset "
      "NAME");
  RefuseIf(!of_run.empty() && !events.empty(), of_run, "must not be given with --events");
  RefuseIf(!ledgers.empty() && !dataset.empty(), "--ledger", "must not be given with --dataset");
  if (!of_run.empty()) run.Check();
  if (!OfLedgers() && !place.IsGiven()) return;
  place.Check();
  RequireWith("--server", "--ledger", OfLedgers());
}

absl::StatusOr<std::vector<v1::Event>> QuestionFlags::GivenEvents() const {
  if (!run.GivenFlag().empty()) return run.Events();
  if (events.empty()) return std::vector<v1::Event>();
  ASSIGN_OR_RETURN(EventFile file, ReadEventFile(events));
  return std::move(file.events);
}

absl::StatusOr<questions::Subject> QuestionFlags::LocalSubject() const {
  return events.empty() ? run.Subject() : SubjectOfFile(events);
}

absl::StatusOr<v1::Subject> QuestionFlags::LedgersOf(const ServerCalls& calls) const {
  v1::Subject subject;
  ASSIGN_OR_RETURN(const std::vector<v1::Event> given, GivenEvents());
  subject.mutable_events()->Assign(given.begin(), given.end());
  subject.mutable_ledgers()->Add(ledgers.begin(), ledgers.end());
  subject.set_dataset(dataset);
  if (!ledgers.empty() || !dataset.empty()) return subject;
  ASSIGN_OR_RETURN(const local::Reading open, calls.place());
  subject.mutable_ledgers()->Add(open.ledgers.begin(), open.ledgers.end());
  return subject;
}

v1::AccountingOptions QuestionFlags::Options() const {
  v1::AccountingOptions options = method.Options();
  options.set_parameters(parameters);
  options.set_relative_gap(relative_gap);
  options.set_as_planned(as_planned);
  return options;
}

}  // namespace dpledger::cli
