// One unknown number in a list of events, for calibration: a path to its field, and the events with
// any value filled in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/mechanism/history.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::questions {

class Hole {
 public:
  // `path` names the field as errors do, "events[2].rounds.queries[0].noise_stddev", in proto or
  // JSON names. INVALID_ARGUMENT, naming `hole` or the event's field, if there is no such field, if
  // it is not a number, or if the event is invalid.
  static absl::StatusOr<Hole> At(const std::string& path, std::vector<v1::Event> events);

  // The events with x in the hole, as the history of one writer.
  absl::StatusOr<accountant::History> Fill(double x) const;

  // What x may be by the event's own rules, as far as that is one interval.
  double unit() const { return unit_; }  // x is a multiple of it, for a whole number; else 0
  double least() const { return least_; }
  double greatest() const { return greatest_; }
  double start() const { return start_; }  // the field's present value, moved into the domain

 private:
  // With the values alone that the event's rules allow.
  Hole WithinItsRules() &&;
  // The last value from `start_`, which is valid, towards `end` with which the event is valid.
  double LastValid(double end) const;

  struct Part {
    const google::protobuf::FieldDescriptor* field;
    int index;  // -1 for a field that does not repeat
  };

  std::vector<accountant::Event> events_;  // all but the one with the hole
  int event_ = 0;                          // the index of the one with the hole
  v1::Event message_;
  std::vector<Part> path_;  // of the hole, within message_
  double unit_ = 0, least_ = 0, greatest_ = 0, start_ = 1;
};

}  // namespace dpledger::questions
