#include "client/privatizer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/rounded_gaussian.h"

namespace dpledger::client {
namespace {

constexpr char kNonPrivateMark[] = " [NON-PRIVATE TEST MODE]";

}  // namespace

absl::StatusOr<std::unique_ptr<Privatizer>> Privatizer::Create(const PrivatizerOptions& options,
                                                               EventRecorder* recorder) {
  ASSIGN_OR_RETURN(RootKey root, RootKey::FromKernel());
  return CreateWithRoot(options, recorder, std::move(root));
}

absl::StatusOr<std::unique_ptr<Privatizer>> Privatizer::CreateNonPrivateForTesting(
    const PrivatizerOptions& options, EventRecorder* recorder, uint64_t seed) {
  return CreateWithRoot(options, recorder, RootKey::NonPrivateForTesting(seed));
}

absl::StatusOr<std::unique_ptr<Privatizer>> Privatizer::CreateWithRoot(
    const PrivatizerOptions& options, EventRecorder* recorder, RootKey root) {
  ASSIGN_OR_RETURN(ClippedSum sum, ClippedSum::Create(options));
  return std::unique_ptr<Privatizer>(
      new Privatizer(options, std::move(sum), recorder, std::move(root)));
}

Privatizer::Privatizer(const PrivatizerOptions& options, ClippedSum sum, EventRecorder* recorder,
                       RootKey root)
    : adaptive_(options.adaptive),
      sum_(std::move(sum)),
      recorder_(recorder),
      root_(std::move(root)) {
  UpdateQueries();
}

void Privatizer::UpdateQueries() {
  queries_.clear();
  const NoisePlan& plan = sum_.plan();
  for (const ClippedSum::Group& group : sum_.groups()) {
    v1::SumQuery& query = queries_.emplace_back();
    query.set_group(absl::StrCat(group.name, root_.non_private() ? kNonPrivateMark : ""));
    query.set_l2_norm_bound(static_cast<double>(plan.sensitivity * group.norm_bound));
    query.set_noise_stddev(static_cast<double>(plan.noise_stddev));
    query.set_noise(v1::ROUNDED_GAUSSIAN);
    query.set_grid(group.clip.scaled_grid());
  }
}

absl::Status Privatizer::BeginStep(const v1::SamplingScheme& scheme) {
  if (open_) return absl::FailedPreconditionError("a step is open: finish it first");
  RETURN_IF_ERROR(root_.CheckSafeToDraw());
  ASSIGN_OR_RETURN(round_, recorder_->RecordRound(scheme, queries_));
  open_ = true;
  return absl::OkStatus();
}

absl::Status Privatizer::CheckOpen() const {
  return open_ ? absl::OkStatus()
               : absl::FailedPreconditionError("no step is open: begin one first");
}

absl::Status Privatizer::Accumulate(absl::Span<const float> gradients) {
  RETURN_IF_ERROR(CheckOpen());
  return sum_.Accumulate(gradients);
}

absl::Status Privatizer::Accumulate(const GradientRows& rows) {
  RETURN_IF_ERROR(CheckOpen());
  sum_.Accumulate(rows);
  return absl::OkStatus();
}

absl::Status Privatizer::Accumulate(const GradientRows& rows, absl::Span<const double> norms) {
  RETURN_IF_ERROR(CheckOpen());
  return sum_.Accumulate(rows, norms);
}

absl::Status Privatizer::AddSums(absl::Span<const int64_t> sums) {
  RETURN_IF_ERROR(CheckOpen());
  return sum_.AddSums(sums);
}

absl::StatusOr<std::vector<float>> Privatizer::Finish() {
  RETURN_IF_ERROR(CheckOpen());
  absl::StatusOr<std::vector<float>> released = NoiseAndRelease();
  sum_.Clear();
  open_ = false;
  return released;
}

absl::StatusOr<std::vector<float>> Privatizer::NoiseAndRelease() {
  RETURN_IF_ERROR(root_.CheckSafeToDraw());
  const RoundedGaussian noise(sum_.plan().noise_stddev);
  KeyStream key = root_.Derive(KeyPurpose::kNoise, noises_drawn_++);
  const absl::Span<int64_t> sums = sum_.mutable_sums();
  for (size_t i = 0; i < sum_.groups().size(); ++i) {
    const ClippedSum::Group& group = sum_.groups()[i];
    noise.AddTo(key, i, sums.subspan(group.begin, group.clip.size()));
  }
  RETURN_IF_ERROR(recorder_->AwaitReleasable(round_));
  // From here on the sums are public; how they are scaled does not matter for privacy.
  std::vector<float> released(sum_.dimension());
  for (const ClippedSum::Group& group : sum_.groups()) {
    if (group.begin == released.size()) break;  // the statistic
    group.clip.ToUnits(sums.subspan(group.begin, group.clip.size()),
                       absl::MakeSpan(released).subspan(group.begin, group.clip.size()));
  }
  if (adaptive_) {
    const double statistic = sum_.groups().back().clip.grid() * static_cast<double>(sums.back());
    // The sums are of this step's clip norm until they are wiped; nothing is added to them before.
    RETURN_IF_ERROR(sum_.SetClipNorm(NextClipNorm(*adaptive_, sum_.clip_norm(), statistic)));
    UpdateQueries();
  }
  return released;
}

}  // namespace dpledger::client
