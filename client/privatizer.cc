#include "client/privatizer.h"

#include <openssl/crypto.h>

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/rounded_gaussian.h"

namespace dpledger::client {
namespace {

constexpr char kNonPrivateMark[] = " [NON-PRIVATE TEST MODE]";

absl::Status CheckGroupNames(const std::vector<ClipGroup>& groups) {
  if (groups.empty() || groups.size() > 4096) {
    return FieldError("groups", absl::StrCat("must be 1 to 4096, got ", groups.size()));
  }
  std::set<std::string_view> names;
  for (size_t i = 0; i < groups.size(); ++i) {
    const std::string& name = groups[i].name;
    const std::string field = absl::StrCat("groups[", i, "].name");
    if (name.empty() || name.size() > 200) {
      return FieldError(field, absl::StrCat("must have 1 to 200 bytes, got ", name.size()));
    }
    if (!names.insert(name).second) {
      return FieldError(field, absl::StrCat("must differ from the others', got \"", name, "\""));
    }
  }
  return absl::OkStatus();
}

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
  RETURN_IF_ERROR(CheckGroupNames(options.groups));
  ASSIGN_OR_RETURN(const NoisePlan plan,
                   NoisePlan::For(options.noise_multiplier, options.groups.size()));
  std::vector<Group> groups;
  std::vector<v1::SumQuery> queries;
  size_t begin = 0;
  for (const ClipGroup& group : options.groups) {
    auto clip = IntegerClip::Create(group.size, group.clip_norm, plan.norm_bound);
    if (!clip.ok()) return PrefixField(absl::StrCat("groups[", groups.size(), "]"), clip.status());
    groups.push_back({begin, group.size, *clip});
    begin += group.size;

    v1::SumQuery& query = queries.emplace_back();
    query.set_group(absl::StrCat(group.name, root.non_private() ? kNonPrivateMark : ""));
    query.set_l2_norm_bound(static_cast<double>(plan.norm_bound));
    query.set_noise_stddev(static_cast<double>(plan.noise_stddev));
    query.set_noise(v1::ROUNDED_GAUSSIAN);
    query.set_grid(clip->grid());
  }
  return std::unique_ptr<Privatizer>(
      new Privatizer(plan, std::move(groups), std::move(queries), recorder, std::move(root)));
}

Privatizer::Privatizer(NoisePlan plan, std::vector<Group> groups, std::vector<v1::SumQuery> queries,
                       EventRecorder* recorder, RootKey root)
    : plan_(plan),
      groups_(std::move(groups)),
      queries_(std::move(queries)),
      recorder_(recorder),
      root_(std::move(root)),
      sums_(groups_.back().begin + groups_.back().size) {}

Privatizer::~Privatizer() { WipeSums(); }

absl::Status Privatizer::BeginStep(const v1::SamplingScheme& scheme) {
  if (open_) return absl::FailedPreconditionError("a step is open: finish it first");
  RETURN_IF_ERROR(root_.CheckSafeToDraw());
  ASSIGN_OR_RETURN(round_, recorder_->RecordRound(scheme, queries_));
  open_ = true;
  return absl::OkStatus();
}

absl::Status Privatizer::Accumulate(absl::Span<const float> gradients) {
  if (!open_) return absl::FailedPreconditionError("no step is open: begin one first");
  if (gradients.size() % dimension() != 0) {
    return FieldError("gradients", absl::StrCat("must be whole rows of ", dimension(),
                                                " values, got ", gradients.size(), " values"));
  }
  // 2^63 / K examples would be needed for a sum to overflow.
  const size_t rows = gradients.size() / dimension();
  for (const Group& group : groups_) {
    group.clip.AddClipped({gradients.data() + group.begin, rows, dimension()},
                          absl::MakeSpan(sums_).subspan(group.begin, group.size));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> Privatizer::Finish() {
  if (!open_) return absl::FailedPreconditionError("no step is open: begin one first");
  absl::StatusOr<std::vector<float>> released = RecordNoiseAndRelease();
  WipeSums();
  open_ = false;
  return released;
}

absl::StatusOr<std::vector<float>> Privatizer::RecordNoiseAndRelease() {
  RETURN_IF_ERROR(root_.CheckSafeToDraw());
  const RoundedGaussian noise(plan_.noise_stddev);
  AesCtr key = root_.Derive(KeyPurpose::kNoise, noises_drawn_++);
  for (size_t i = 0; i < groups_.size(); ++i) {
    noise.AddTo(key, i, absl::MakeSpan(sums_).subspan(groups_[i].begin, groups_[i].size));
  }
  RETURN_IF_ERROR(recorder_->AwaitReleasable(round_));
  // From here on the sums are public; how they are scaled does not matter for privacy.
  std::vector<float> released(sums_.size());
  for (const Group& group : groups_) {
    for (size_t i = group.begin; i < group.begin + group.size; ++i) {
      released[i] = static_cast<float>(group.clip.grid() * static_cast<double>(sums_[i]));
    }
  }
  return released;
}

void Privatizer::WipeSums() { OPENSSL_cleanse(sums_.data(), sums_.size() * sizeof(sums_[0])); }

}  // namespace dpledger::client
