#include "events/grant_rules.h"

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "events/event_values.h"
#include "events/field_checks.h"

namespace dpledger::events {
namespace {

constexpr int kMostEvents = 64, kMostRanges = 64;

}  // namespace

absl::Status CheckPlan(const google::protobuf::RepeatedPtrField<v1::Event>& plan) {
  RETURN_IF_ERROR(
      Must(plan.size() <= kMostEvents, "have at most 64 elements", "plan", plan.size()));
  for (int i = 0; i < plan.size(); ++i) {
    const v1::Event& event = plan.Get(i);
    absl::Status checked = CheckEvent(event);
    if (checked.ok() && !event.has_rounds() && !event.has_mechanism()) {
      checked = FieldError("kind", "must be rounds or mechanism: a plan has no single rounds");
    }
    if (!checked.ok()) return Within(Element("plan", i), checked);
  }
  return absl::OkStatus();
}

absl::Status CheckBlocks(const google::protobuf::RepeatedPtrField<v1::BlockRange>& blocks) {
  RETURN_IF_ERROR(
      Must(blocks.size() <= kMostRanges, "have at most 64 elements", "blocks", blocks.size()));
  uint64_t least = 1;
  for (int i = 0; i < blocks.size(); ++i) {
    const std::string element = Element("blocks", i);
    const v1::BlockRange& range = blocks.Get(i);
    RETURN_IF_ERROR(WholeIn(least, kMostBlocks, absl::StrCat(element, ".first"), range.first()));
    RETURN_IF_ERROR(
        WholeIn(range.first(), kMostBlocks, absl::StrCat(element, ".last"), range.last()));
    least = uint64_t{range.last()} + 2;
  }
  return absl::OkStatus();
}

google::protobuf::RepeatedPtrField<v1::BlockRange> UnionOf(
    const google::protobuf::RepeatedPtrField<v1::BlockRange>& one,
    const google::protobuf::RepeatedPtrField<v1::BlockRange>& other) {
  std::vector<v1::BlockRange> ranges(one.begin(), one.end());
  ranges.insert(ranges.end(), other.begin(), other.end());
  std::sort(ranges.begin(), ranges.end(),
            [](const v1::BlockRange& a, const v1::BlockRange& b) { return a.first() < b.first(); });
  google::protobuf::RepeatedPtrField<v1::BlockRange> all;
  for (const v1::BlockRange& range : ranges) {
    v1::BlockRange* last = all.empty() ? nullptr : all.Mutable(all.size() - 1);
    if (last == nullptr || range.first() > last->last() + 1) {
      *all.Add() = range;
    } else {
      last->set_last(std::max(last->last(), range.last()));
    }
  }
  return all;
}

absl::StatusOr<google::protobuf::RepeatedPtrField<v1::BlockRange>> BlocksFromText(
    const std::string& text) {
  google::protobuf::RepeatedPtrField<v1::BlockRange> blocks;
  if (text.empty()) return blocks;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(text, ','))) {
    const std::vector<std::string> ends = absl::StrSplit(part, absl::MaxSplits('-', 1));
    uint64_t first = 0, last = 0;
    if (!absl::SimpleAtoi(ends[0], &first) || !absl::SimpleAtoi(ends.back(), &last)) {
      return FieldError("blocks", "must be numbers and ranges, like 1-12,14");
    }
    blocks.Add()->set_first(first);
    blocks.rbegin()->set_last(last);
  }
  RETURN_IF_ERROR(CheckBlocks(blocks));
  return blocks;
}

std::string BlocksText(const google::protobuf::RepeatedPtrField<v1::BlockRange>& blocks) {
  return absl::StrJoin(blocks, ",", [](std::string* out, const v1::BlockRange& range) {
    absl::StrAppend(out, range.first());
    if (range.last() != range.first()) absl::StrAppend(out, "-", range.last());
  });
}

const char* NotOfBudget(const v1::Declaration& budget, const v1::Declaration& run) {
  if (run.dataset() != budget.dataset()) return "dataset";
  if (run.unit_of_privacy() != budget.unit_of_privacy()) return "unit_of_privacy";
  if (run.adjacency() != budget.adjacency()) return "adjacency";
  // A filter is numbers: without maps, one message has one spelling in one program.
  if (run.filter().SerializeAsString() != budget.filter().SerializeAsString()) return "filter";
  if (run.blocks_size() > 0 && budget.block_assignment().empty()) return "blocks";
  return nullptr;
}

}  // namespace dpledger::events
