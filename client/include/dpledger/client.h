// The trainer's side of dpledger in C++: draw a sample, clip and sum its gradients, add noise, and
// have it in a ledger before anything leaves.
//
//   auto recorder = Recorder::Open({.server = "ledger:7070", ...});
//   auto sampler = Sampler::Create({n, PoissonSampling{q}});
//   auto privatizer = Privatizer::Create({.groups = {{"all", d, 1.0}}, ...},
//   (*recorder)->events()); for each step:
//     auto sample = (*sampler)->Draw();
//     (*privatizer)->BeginStep(**sampler);
//     (*privatizer)->Accumulate(rows);   // the gradients of the sample's records
//     (*privatizer)->Finish(sum);        // noised; divide by the *expected* batch size
//   (*recorder)->Close();
//
// Each class and its options stand in the header that is named for them below; dpledger.h has the
// same in plain C. Errors are absl::Status; where memory is short, std::bad_alloc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "accountant/event/event.h"
#include "accountant/interval.h"
#include "client/clipped_sum.h"
#include "client/correlated_privatizer.h"
#include "client/declaration.h"
#include "client/fixed_batches.h"
#include "client/privatizer.h"
#include "client/questions.h"
#include "client/sampler.h"

namespace dpledger {
namespace client {
class PrivacyRecorder;
}

// ---- Samples ----

using accountant::DisjointBatches;
using accountant::FullBatch;
using accountant::PoissonSampling;
using accountant::RandomAllocation;
using accountant::SamplingScheme;
using accountant::TruncatedPoisson;
using accountant::WithoutReplacement;
using accountant::WithReplacement;
using client::CyclicBatch;
using client::RecordRange;
using client::Sampler;

// ---- Noised sums ----

using accountant::NoiseKind;
using accountant::SumQuery;
using client::AdaptiveClipNorm;
using client::ClipGroup;
using client::ClipPart;
using client::ClippedSum;
using client::GradientRows;
using client::MeanNorm;
using client::NoiseAllocation;
using client::Normalise;
using client::NormQuantile;
using client::NumberFormat;
using client::Privatizer;
using client::PrivatizerOptions;

// ---- Runs with correlated noise ----

using client::BallsInBinsSampling;
using client::BandedToeplitz;
using client::BufferedToeplitz;
using client::CorrelatedOptions;
using client::CorrelatedPrivatizer;
using client::CyclicPoissonSampling;
using client::TreeAggregation;

// ---- Recorder ----

using accountant::Adjacency;
using client::Declaration;
using client::GdpFilter;
using client::MixtureFilter;
using client::Parameters;
using client::RdpFilter;
using client::ZcdpFilter;

// When a noised sum may leave: once the server has acknowledged its event, or once that is durable
// in the spool.
enum class Policy { kFailClosed, kSpool };

// Keeps what another process needs to carry on a run that was killed (client/run_state.h).
struct RunState {
  std::string key_file;  // holds 32 bytes, readable by its owner alone; the same at every restart
  std::string folder;    // of the files, which exists, apart from the key; empty: the spool's
};

struct RecorderOptions {
  // "host:port": TLS, unless it is of this machine and nothing is said about certificates;
  // "http://host:port" is never TLS. Several of servers over one database, with commas between
  // them: whenever one does not answer the next one is called. What is empty is as environment or
  // client.conf say (connection/server_access.h).
  std::string server, ca, certificate, certificate_key, token_file, log_key;
  // The folder of a ledger without a server. Where neither is named: NAME.ledger in the working
  // folder, NAME the ledger's last name.
  std::string path;
  std::string ledger;  // "name", or "projects/{project}/ledgers/{ledger}"
  // Tells the writers of one ledger apart: 1 to 64 bytes of [A-Za-z0-9._-], the same at every
  // restart. It belongs to the first caller that writes under it.
  std::string writer = "trainer";
  // The ledger is made with it if it does not exist, and must have been made with an equal one if
  // it does.
  Declaration declaration;
  // On a disk that survives the trainer; made if missing. Empty: `path`/spool; with a server
  // NAME.spool in the working folder.
  std::string spool_folder;
  Policy policy = Policy::kFailClosed;
  // The declared plan, FIXED, has rounds of more than one configuration. Otherwise the first round
  // after a restart must have that of the last one before, as far as the spool knows it.
  bool plan_varies = false;
  // The declared budget is asked for more whenever a round would cost more than was granted, a
  // sixteenth of what the writer has recorded at a time; and Close gives back what is not spent,
  // once all writers of the ledger have closed.
  bool automatic_grants = false;
  // The declared data set is a new one, however much its name is like another's, which the server
  // would take for a slip (FAILED_PRECONDITION, DATASET_NEARLY_EXISTS).
  bool new_dataset = false;
  uint64_t spool_bound_bytes = 0;  // 0: 256 MiB
  // Finite and >= 0; 0 stands for the number given.
  double open_timeout_seconds = 0;        // 30
  double release_timeout_seconds = 0;     // 300: how long a server may be away
  double full_spool_timeout_seconds = 0;  // 300: how long a round waits for room in a full spool
  double close_timeout_seconds = 0;       // 60
  double stall_timeout_seconds = 0;       // 20: then a silent server is left for the next
  // Absent: a run that was killed goes on with a new epoch and new noise. Else one sampler
  // (Sampler::CreateResumable) and one run with correlated noise are kept.
  std::optional<RunState> state;
};

struct Interval {
  double lower = 0, upper = 0;  // report `upper`; may be infinite
};
// What a ledger comes to, by the server's accountant.
struct Cost {
  Interval epsilon;  // of what was spent
  // The same of the declared plan while fewer rounds than planned are recorded, which covers a run
  // that was stopped for what it showed.
  std::optional<Interval> planned_epsilon;
  double delta = 0;
  uint64_t entries = 0;  // of the ledger
  std::string ledger;    // its full name
  std::string root;      // the hash over its entries, in hexadecimal
  std::string method;    // that answered
  std::vector<std::string> warnings;
  std::string answer;  // the whole: a serialised dpledger.v1.ComputeEpsilonResponse
};

// Writes the rounds of one training run into a ledger, so that no noise is released before its
// event is durable (client/recorder.h has the promises). Thread safe. After a fork only the parent
// may use it. One that is destroyed without Close keeps what is not delivered in its spool for the
// next one.
class Recorder {
 public:
  // INVALID_ARGUMENT names the option that is out of its domain; other errors: client/recorder.h.
  static absl::StatusOr<std::unique_ptr<Recorder>> Open(const RecorderOptions& options);

  // For privatizers, samplers and runs, which keep what they need of it.
  std::shared_ptr<client::EventRecorder> events() const;

  // For trainers with noise of their own; a privatizer calls these itself. The number of what was
  // recorded, greater than all before.
  absl::StatusOr<uint64_t> RecordRound(const SamplingScheme& scheme,
                                       const std::vector<SumQuery>& queries);
  absl::StatusOr<uint64_t> RecordMechanism(const accountant::Mechanism& mechanism);
  // Of the budget that the declaration names (docs/budgets.md), sets aside what the run may cost in
  // all: rounds that are grouped, and mechanisms. A smaller plan than before gives the rest back.
  // FAILED_PRECONDITION (BUDGET_EXCEEDED: it does not fit; GRANT_BELOW_SPENT; NO_BUDGET).
  absl::Status RequestGrant(const std::vector<accountant::Event>& plan);
  // OK once everything up to that number may be released under the policy.
  absl::Status AwaitReleasable(uint64_t number);

  // Ends the run: waits until everything is delivered. After OK this writer's part of the ledger is
  // complete, and it can never be opened again; after an error Close may be called again.
  absl::Status Close();

  // Close, and then ends the ledger itself: nothing can be appended after it, and of a budget it
  // keeps what it has spent. FAILED_PRECONDITION while another writer has not closed.
  absl::Status Seal();

  // Asks the server about its ledgers, over a channel of its own choice, also after Close: first it
  // has all that was recorded here. `call` is made again with another server if one does not
  // answer.
  absl::Status Ask(
      absl::FunctionRef<absl::Status(const std::shared_ptr<grpc::Channel>& channel)> call) const;
  // Of the ledger as the server has it, also after Close. Waits until that has every round that was
  // recorded here before; DEADLINE_EXCEEDED after the release timeout, saying how many batches are
  // missing.
  absl::StatusOr<Cost> ComputeCost(double delta) const;
  // Writes the ledger, with what proves that it is the one that was signed, into the file `file`,
  // which gets its name when it is whole. `dpledger ledger verify` checks it.
  absl::Status Export(const std::string& file) const;

  struct DrainStatus {
    uint64_t undelivered_batches = 0;
    absl::Status last_error;  // why the server was lost or what it refused
  };
  DrainStatus drain_status() const;
  const std::string& ledger() const;  // full name

 private:
  explicit Recorder(std::shared_ptr<client::PrivacyRecorder> recorder);

  const std::shared_ptr<client::PrivacyRecorder> recorder_;
};

// ---- Questions to the server ----

using client::CalibrateNoise;
using PrivacyTarget = client::Target;

}  // namespace dpledger
