// The registry's entries, as whoever follows it takes them, and the state that a follower keeps.
#include "dpledger/v1/stored.pb.h"
#include "ledger/batch_row.h"
#include "registry/registry_log.h"
#include "tests/fuzz/target.h"

namespace dpledger::fuzz {
namespace {

// Entries, each behind its length.
void TakeEntries(std::string_view input) {
  const auto entries = DecodeBatchRow(input);
  if (!entries.has_value()) return;
  registry::RegistryLog log("registry.example");
  for (const std::string_view entry : *entries) {
    if (!log.Take(entry).ok()) return;
    auto parsed = registry::ParseRegistryEntry(entry);
    FUZZ_CHECK(parsed.ok() && parsed->sequence() + 1 == log.size());
    parsed->DiscardUnknownFields();
    FUZZ_CHECK(parsed->SerializeAsString() == entry);
  }
  const merkle::Hash root = log.map().Root();
  FUZZ_CHECK(log.map().size() == log.ledgers().size());
  const v1::RegistryState state = log.ToState();
  auto again = registry::RegistryLog::FromState(state);
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK(again->ToState().SerializeAsString() == state.SerializeAsString());
  FUZZ_CHECK(again->map().Root() == root);
}

void TakeState(std::string_view input) {
  v1::RegistryState state;
  if (!state.ParseFromArray(input.data(), static_cast<int>(input.size()))) return;
  auto log = registry::RegistryLog::FromState(state);
  if (!log.ok()) return;
  (void)log->map().Root();
  (void)log->Take(input);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  KeepProtobufQuiet();
  std::string_view input = Text(data, size);
  if (TakeChoice(input) % 2 == 0) {
    TakeEntries(input);
  } else {
    TakeState(input);
  }
  return 0;
}

}  // namespace dpledger::fuzz
