#include "certify/history.h"

#include <google/protobuf/util/json_util.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "base/value_rules.h"
#include "certify/json_fields.h"
#include "certify/steps.h"
#include "dpledger/v1/event.pb.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::certify {
namespace {

constexpr slong kExactBits = 512;
constexpr uint64_t kGreatestRound = (uint64_t{1} << 53) - 1;
using rules::Within;

class Reader {
 public:
  Reader(const Neighbours& neighbours, const Closeness& closeness)
      : to_(neighbours), steps_(neighbours, closeness) {}

  absl::Status Read(const v1::Event& event) {
    ++lines_;
    return ReadEvent(event, RoundOf(""));
  }
  // Of a ledger, from the first one on: an answer about it stands on all of them.
  absl::Status Read(const v1::LedgerEntry& entry) {
    if (entry.sequence() != lines_)
      return FieldError("sequence", absl::StrCat("must be ", lines_, ": each entry, in order"));
    if ((lines_++ == 0) != entry.has_declaration() && !entry.has_fork() && !entry.has_import())
      return FieldError("declaration", "must be the first entry, and no other");
    switch (entry.body_case()) {
      case v1::LedgerEntry::kEvent:
        return Within("event", ReadEvent(entry.event(), RoundOf(entry.writer())));
      case v1::LedgerEntry::kOpened:
        if (entry.opened().carries_epochs()) return Unknown("an epoch that a writer carries on");
        return Begin(RoundOf(entry.writer()));
      case v1::LedgerEntry::kResume:  // the writer's rounds begin anew
        return Begin(RoundOf(entry.writer()));
      case v1::LedgerEntry::kDeclaration:
        return Within("declaration", CheckDeclared(entry.declaration()));
      case v1::LedgerEntry::kNote:
      case v1::LedgerEntry::kCorrection:
      case v1::LedgerEntry::kWriterClosed:
      case v1::LedgerEntry::kForkNotice:
      case v1::LedgerEntry::kGranted:
      case v1::LedgerEntry::kSeal:
        return absl::OkStatus();
      default:  // what it stands on is elsewhere, or came late, or may be missing
        return Unknown("a fork, a copy, or a ledger with late entries or conflicts");
    }
  }
  absl::StatusOr<Claimed> Finish() {
    if (!released_) return FieldError("--events", "must hold an event");
    for (auto& [writer, round] : rounds_) RETURN_IF_ERROR(Close(round));
    ASSIGN_OR_RETURN(Claimed claimed, steps_.Take());
    claimed.lines = lines_;
    return claimed;
  }

 private:
  // A writer's round that is open, if any was.
  struct Round {
    std::optional<uint64_t> number;
    Steps::Sampling sampling;
    Ball square = 0.0;
    std::string writer;
    uint64_t begun = 0;  // the entry with which its rounds began anew
  };

  Round& RoundOf(const std::string& writer) {
    return rounds_.try_emplace(writer, Round{{}, {}, 0.0, writer}).first->second;
  }
  absl::Status Begin(Round& round) {
    round.number.reset();
    round.begun = lines_;
    return Close(round);
  }
  absl::Status CheckDeclared(const v1::Declaration& declaration) const {
    if (declaration.parameters() != v1::FIXED)
      return Unknown("a ledger whose parameters are not FIXED");
    if (declaration.adjacency() == to_.adjacency) return absl::OkStatus();
    return FieldError("adjacency",
                      absl::StrCat("is ", v1::Adjacency_Name(declaration.adjacency()),
                                   ", and the question's is ", v1::Adjacency_Name(to_.adjacency)));
  }
  absl::StatusOr<Steps::Sampling> SamplingOf(const v1::SamplingScheme& scheme,
                                             const Round& round) const {
    ASSIGN_OR_RETURN(Steps::Sampling sampling, steps_.SamplingOf(scheme));
    sampling.writer = round.writer;
    sampling.incarnation = absl::StrCat(round.begun, " ", round.writer);
    return sampling;
  }

  absl::Status ReadEvent(const v1::Event& event, Round& round) {
    released_ = true;
    switch (event.kind_case()) {
      case v1::Event::kSampling:
        return Within("sampling", Open(event.sampling(), round));
      case v1::Event::kSumQuery:
        return Within("sum_query", Release(event.sum_query(), round));
      case v1::Event::kRounds:
        return Within("rounds", Rounds(event.rounds(), round));
      case v1::Event::kMechanism:
        return Within("mechanism", steps_.Mechanism(event.mechanism()));
      case v1::Event::KIND_NOT_SET:
        break;
    }
    return FieldError("kind", "must be set");
  }

  absl::Status Open(const v1::SamplingEvent& event, Round& round) {
    if (round.number.has_value() && event.round() <= *round.number)
      return FieldError("round", "must be above the last one: events of one writer, in order");
    RETURN_IF_ERROR(rules::WholeIn(0, kGreatestRound, "round", event.round()));
    RETURN_IF_ERROR(Close(round));
    ASSIGN_OR_RETURN(round.sampling, SamplingOf(event.scheme(), round));
    round.number = event.round();
    return absl::OkStatus();
  }
  absl::Status Release(const v1::SumQueryEvent& event, Round& round) {
    if (round.number.has_value() && event.round() < *round.number)
      return FieldError("round", "must not be below the last one: events of one writer, in order");
    RETURN_IF_ERROR(rules::WholeIn(0, kGreatestRound, "round", event.round()));
    if (round.number != event.round()) RETURN_IF_ERROR(Close(round));
    round.number = event.round();
    ASSIGN_OR_RETURN(const Ball square, Within("query", steps_.Square(event.query())));
    round.square = round.square + square;
    return absl::OkStatus();
  }
  absl::Status Close(Round& round) {
    const Ball square = std::exchange(round.square, 0.0);
    const Steps::Sampling sampling = std::exchange(round.sampling, {});
    // A round that released nothing still has its place in its epoch.
    if (!CertainlyPositive(square) && !sampling.of_epoch()) return absl::OkStatus();
    return steps_.AddRound(square, sampling);
  }
  absl::Status Rounds(const v1::RoundsEvent& event, const Round& round) {
    RETURN_IF_ERROR(rules::Count("count", event.count()));
    RETURN_IF_ERROR(rules::NotEmpty("queries", event.queries_size()));
    ASSIGN_OR_RETURN(const Steps::Sampling sampling, SamplingOf(event.scheme(), round));
    Ball square = 0.0;
    for (int i = 0; i < event.queries_size(); ++i) {
      ASSIGN_OR_RETURN(const Ball one,
                       Within(rules::Element("queries", i), steps_.Square(event.queries(i))));
      square = square + one;
    }
    return steps_.AddRounds(square, sampling, static_cast<double>(event.count()));
  }

  const Neighbours to_;
  Steps steps_;
  uint64_t lines_ = 0;
  bool released_ = false;                // an event was read
  std::map<std::string, Round> rounds_;  // by writer; events alone have none
};

}  // namespace

absl::StatusOr<Claimed> ReadHistory(std::string_view lines, const Neighbours& neighbours,
                                    const Closeness& closeness) {
  const Bits exact(kExactBits);
  Reader reader(neighbours, closeness);
  int number = 0;
  std::optional<bool> is_ledger;
  const auto parse = [](absl::string_view line, google::protobuf::Message& message) {
    return google::protobuf::util::JsonStringToMessage(
        google::protobuf::StringPiece(line.data(), line.size()), &message);
  };
  for (const absl::string_view line : absl::StrSplit(ToAbsl(lines), '\n')) {
    ++number;
    if (line.find_first_not_of(" \t\r") == absl::string_view::npos) continue;
    const std::string where = absl::StrCat("line ", number);
    v1::Event event;
    v1::LedgerEntry entry;
    // The first line says which of them all are.
    if (!is_ledger.has_value()) is_ledger = !parse(line, event).ok() && parse(line, entry).ok();
    const auto parsed = *is_ledger ? parse(line, entry) : parse(line, event);
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": no ", *is_ledger ? "entry" : "event",
                       " in proto JSON: ", std::string(parsed.message())));
    }
    RETURN_IF_ERROR(Within(where, CheckFieldsOnce(FromAbsl(line))));
    RETURN_IF_ERROR(Within(where, *is_ledger ? reader.Read(entry) : reader.Read(event)));
  }
  return reader.Finish();
}

}  // namespace dpledger::certify
