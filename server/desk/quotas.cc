#include "server/desk/quotas.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::server {
namespace {

constexpr absl::Duration kTryAgain = absl::Seconds(1);
constexpr double kMinute = 60;

}  // namespace

Quotas::Permit::~Permit() {
  absl::MutexLock lock(&quotas_.mutex_);
  Party& party = quotas_.parties_[party_];
  --party.permits;
  if (question_) --party.questions;
  if (stream_) --party.streams;
  party.bytes -= bytes_;
  quotas_.bytes_ -= bytes_;
  if (party.permits == 0 && party.seconds >= quotas_.options_.question_seconds) {
    quotas_.parties_.erase(party_);
  }
}

absl::Status Quotas::Permit::Hold(size_t bytes) {
  absl::MutexLock lock(&quotas_.mutex_);
  RETURN_IF_ERROR(quotas_.Take(quotas_.parties_[party_], bytes));
  bytes_ += bytes;
  return absl::OkStatus();
}

void Quotas::Permit::Charge(absl::Duration processor) {
  if (!question_ || quotas_.options_.question_seconds <= 0) return;
  absl::MutexLock lock(&quotas_.mutex_);
  Party& party = quotas_.Find(party_);
  party.seconds -= absl::ToDoubleSeconds(processor);
}

void Quotas::Permit::Answered() {
  absl::MutexLock lock(&quotas_.mutex_);
  if (question_) --quotas_.parties_[party_].questions;
  question_ = false;
}

absl::StatusOr<std::unique_ptr<Quotas::Permit>> Quotas::Admit(const std::string& name,
                                                              bool question, size_t bytes) {
  absl::MutexLock lock(&mutex_);
  if (parties_.size() >= forget_at_) Forget();
  Party& party = Find(name);
  if (question && party.questions >= options_.questions) {
    return RetryAfter(absl::ResourceExhaustedError(absl::StrCat(
                          "quota: ", party.questions,
                          " of your questions are under way, the limit is ", options_.questions)),
                      "TOO_MANY_QUESTIONS", kTryAgain);
  }
  if (question && options_.question_seconds > 0 && party.seconds <= 0) {
    const double wait = -party.seconds * kMinute / options_.question_seconds;
    return RetryAfter(absl::ResourceExhaustedError(absl::StrCat(
                          "quota: your questions have taken the ", options_.question_seconds,
                          " seconds of a processor that they may take in a minute")),
                      "QUESTION_SECONDS", std::max(kTryAgain, absl::Seconds(wait)));
  }
  RETURN_IF_ERROR(Take(party, bytes));
  std::unique_ptr<Permit> permit(new Permit(this, name, question, /*stream=*/false));
  permit->bytes_ = bytes;
  ++party.permits;
  if (question) ++party.questions;
  return permit;
}

absl::StatusOr<std::unique_ptr<Quotas::Permit>> Quotas::AdmitStream(const std::string& name,
                                                                    size_t limit) {
  absl::MutexLock lock(&mutex_);
  if (parties_.size() >= forget_at_) Forget();
  Party& party = Find(name);
  if (party.streams >= limit) {
    return RetryAfter(absl::ResourceExhaustedError(absl::StrCat(
                          "quota: ", party.streams, " of your streams wait, the limit is ", limit)),
                      "TOO_MANY_STREAMS", kTryAgain);
  }
  std::unique_ptr<Permit> permit(new Permit(this, name, /*question=*/false, /*stream=*/true));
  ++party.permits;
  ++party.streams;
  return permit;
}

absl::Status Quotas::Take(Party& party, size_t bytes) {
  // A party with nothing under way may have any one message: doors limit those.
  const bool alone = party.bytes == 0 && bytes_ < options_.bytes;
  if (!alone && (party.bytes + bytes > options_.bytes / 2 || bytes_ + bytes > options_.bytes)) {
    return RetryAfter(
        absl::ResourceExhaustedError(absl::StrCat("quota: ", party.bytes,
                                                  " bytes of your requests and answers are under "
                                                  "way, ",
                                                  bytes_, " of everybody's; the limits are ",
                                                  options_.bytes / 2, " and ", options_.bytes)),
        "BYTES_IN_FLIGHT", kTryAgain);
  }
  party.bytes += bytes;
  bytes_ += bytes;
  return absl::OkStatus();
}

Quotas::Party& Quotas::Find(const std::string& name) {
  const auto [found, is_new] = parties_.try_emplace(name);
  Party& party = found->second;
  if (is_new) {
    party.seconds = options_.question_seconds;
    party.filled = clock_.Steady();
  }
  Fill(party);
  return party;
}

void Quotas::Fill(Party& party) const {
  if (options_.question_seconds <= 0) return;
  const absl::Duration now = clock_.Steady();
  party.seconds += absl::ToDoubleSeconds(now - party.filled) * options_.question_seconds / kMinute;
  party.seconds = std::min(party.seconds, options_.question_seconds);
  party.filled = now;
}

void Quotas::Forget() {
  for (auto party = parties_.begin(); party != parties_.end();) {
    Fill(party->second);
    const bool over =
        party->second.permits == 0 && party->second.seconds >= options_.question_seconds;
    party = over ? parties_.erase(party) : std::next(party);
  }
  forget_at_ = 64 + 2 * parties_.size();
}

size_t Quotas::parties() const {
  absl::MutexLock lock(&mutex_);
  return parties_.size();
}

size_t Quotas::bytes() const {
  absl::MutexLock lock(&mutex_);
  return bytes_;
}

}  // namespace dpledger::server
