// Trains a step with the trainer's library, as far as that goes without a server.
#include <dpledger/client.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

// A trainer needs no headers but Abseil's.
#if defined(GOOGLE_PROTOBUF_VERSION) || defined(GRPC_CPP_VERSION_STRING) || \
    defined(OPENSSL_VERSION_NUMBER) || defined(MPFR_VERSION) || defined(HWY_ALIGN)
#error "dpledger/client.h shows what it is made with"
#endif

namespace {

// The epsilon of one noised sum over ten records, by a ledger in that folder.
absl::StatusOr<double> Train(const std::string& folder) {
  dpledger::RecorderOptions options;
  options.path = folder;
  options.ledger = "run";
  options.declaration.dataset = "data";
  options.declaration.unit_of_privacy = "example";
  options.declaration.adjacency = dpledger::Adjacency::kAddOrRemoveOne;
  options.declaration.parameters = dpledger::Parameters::kFixed;
  auto recorder = dpledger::Recorder::Open(options);
  if (!recorder.ok()) return recorder.status();
  auto sampler = dpledger::Sampler::Create({10, dpledger::PoissonSampling{0.5}});
  if (!sampler.ok()) return sampler.status();
  dpledger::PrivatizerOptions sums;
  sums.groups.resize(1);
  sums.groups[0].name = "all";
  sums.groups[0].size = 2;
  sums.groups[0].clip_norm = 1;
  sums.noise_multiplier = 1;
  auto privatizer = dpledger::Privatizer::Create(sums, (*recorder)->events());
  if (!privatizer.ok()) return privatizer.status();
  const auto sample = (*sampler)->Draw();
  if (!sample.ok()) return sample.status();
  const absl::Status begun = (*privatizer)->BeginStep(**sampler);
  if (!begun.ok()) return begun;
  const std::vector<float> gradient = {0.6f, 0.8f};
  for (size_t i = 0; i < sample->size(); ++i) {
    const absl::Status added = (*privatizer)->Accumulate(gradient);
    if (!added.ok()) return added;
  }
  const auto noised = (*privatizer)->Finish();
  if (!noised.ok()) return noised.status();
  const auto cost = (*recorder)->ComputeCost(1e-5);
  if (!cost.ok()) return cost.status();
  return cost->epsilon.upper;
}

}  // namespace

int main() {
  const dpledger::SamplingScheme all = {3, dpledger::FullBatch{}};
  auto sampler = dpledger::Sampler::Create(all);
  if (!sampler.ok() || !((*sampler)->scheme() == all)) return 1;
  const auto sample = (*sampler)->Draw();
  if (!sample.ok() || sample->size() != 3 || (*sample)[2] != 2) return 2;

  const auto wrong = dpledger::Sampler::Create({3, dpledger::PoissonSampling{2}});
  if (wrong.status().code() != absl::StatusCode::kInvalidArgument) return 3;
  if (std::string(wrong.status().message()).find("probability") == std::string::npos) return 4;

  dpledger::RecorderOptions options;
  options.server = "127.0.0.1:1";
  options.ledger = "run";
  options.spool_folder = "spool";
  options.declaration.dataset = "data";
  options.declaration.unit_of_privacy = "example";
  const auto undeclared = dpledger::Recorder::Open(options);
  if (undeclared.status().code() != absl::StatusCode::kInvalidArgument) return 5;
  std::printf("%s\n", std::string(undeclared.status().message()).c_str());

  std::string folder = std::filesystem::temp_directory_path() / "client_user.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 6;
  const auto epsilon = Train(folder + "/ledgers");
  std::filesystem::remove_all(folder);
  if (!epsilon.ok()) std::fprintf(stderr, "%s\n", epsilon.status().ToString().c_str());
  // Less than of an unsampled Gaussian, and something.
  return epsilon.ok() && *epsilon > 1 && *epsilon < 4.4 ? 0 : 7;
}
