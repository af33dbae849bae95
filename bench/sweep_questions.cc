#include "bench/sweep_questions.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "accountant/calibration/calibration.h"
#include "accountant/calibration/family.h"
#include "base/status.h"
#include "tests/support/random_composition.h"
#include "tests/support/random_setting.h"

namespace dpledger::accountant {
namespace {

Composition CompositionOf(const testing::RandomSetting& setting) {
  Composition composition;
  composition.steps.push_back({setting.sampling_probability,
                               {setting.noise_multiplier, setting.noise_multiplier},
                               setting.steps});
  return composition;
}

SweepQuestion QuestionOf(const testing::RandomSetting& setting) {
  return {absl::StrFormat(R"("q":%.17g,"noise_multiplier":%.17g,"steps":%d,"delta":%.17g)",
                          setting.sampling_probability, setting.noise_multiplier, setting.steps,
                          setting.delta),
          [setting](const Options& options) {
            return ComputeEpsilon(CompositionOf(setting), setting.delta, options);
          }};
}

SweepQuestion SettingQuestion(uint64_t index, const std::string&) {
  return QuestionOf(testing::RandomSettingAt(index));
}

SweepQuestion BoxQuestion(uint64_t index, const std::string&) {
  return QuestionOf(testing::RandomBoxSettingAt(index));
}

// What is said of a composition.
SweepQuestion About(const testing::RandomComposition& random) {
  return {absl::StrFormat(R"("kinds":"%s","adjacency":"%s","delta":%.17g)", random.kinds,
                          AdjacencyName(random.neighbours.adjacency), random.delta),
          {}};
}

SweepQuestion CompositionQuestion(uint64_t index, const std::string& only) {
  const testing::RandomComposition random = testing::RandomCompositionAt(index, only);
  SweepQuestion question = About(random);
  question.ask = [random](const Options& options) -> absl::StatusOr<Answer> {
    ASSIGN_OR_RETURN(const Composition composition, Resolve(random.at(1), random.neighbours));
    return ComputeEpsilon(composition, random.delta, options);
  };
  return question;
}

// Targets that a setting meets, so that there is a solution: what that takes is not measured.
SweepQuestion SettingCalibration(uint64_t index) {
  const testing::RandomSetting setting = testing::RandomSettingAt(index);
  const Unknown unknowns[] = {Unknown::kNoiseMultiplier, Unknown::kSteps,
                              Unknown::kSamplingProbability};
  const Unknown unknown = unknowns[index % 3];
  SweepQuestion question = SettingQuestion(index, "");
  absl::StrAppend(&question.what, R"(,"unknown":)", static_cast<int>(unknown));
  const absl::StatusOr<Answer> answer =
      ComputeEpsilon(CompositionOf(setting), setting.delta, Options());
  const double target = answer.ok() ? answer->value.upper() : 1;
  question.ask = [=](const Options& options) -> absl::StatusOr<Answer> {
    ASSIGN_OR_RETURN(
        const Calibration found,
        Calibrate({target, setting.delta},
                  {setting.noise_multiplier, setting.sampling_probability, setting.steps}, unknown,
                  options));
    return found.epsilon;
  };
  return question;
}

SweepQuestion CompositionCalibration(uint64_t index, const std::string& only) {
  const testing::RandomComposition random = testing::RandomCompositionAt(index, only);
  SweepQuestion question = About(random);
  const auto at = [random](double factor) { return Resolve(random.at(factor), random.neighbours); };
  const absl::StatusOr<Composition> composition = at(1);
  const absl::StatusOr<Answer> answer = composition.ok()
                                            ? ComputeEpsilon(*composition, random.delta, Options())
                                            : absl::StatusOr<Answer>(composition.status());
  const double target = answer.ok() ? answer->value.upper() : 1;
  const double start = std::exp((testing::Uniform(index) - 0.5) * std::log(100));
  question.ask = [=](const Options& options) -> absl::StatusOr<Answer> {
    const Family family{at, 1e-4, 1e4, 0, std::nullopt, start};
    ASSIGN_OR_RETURN(const Solution found, Solve(family, target, random.delta, options));
    return found.epsilon;
  };
  return question;
}

SweepQuestion CalibrationQuestion(uint64_t index, const std::string& only) {
  return index % 2 == 0 && only.empty() ? SettingCalibration(index / 2)
                                        : CompositionCalibration(index / 2, only);
}

constexpr Subject kSubjects[] = {{"settings", 1e-3, 2, SettingQuestion},
                                 {"box", 1e-3, 2, BoxQuestion},
                                 {"compositions", 1e-4, 2, CompositionQuestion},
                                 {"calibrations", 1e-4, 1, CalibrationQuestion}};

}  // namespace

const Subject* SubjectNamed(std::string_view name) {
  const auto* found = std::find_if(std::begin(kSubjects), std::end(kSubjects),
                                   [&](const Subject& subject) { return name == subject.name; });
  return found == std::end(kSubjects) ? nullptr : found;
}

}  // namespace dpledger::accountant
