#include "client/privatizer.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/event_recorder.h"
#include "client/rounded_gaussian.h"

namespace dpledger::client {
namespace {

// Coordinates that are not worth a second thread.
constexpr size_t kNoiseGrain = size_t{1} << 15;

// In errors.
constexpr char kThis[] = "privatizer";
constexpr char kNonPrivateMark[] = " [NON-PRIVATE TEST MODE]";

}  // namespace

absl::StatusOr<std::unique_ptr<Privatizer>> Privatizer::Create(
    const PrivatizerOptions& options, std::shared_ptr<EventRecorder> recorder) {
  ASSIGN_OR_RETURN(RootKey root, RootKey::FromKernel());
  return CreateWithRoot(options, std::move(recorder), std::move(root));
}

absl::StatusOr<std::unique_ptr<Privatizer>> Privatizer::CreateNonPrivateForTesting(
    const PrivatizerOptions& options, std::shared_ptr<EventRecorder> recorder, uint64_t seed) {
  return CreateWithRoot(options, std::move(recorder), RootKey::NonPrivateForTesting(seed));
}

absl::StatusOr<std::unique_ptr<Privatizer>> Privatizer::CreateWithRoot(
    const PrivatizerOptions& options, std::shared_ptr<EventRecorder> recorder, RootKey root) {
  ASSIGN_OR_RETURN(ClippedSum sum, ClippedSum::Create(options));
  return std::unique_ptr<Privatizer>(
      new Privatizer(options, std::move(sum), std::move(recorder), std::move(root)));
}

Privatizer::Privatizer(const PrivatizerOptions& options, ClippedSum sum,
                       std::shared_ptr<EventRecorder> recorder, RootKey root)
    : adaptive_(options.adaptive),
      sum_(std::move(sum)),
      recorder_(std::move(recorder)),
      root_(std::move(root)) {
  UpdateQueries();
}

void Privatizer::UpdateQueries() {
  // All or none: what a round is charged must never lack one of its queries.
  std::vector<accountant::SumQuery> queries;
  const NoisePlan& plan = sum_.plan();
  for (const ClippedSum::Group& group : sum_.groups()) {
    queries.push_back({absl::StrCat(group.name, root_.non_private() ? kNonPrivateMark : ""),
                       static_cast<double>(plan.sensitivity * group.norm_bound),
                       static_cast<double>(plan.noise_stddev),
                       accountant::NoiseKind::kRoundedGaussian, group.clip.scaled_grid()});
  }
  queries_ = std::move(queries);
}

absl::Status Privatizer::BeginStep(Sampler& sampler, uint64_t draw) {
  const internal::InUse::Call call(in_use_);
  RETURN_IF_ERROR(call.CheckAlone(kThis));
  ASSIGN_OR_RETURN(const Sampler::Drawn drawn, sampler.Waiting(draw));
  RETURN_IF_ERROR(recorder_->CheckEpochKept(drawn.scheme, sampler.keeper()));
  predictable_ |= sampler.non_private();
  RETURN_IF_ERROR(Begin(drawn.scheme, accountant::SampleSource::kDrawn, drawn.records));
  sampler.Take(draw);
  return absl::OkStatus();
}

absl::Status Privatizer::BeginStep(const accountant::SamplingScheme& scheme) {
  const internal::InUse::Call call(in_use_);
  RETURN_IF_ERROR(call.CheckAlone(kThis));
  RETURN_IF_ERROR(recorder_->CheckEpochKept(scheme, /*keeper=*/nullptr));
  return Begin(scheme, accountant::SampleSource::kStated, std::nullopt);
}

absl::Status Privatizer::Begin(const accountant::SamplingScheme& scheme,
                               accountant::SampleSource source, std::optional<uint64_t> records) {
  if (open_) return absl::FailedPreconditionError("a step is open: finish it first");
  RETURN_IF_ERROR(root_.CheckSafeToDraw());
  if ((root_.non_private() || predictable_) && !non_private_recorded_) {
    v1::MechanismEvent mechanism;
    mechanism.mutable_non_private();
    RETURN_IF_ERROR(recorder_->RecordMechanism(mechanism).status());
    non_private_recorded_ = true;
  }
  ASSIGN_OR_RETURN(round_, recorder_->RecordRound(scheme, source, queries_));
  records_ = records;
  open_ = true;
  return absl::OkStatus();
}

absl::Status Privatizer::CheckOpenAndAlone(const internal::InUse::Call& call) const {
  RETURN_IF_ERROR(call.CheckAlone(kThis));
  return open_ ? absl::OkStatus()
               : absl::FailedPreconditionError("no step is open: begin one first");
}

absl::Status Privatizer::Add(uint64_t rows, absl::FunctionRef<absl::Status()> add) {
  const internal::InUse::Call call(in_use_);
  RETURN_IF_ERROR(CheckOpenAndAlone(call));
  RETURN_IF_ERROR(sum_.CheckRoomFor(rows, records_));
  return add();
}

absl::Status Privatizer::Accumulate(absl::Span<const float> gradients) {
  return Add(gradients.size() / dimension(), [&] { return sum_.Accumulate(gradients); });
}

absl::Status Privatizer::Accumulate(const GradientRows& rows) {
  return Add(rows.count, [&] { return sum_.Accumulate(rows); });
}

absl::Status Privatizer::Accumulate(const GradientRows& rows, absl::Span<const double> norms) {
  return Add(rows.count, [&] { return sum_.Accumulate(rows, norms); });
}

absl::Status Privatizer::AddSums(absl::Span<const int64_t> sums, uint64_t rows) {
  return Add(rows, [&] { return sum_.AddSums(sums, rows); });
}

absl::StatusOr<std::vector<float>> Privatizer::Finish() {
  std::vector<float> released(dimension());
  RETURN_IF_ERROR(Finish(absl::MakeSpan(released)));
  return released;
}

absl::Status Privatizer::Finish(absl::Span<float> released) {
  const internal::InUse::Call call(in_use_);
  RETURN_IF_ERROR(CheckOpenAndAlone(call));
  if (released.size() != dimension()) {
    return FieldError("released",
                      absl::StrCat("must have ", dimension(), " elements, got ", released.size()));
  }
  bool thrown = true;
  const absl::Cleanup end_round = [&] {
    if (thrown) std::fill(released.begin(), released.end(), 0.0f);
    sum_.Clear();
    open_ = false;
  };
  const absl::Status status = AwaitAndRelease(released);
  thrown = false;
  return status;
}

absl::Status Privatizer::AwaitAndRelease(absl::Span<float> released) {
  RETURN_IF_ERROR(root_.CheckSafeToDraw());
  RETURN_IF_ERROR(recorder_->AwaitReleasable(round_));
  const uint64_t step = noises_drawn_++;
  sum_.workers().Run([&](size_t share) { ReleaseShare(step, share, released); });
  return adaptive_ ? Adapt(sum_.sums().back()) : absl::OkStatus();
}

void Privatizer::ReleaseShare(uint64_t step, size_t share, absl::Span<float> released) {
  const RoundedGaussian noise(sum_.plan().noise_stddev);
  KeyStream key = root_.Derive(KeyPurpose::kNoise, step);
  const absl::Span<int64_t> sums = sum_.mutable_sums();
  for (size_t g = 0; g < sum_.groups().size(); ++g) {
    const ClippedSum::Group& group = sum_.groups()[g];
    if (group.begin == released.size()) {  // the statistic
      if (share == 0) noise.AddTo(key, g, sums.subspan(group.begin));
      break;
    }
    size_t first = 0;  // of the part, in the group
    for (size_t p = 0; p < group.clip.parts(); ++p) {
      const size_t size = group.clip.part_size(p);
      const internal::Range range =
          internal::ShareOf(size, share, sum_.workers().threads(), kNoiseGrain);
      const size_t begin = group.begin + first + range.begin, count = range.end - range.begin;
      noise.Release(key, g, first + range.begin, sums.subspan(begin, count), group.clip.grid(p),
                    released.subspan(begin, count));
      first += size;
    }
  }
}

absl::Status Privatizer::Adapt(int64_t noised_statistic) {
  const double sum = sum_.groups().back().clip.grid() * static_cast<double>(noised_statistic);
  sum_.Clear();  // they are of this step's clip norm
  RETURN_IF_ERROR(sum_.SetClipNorm(NextClipNorm(*adaptive_, sum_.clip_norm(), sum)));
  UpdateQueries();
  return absl::OkStatus();
}

}  // namespace dpledger::client
