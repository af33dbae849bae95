// Lines of event files. What is accepted says the same when it is written and read again, and every
// check and conversion of it ends.
#include "events/event_json.h"

#include "events/event_values.h"
#include "google/protobuf/util/json_util.h"
#include "ledger/request_rules.h"
#include "tests/fuzz/target.h"

namespace dpledger::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  KeepProtobufQuiet();
  const auto event = events::EventFromJson(Text(data, size));
  if (!event.ok()) return 0;
  const absl::Status checked = events::CheckEvent(*event);
  const auto converted = events::ValueOf(*event);
  if (!checked.ok()) return 0;
  FUZZ_CHECK(converted.ok());
  std::string line;
  FUZZ_CHECK(google::protobuf::util::MessageToJsonString(*event, &line).ok());
  const auto again = events::EventFromJson(line);
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK(SerializeDeterministically(*again) == SerializeDeterministically(*event));
  return 0;
}

}  // namespace dpledger::fuzz
