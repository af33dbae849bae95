// A number in a list of events that is to be found: a path to one field, and the events with any
// value there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/mechanism/history.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::accountant {

class Hole {
 public:
  // `path` as errors spell fields, "events[2].rounds.queries[0].noise_stddev", in proto or JSON
  // names. INVALID_ARGUMENT naming `hole` or the event's field: no such field, not a number, or a
  // bad event around it.
  static absl::StatusOr<Hole> At(const std::string& path, std::vector<v1::Event> events);

  // The events with x there, as the history of one writer.
  absl::StatusOr<History> Fill(double x) const;

  double unit() const { return unit_; }  // of whole numbers: x is a multiple of it; else 0
  double least() const { return least_; }
  double greatest() const { return greatest_; }
  double start() const { return start_; }  // what stands there now, moved into the domain

 private:
  struct Part {
    const google::protobuf::FieldDescriptor* field;
    int index;  // -1 for a field that does not repeat
  };

  std::vector<Event> events_;  // but for the one with the hole
  int event_ = 0;              // its place
  v1::Event message_;
  std::vector<Part> path_;  // within it
  double unit_ = 0, least_ = 0, greatest_ = 0, start_ = 1;
};

}  // namespace dpledger::accountant
