// dpledger-certify: proves or refutes an answer about events.
#include <google/protobuf/util/json_util.h>

#include <cmath>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/status.h"
#include "base/value_rules.h"
#include "certify/history.h"
#include "certify/json_fields.h"
#include "certify/verify.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "flags/app.h"
#include "flags/mistyped.h"

namespace dpledger::certify {
namespace {

enum Exit { kBothProved = 0, kNotProved = 1, kBadInput = 2, kNotCovered = 3 };
constexpr int kTurns = 3;  // of enclosing a loss, each finer

constexpr char kDescription[] =
    R"(Proves an answer about privacy loss, or refutes it, in ball arithmetic.

Examples:
  dpledger epsilon --delta 1e-5 --events run.jsonl --json > answer.json
  dpledger-certify answer.json --events run.jsonl
  dpledger-certify --events run.jsonl --delta 1e-5 --lower 1.99248 --upper 1.99249)";

constexpr char kFooter[] = R"(
It shares no code with the accountant that answered. Exit codes: 0 both ends are proved, 1 an end is
refuted or could not be proved, 2 bad input, 3 an event that it does not cover.)";

const std::map<std::string, v1::Adjacency> kAdjacencies = {
    {"add-or-remove-one", v1::ADD_OR_REMOVE_ONE},
    {"replace-one", v1::REPLACE_ONE},
    {"zero-out", v1::ZERO_OUT}};

struct Question {
  Claim claim;
  Neighbours neighbours;
  std::optional<uint64_t> lines;  // that the answer stands on
};

struct Flags {
  std::string answer, events, adjacency = "add-or-remove-one";
  std::optional<double> delta, epsilon, lower, upper;
  uint64_t group_size = 1;
  bool json = false;
};

absl::StatusOr<std::string> Content(const char* flag, const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  absl::StatusOr<std::string> content = ReadFile(path);
  if (!content.ok()) return FieldError(flag, std::string(content.status().message()));
  return content;
}

absl::Status CheckClaim(const Claim& claim) {
  const bool epsilon = claim.about == Claim::About::kEpsilon;
  RETURN_IF_ERROR(epsilon ? rules::Must(claim.given >= 0 && claim.given < 1, "be in [0, 1)",
                                        "delta", claim.given)
                          : rules::NonNegative("epsilon", claim.given));
  RETURN_IF_ERROR(epsilon ? rules::NonNegativeOrInfinite("lower", claim.lower)
                          : rules::Probability("lower", claim.lower));
  RETURN_IF_ERROR(epsilon ? rules::NonNegativeOrInfinite("upper", claim.upper)
                          : rules::Probability("upper", claim.upper));
  return rules::Must(claim.lower <= claim.upper, "be at most upper", "lower", claim.lower);
}

template <typename Message>
bool Parsed(const std::string& json, Message& message) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // of a later version
  return google::protobuf::util::JsonStringToMessage(json, &message, options).ok();
}

absl::StatusOr<Question> FromAnswer(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, Content("ANSWER", path));
  RETURN_IF_ERROR(rules::Within(path, CheckFieldsOnce(text)));
  Question question;
  v1::AnswerDetails details;
  const auto take = [&](Claim::About about, double given, const v1::Interval& ends,
                        const v1::AnswerDetails& of) {
    question.claim = {about, given, ends.lower(), ends.upper(), {}};
    details = of;
  };
  v1::ComputeEpsilonResponse epsilon;
  v1::ComputeDeltaResponse delta;
  v1::ComputeTuningCostResponse tuning;
  if (Parsed(text, tuning) && tuning.has_trials()) {
    take(Claim::About::kEpsilon, tuning.delta(), tuning.epsilon(), tuning.details());
    ASSIGN_OR_RETURN(question.claim.trials, TrialsOf(tuning.trials()));
  } else if (Parsed(text, epsilon) && epsilon.has_epsilon()) {
    take(Claim::About::kEpsilon, epsilon.delta(), epsilon.epsilon(), epsilon.details());
  } else if (Parsed(text, delta) && delta.has_delta()) {
    take(Claim::About::kDelta, delta.epsilon(), delta.delta(), delta.details());
  } else {
    return FieldError(path, "must be an answer on epsilon, on delta or on tuning in proto JSON");
  }
  if (details.regime() != v1::FIXED_PLAN || details.parameters() != v1::FIXED) {
    return absl::UnimplementedError(
        "details.regime: only FIXED_PLAN is covered by this checker, of FIXED parameters");
  }
  question.neighbours = {details.adjacency(), std::max<uint64_t>(1, details.group_size())};
  if (details.ledgers_size() > 1)
    return absl::UnimplementedError("details.ledgers: only one ledger is covered by this checker");
  question.lines = details.entries();
  if (!v1::Adjacency_IsValid(details.adjacency()) || details.adjacency() == 0)
    return FieldError("details.adjacency", "must be stated");
  return question;
}

absl::StatusOr<Question> FromFlags(const Flags& flags) {
  if (flags.delta.has_value() == flags.epsilon.has_value())
    return FieldError("--delta", "must be given, or --epsilon, where no answer's file is");
  if (!flags.lower || !flags.upper)
    return FieldError("--lower and --upper", "must be given where no answer's file is");
  Question question;
  question.claim = {flags.delta ? Claim::About::kEpsilon : Claim::About::kDelta,
                    flags.delta ? *flags.delta : *flags.epsilon,
                    *flags.lower,
                    *flags.upper,
                    {}};
  question.neighbours = {kAdjacencies.at(flags.adjacency), flags.group_size};
  return question;
}

void Print(const char* end, const Finding& finding, bool json) {
  constexpr const char* kNames[] = {"proved", "refuted", "open"};
  const std::string name = kNames[static_cast<size_t>(finding.verdict)];
  if (json) {
    std::cout << "\"" << end << "\":{\"verdict\":\"" << name
              << "\",\"statement\":" << JsonString(finding.words) << "}";
  } else {
    std::cout << end << "  " << (finding.verdict == Verdict::kProved ? "" : "NOT proved, ") << name
              << ": " << finding.words << std::endl;
  }
}

absl::StatusOr<Exit> Run(const Flags& flags) {
  ASSIGN_OR_RETURN(const Question question,
                   flags.answer.empty() ? FromFlags(flags) : FromAnswer(flags.answer));
  RETURN_IF_ERROR(CheckClaim(question.claim));
  RETURN_IF_ERROR(rules::WholeIn(1, 1024, "group_size", question.neighbours.group_size));
  ASSIGN_OR_RETURN(const std::string events, Content("--events", flags.events));
  Finding upper, lower;
  bool finer = true;
  for (int turn = 0; finer && turn < kTurns; ++turn) {
    const Claim& claim = question.claim;
    ASSIGN_OR_RETURN(const Claimed history,
                     ReadHistory(events, question.neighbours, claim.ClosenessAt(turn)));
    if (question.lines.has_value() && *question.lines != history.lines) {
      return FieldError("details.entries", absl::StrCat("must be as many as --events holds, ",
                                                        history.lines, ", got ", *question.lines));
    }
    if (upper.verdict == Verdict::kOpen) upper = CheckUpper(history, claim);
    if (lower.verdict == Verdict::kOpen) lower = CheckLower(history, claim);
    const bool open = upper.verdict == Verdict::kOpen || lower.verdict == Verdict::kOpen;
    finer = open && history.close && !history.reached;
  }
  if (flags.json) std::cout << "{";
  Print("upper", upper, flags.json);
  if (flags.json) std::cout << ",";
  Print("lower", lower, flags.json);
  if (flags.json) std::cout << "}" << std::endl;
  const bool both = upper.verdict == Verdict::kProved && lower.verdict == Verdict::kProved;
  return both ? kBothProved : kNotProved;
}

int Main(int argc, char** argv) {
  Flags flags;
  flags::App app(kDescription, "dpledger-certify");
  app.footer(kFooter);
  app.set_version_flag("--version", DPLEDGER_VERSION);
  auto* answer = app.add_option("ANSWER", flags.answer,
                                "What `dpledger epsilon --json`, `dpledger delta --json` or the "
                                "HTTP API printed; - is standard input");
  app.add_option("--events", flags.events,
                 "The events that were asked about, one in proto JSON a line, or all entries of a "
                 "ledger, as `dpledger ledger read` prints them; - is standard input")
      ->required()
      ->type_name("FILE");
  const auto number = [&](const char* flag, std::optional<double>& value, const char* help) {
    app.add_option(flag, value, help)->type_name("NUMBER")->excludes(answer);
  };
  number("--delta", flags.delta, "Without an answer's file: the ends are of epsilon at this delta");
  number("--epsilon", flags.epsilon, "or of delta at this epsilon");
  number("--lower", flags.lower, "The lower end");
  number("--upper", flags.upper, "The upper end");
  app.add_option("--adjacency", flags.adjacency, "Neighbouring data sets")
      ->check(flags::IsMember(kAdjacencies))
      ->capture_default_str()
      ->excludes(answer);
  app.add_option("--group-size", flags.group_size, "Neighbours differ in up to so many records")
      ->excludes(answer);
  app.add_flag("--json", flags.json, "Print one JSON object");
  try {
    app.parse(argc, argv);
  } catch (const flags::ParseError& error) {
    // A mistyped flag is also a missing one.
    const std::string mistyped = flags::Mistyped(app);
    if (mistyped.empty()) return app.exit(error) == 0 ? 0 : kBadInput;
    std::cerr << mistyped << "\n";
    return kBadInput;
  }
  absl::StatusOr<Exit> done = Run(flags);
  // A verdict that nobody got is none.
  if (done.ok() && !std::cout.flush()) done = FieldError("stdout", "not all was written");
  if (done.ok()) return *done;
  std::cerr << FromAbsl(done.status().message()) << "\n";
  return absl::IsUnimplemented(done.status()) ? kNotCovered : kBadInput;
}

}  // namespace
}  // namespace dpledger::certify

int main(int argc, char** argv) { return dpledger::certify::Main(argc, argv); }
