#include "ledger/batch_draft.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "google/protobuf/io/coded_stream.h"
#include "ledger/request_rules.h"

namespace dpledger {
namespace {

using google::protobuf::io::CodedInputStream;

BatchDraft::Entry ReadEntry(const v1::NewEntry& from) {
  BatchDraft::Entry entry;
  entry.body = from.body_case();
  if (from.has_claimed_time()) {
    const absl::Time claimed = absl::FromUnixSeconds(from.claimed_time().seconds());
    entry.claimed_seconds = absl::ToUnixSeconds(CutToMinute(claimed));
  }
  if (from.has_event()) {
    const events::RoundStep step = events::StepOf(from.event());
    entry.round = step.kind;
    if (step.kind != events::RoundStep::Kind::kNone) entry.number = step.round;
  } else if (from.has_writer_closed()) {
    entry.number = from.writer_closed().entry_count();
  } else if (from.has_correction()) {
    entry.number = from.correction().corrected_sequence();
  } else if (from.has_imported()) {
    v1::LedgerEntry original;
    if (original.ParseFromString(from.imported().entry())) entry.number = original.sequence();
  }
  return entry;
}

bool IsKept(const v1::NewEntry& entry) {
  const events::RoundStep step = events::StepOf(entry.event());
  return entry.has_opened() || entry.has_spool_imported() || step.epoch != nullptr ||
         step.fixed_bins != nullptr;
}

}  // namespace

BatchDraft::BatchDraft(v1::AppendBatchRequest request) {
  if (request.has_expected_sequence()) expected_sequence_ = request.expected_sequence();
  request.clear_expected_sequence();
  if (request.has_writer_position()) writer_position_ = request.writer_position();
  request.clear_writer_position();
  request.clear_signed_receipt();
  entries_.reserve(static_cast<size_t>(request.entries_size()));
  for (v1::NewEntry& entry : *request.mutable_entries()) {
    entries_.push_back(ReadEntry(entry));
    entry.clear_claimed_time();
    if (!IsKept(entry)) continue;
    entries_.back().kept = kept_.size();
    kept_.push_back(entry);
  }
  bytes_ = SerializeDeterministically(request);
  ledger_ = std::move(*request.mutable_ledger());
  writer_ = std::move(*request.mutable_writer());
  request_id_ = std::move(*request.mutable_request_id());
  incarnation_ = std::move(*request.mutable_incarnation());

  // Of an entry nothing but its body is left: a tag of one byte, a length, and that many bytes.
  constexpr uint32_t kEntriesTag = v1::AppendBatchRequest::kEntriesFieldNumber << 3 | 2;
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes_.data()),
                      static_cast<int>(bytes_.size()));
  auto entry = entries_.begin();
  while (const uint32_t tag = in.ReadTag()) {
    uint32_t length = 0;
    in.ReadVarint32(&length);
    if (tag == kEntriesTag) {
      const size_t body_tag_bytes = length == 0 ? 0 : 1;
      entry->body_begin = static_cast<size_t>(in.CurrentPosition()) + body_tag_bytes;
      entry->body_bytes = length - body_tag_bytes;
      ++entry;
    }
    in.Skip(static_cast<int>(length));
  }
}

bool BatchDraft::is_late() const {
  const v1::NewEntry::BodyCase first = entries_.front().body;
  return first == v1::NewEntry::kLateEvent || first == v1::NewEntry::kSpoolImported;
}

// A writer that is opened without the server may have released already what follows its opening.
bool BatchDraft::tells_of_releases() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
    return entry.body == v1::NewEntry::kEvent || entry.body == v1::NewEntry::kOpened;
  });
}

merkle::Hash BatchDraft::Hash() const {
  return RequestHashOf(*v1::AppendBatchRequest::descriptor(), bytes_);
}

}  // namespace dpledger
