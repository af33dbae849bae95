// A ledger's entries as an auditor checks them, one after the other: the input is a stored row, in
// which each entry stands behind its length. The checks read the bytes without building a message;
// whatever they accept, a reader that builds one must read the same from it. What is in an event,
// the accountant judges: it may not even parse.
#include "base/plain_name.h"
#include "dpledger/v1/ledger.pb.h"
#include "ledger/batch_row.h"
#include "ledger/request_rules.h"
#include "ledger_store/bundle/entry_frame.h"
#include "ledger_store/bundle/ledger_rules.h"
#include "tests/fuzz/target.h"

namespace dpledger::fuzz {
namespace {

void CheckReadAlike(std::string_view entry) {
  const auto frame = bundle::ParseEntryFrame(entry);
  FUZZ_CHECK(frame.ok());
  v1::LedgerEntry parsed;
  const bool parses = parsed.ParseFromArray(entry.data(), static_cast<int>(entry.size()));
  const bool has_event =
      frame->body == v1::LedgerEntry::kEvent || frame->body == v1::LedgerEntry::kLateEvent;
  const bool copied = frame->body == v1::LedgerEntry::kImported;
  FUZZ_CHECK(parses || has_event);
  if (!parses) return;
  FUZZ_CHECK(parsed.sequence() == frame->sequence);
  FUZZ_CHECK(parsed.writer() == frame->writer);
  FUZZ_CHECK(parsed.writer_counter() == frame->writer_counter);
  FUZZ_CHECK(parsed.request_id() == frame->request_id);
  FUZZ_CHECK(parsed.recorded_time().seconds() == frame->recorded_seconds);
  FUZZ_CHECK(parsed.caller() == frame->caller);
  FUZZ_CHECK(frame->caller.empty() || IsPlainName(frame->caller));
  FUZZ_CHECK(parsed.body_case() == frame->body);
  if (!has_event) parsed.DiscardUnknownFields();
  const bool event_well_spelled = frame->body == v1::LedgerEntry::kEvent &&
                                  SerializeDeterministically(parsed.event()) == frame->body_bytes;
  FUZZ_CHECK((has_event && !event_well_spelled) || SerializeDeterministically(parsed) == entry);
  if (copied) CheckReadAlike(parsed.imported().entry());
  if (frame->body != v1::LedgerEntry::kEvent) return;
  const auto round = bundle::ParseEventRound(frame->body_bytes);
  FUZZ_CHECK(round.ok());
  const v1::Event& event = parsed.event();
  FUZZ_CHECK(round->has_value() == (event.has_sampling() || event.has_sum_query()));
  if (!round->has_value()) return;
  FUZZ_CHECK((*round)->sampling == event.has_sampling());
  FUZZ_CHECK((*round)->round ==
             (event.has_sampling() ? event.sampling().round() : event.sum_query().round()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  KeepProtobufQuiet();
  const auto entries = DecodeBatchRow(Text(data, size));
  if (!entries.has_value()) return 0;
  uint64_t seen = 0;
  const bundle::EntrySink sink = [&seen](std::string_view) {
    ++seen;
    return absl::OkStatus();
  };
  bundle::LedgerRules rules(&sink);
  uint64_t accepted = 0;
  for (const std::string_view entry : *entries) {
    if (!rules.Add(entry).ok()) break;
    ++accepted;
    CheckReadAlike(entry);
  }
  FUZZ_CHECK(rules.size() == accepted && seen <= accepted);
  if (accepted == 0) return 0;
  (void)rules.declaration();
  (void)rules.complete();
  (void)rules.writers();
  (void)rules.source().size();
  return 0;
}

}  // namespace dpledger::fuzz
