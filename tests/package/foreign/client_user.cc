// Calls the trainer's library as far as that goes without a server.
#include <dpledger/client.h>

#include <cstdio>
#include <string>

int main() {
  auto sampler =
      dpledger::Sampler::Create({.kind = dpledger::SamplingKind::kFullBatch, .population_size = 3});
  if (!sampler.ok()) return 1;
  const auto sample = (*sampler)->Draw();
  if (!sample.ok() || sample->size() != 3 || (*sample)[2] != 2) return 2;

  const auto wrong = dpledger::Sampler::Create({.population_size = 3, .probability = 2});
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
  return 0;
}
