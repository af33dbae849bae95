#include "tests/fault/auditor.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "connection/connection.h"
#include "dpledger/v1/accounting_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "events/event_values.h"
#include "merkle/proof.h"
#include "questions/answers.h"

namespace dpledger::testing {
namespace {

using merkle::Hash;

constexpr double kDelta = 1e-5;
constexpr int kTries = 20;

std::string_view View(const Hash& hash) {
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

Hash RangeRoot(const Hash* leaves, uint64_t count) {
  if (count == 0) return merkle::Sha256({});
  if (count == 1) return leaves[0];
  uint64_t k = 1;
  while (2 * k < count) k *= 2;
  const Hash left = RangeRoot(leaves, k);
  const Hash right = RangeRoot(leaves + k, count - k);
  return merkle::Sha256({std::string_view("\1", 1), View(left), View(right)});
}

Hash ToHash(const std::string& bytes) {
  Hash hash{};
  std::memcpy(hash.data(), bytes.data(), std::min(bytes.size(), hash.size()));
  return hash;
}

template <typename Field>
std::vector<Hash> ToHashes(const Field& field) {
  std::vector<Hash> hashes;
  for (const std::string& bytes : field) hashes.push_back(ToHash(bytes));
  return hashes;
}

// One call, for which a server that has just started is waited for. A connection that broke with
// the server is tried again.
template <typename Stub, typename Request, typename Response>
absl::Status Ask(Stub& stub,
                 grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                 const Request& request, Response& response) {
  grpc::Status status;
  for (int i = 0; i < kTries; ++i) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    status = (stub.*method)(&context, request, &response);
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE) break;
  }
  return connection::FromGrpc(status);
}

bool Near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

}  // namespace

Hash TreeRoot(const std::vector<Hash>& leaves, uint64_t size) {
  return RangeRoot(leaves.data(), size);
}

Hash HashOfLeaf(std::string_view entry) {
  return merkle::Sha256({std::string_view("\0", 1), entry});
}

std::vector<std::string> Auditor::Audit(const std::string& address) {
  complaints_.clear();
  entries_.clear();
  ++audits_;
  ReadEntries(address);
  if (complaints_.empty() && entries_.size() < leaves_.size()) {
    Complain(absl::StrCat("the ledger has ", entries_.size(), " entries and had ", leaves_.size()));
  }
  if (complaints_.empty()) CheckCheckpoint(address);
  return complaints_;
}

void Auditor::ReadEntries(const std::string& address) {
  const auto stub = v1::LedgerService::NewStub(connection::Connect(address).value());
  v1::ReadEntriesRequest request;
  request.set_ledger(ledger_);
  request.set_first_sequence(entries_.size());
  do {
    v1::ReadEntriesResponse page;
    const absl::Status status = Ask(*stub, &v1::LedgerService::Stub::ReadEntries, request, page);
    if (!status.ok()) return Complain(absl::StrCat("entries: ", status.message()));
    for (const std::string& bytes : page.entries()) {
      const uint64_t sequence = entries_.size();
      v1::LedgerEntry entry;
      if (!entry.ParseFromString(bytes) || entry.sequence() != sequence) {
        return Complain(absl::StrCat("entry ", sequence, " is another one"));
      }
      const Hash leaf = HashOfLeaf(bytes);
      if (sequence == leaves_.size()) leaves_.push_back(leaf);
      if (leaves_[sequence] != leaf) {
        return Complain(absl::StrCat("entry ", sequence, " is not what it was"));
      }
      entries_.push_back(bytes);
    }
    request.set_first_sequence(page.next_sequence());
  } while (request.first_sequence() != 0);
}

void Auditor::CheckCheckpoint(const std::string& address) {
  const auto audit = v1::AuditService::NewStub(connection::Connect(address).value());
  v1::GetCheckpointRequest request;
  request.set_log(ledger_);
  request.set_at_least(entries_.size());
  v1::GetCheckpointResponse response;
  const absl::Status status =
      Ask(*audit, &v1::AuditService::Stub::GetCheckpoint, request, response);
  if (!status.ok()) return Complain(absl::StrCat("checkpoint: ", status.message()));
  if (response.verifier_keys_size() != 1) return Complain("the registry has not one key");
  if (key_.empty()) key_ = response.verifier_keys(0);
  if (key_ != response.verifier_keys(0)) return Complain("the registry has another key");
  merkle::Checkpoint checkpoint = Open(response.note(), ledger_);
  if (checkpoint.origin.empty()) return;
  if (checkpoint.size < entries_.size()) return Complain("a smaller checkpoint than asked for");
  if (checkpoint.size > entries_.size()) ReadEntries(address);  // what was appended meanwhile
  if (checkpoint.size > entries_.size()) return Complain("a checkpoint of more than there is");
  if (TreeRoot(leaves_, checkpoint.size) != checkpoint.root) {
    return Complain(absl::StrCat("the root of ", checkpoint.size, " entries is another one"));
  }
  CheckRegistry(response.registry(), checkpoint);
  CheckConsistency(*audit, checkpoint);
  CheckInclusion(*audit, checkpoint);
  CheckEpsilon(address, checkpoint);
  if (complaints_.empty()) checkpoint_ = std::move(checkpoint);
}

merkle::Checkpoint Auditor::Open(const std::string& note, const std::string& log) {
  const auto key = merkle::VerifierKey::Parse(key_);
  const auto parsed = merkle::Note::Parse(note);
  if (!key.ok() || !parsed.ok()) {
    Complain(absl::StrCat("checkpoint of '", log, "': no signed note"));
    return {};
  }
  const std::string origin = log.empty() ? key->name : absl::StrCat(key->name, "/", log);
  const auto checkpoint = merkle::OpenCheckpoint(*parsed, origin, {{*key}});
  if (checkpoint.ok()) return *checkpoint;
  Complain(absl::StrCat("checkpoint of '", log, "': ", checkpoint.status().message()));
  return {};
}

void Auditor::CheckRegistry(const v1::RegistryEvidence& evidence,
                            const merkle::Checkpoint& checkpoint) {
  const merkle::Checkpoint registry = Open(evidence.note(), "");
  if (registry.origin.empty()) return;
  v1::LedgerEntry entry;
  if (!entry.ParseFromString(evidence.entry()) ||
      entry.registered().origin() != checkpoint.origin ||
      entry.registered().size() != checkpoint.size ||
      entry.registered().root_hash() != View(checkpoint.root)) {
    return Complain("the registry's entry is of another checkpoint");
  }
  const absl::Status proven =
      merkle::VerifyInclusion(HashOfLeaf(evidence.entry()), evidence.index(), registry.size,
                              registry.root, ToHashes(evidence.proof()));
  if (!proven.ok()) Complain(absl::StrCat("registry: ", proven.message()));
}

void Auditor::CheckConsistency(v1::AuditService::Stub& audit,
                               const merkle::Checkpoint& checkpoint) {
  if (checkpoint_.size == 0) return;  // the first one
  if (checkpoint.size < checkpoint_.size) return Complain("the checkpoint has become smaller");
  v1::GetConsistencyProofRequest request;
  request.set_log(ledger_);
  request.set_old_size(checkpoint_.size);
  request.set_new_size(checkpoint.size);
  v1::GetConsistencyProofResponse response;
  const absl::Status status =
      Ask(audit, &v1::AuditService::Stub::GetConsistencyProof, request, response);
  if (!status.ok()) return Complain(absl::StrCat("consistency: ", status.message()));
  const absl::Status proven =
      merkle::VerifyConsistency(checkpoint_.size, checkpoint_.root, checkpoint.size,
                                checkpoint.root, ToHashes(response.proof()));
  if (!proven.ok()) Complain(absl::StrCat("consistency: ", proven.message()));
}

void Auditor::CheckInclusion(v1::AuditService::Stub& audit, const merkle::Checkpoint& checkpoint) {
  v1::GetInclusionProofRequest request;
  request.set_log(ledger_);
  request.set_index(checkpoint.size - 1);
  request.set_size(checkpoint.size);
  v1::GetInclusionProofResponse response;
  const absl::Status status =
      Ask(audit, &v1::AuditService::Stub::GetInclusionProof, request, response);
  if (!status.ok()) return Complain(absl::StrCat("inclusion: ", status.message()));
  const absl::Status proven =
      merkle::VerifyInclusion(leaves_[checkpoint.size - 1], checkpoint.size - 1, checkpoint.size,
                              checkpoint.root, ToHashes(response.proof()));
  if (!proven.ok()) Complain(absl::StrCat("inclusion: ", proven.message()));
}

void Auditor::CheckEpsilon(const std::string& address, const merkle::Checkpoint& checkpoint) {
  questions::Subject subject;
  for (uint64_t i = 0; i < checkpoint.size; ++i) {
    v1::LedgerEntry entry;
    entry.ParseFromString(entries_[i]);
    if (entry.has_declaration()) {
      subject.adjacency = entry.declaration().adjacency();
      subject.parameters = entry.declaration().parameters();
    }
    if (!entry.has_event()) continue;
    const auto event = events::ValueOf(entry.event());
    if (!event.ok()) return Complain(absl::StrCat("event: ", event.status().message()));
    subject.history.Add(entry.writer(), *event);
  }
  v1::ComputeEpsilonRequest request;
  request.set_delta(kDelta);
  const auto offline = questions::Answer(subject, request, {});
  request.mutable_subject()->add_ledgers(ledger_);
  request.mutable_subject()->set_up_to_sequence(checkpoint.size);
  const auto stub = v1::AccountingService::NewStub(connection::Connect(address).value());
  v1::ComputeEpsilonResponse served;
  const absl::Status status =
      Ask(*stub, &v1::AccountingService::Stub::ComputeEpsilon, request, served);
  if (!status.ok() || !offline.ok()) {
    return Complain(absl::StrCat("epsilon: ", status.message(), offline.status().message()));
  }
  if (!Near(served.epsilon().lower(), offline->epsilon().lower()) ||
      !Near(served.epsilon().upper(), offline->epsilon().upper())) {
    Complain(absl::StrCat("epsilon in [", served.epsilon().lower(), ", ", served.epsilon().upper(),
                          "] was served, and is in [", offline->epsilon().lower(), ", ",
                          offline->epsilon().upper(), "]"));
  }
}

}  // namespace dpledger::testing
