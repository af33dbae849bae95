#include "tests/fault/point_life.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "connection/connection.h"
#include "dpledger/v1/audit_service.grpc.pb.h"
#include "tests/fault/auditor.h"
#include "tests/fault/crashing_server.h"
#include "tests/fault/health_watch.h"
#include "tests/fault/released.h"

namespace dpledger::testing {
namespace {

constexpr char kLedger[] = "projects/default/ledgers/notes";
constexpr char kStruckFile[] = "struck:";
constexpr int kBatches = 6;
constexpr int kNotes = 3;

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
}

std::string NoteText(int batch, int note) { return absl::StrCat("note ", batch, ".", note); }

}  // namespace

void PointLife::Live(const FaultRule& rule, bool bait) {
  ASSERT_TRUE(server_.PowerOn().ok());
  if (!rule.op.empty()) {
    ASSERT_TRUE(server_.disk().Fail(rule).ok());
  }
  const absl::Status started = server_.Start();
  if (!started.ok()) {
    outcome_ = Outcome::kRefusedToStart;
    // Debian's RocksDB asserts, in a file's destructor, what does not hold after a failed write.
    aborted_ = server_.End(0) == 128 + SIGABRT &&
               absl::StrContains(started.message(), "AssertFalseAndGetStatusForPrevError");
    if (server_.End(0) != 1 && !aborted_) {
      complaints_.push_back(std::string(started.message()));
    }
    return ReadCounts();
  }
  HealthWatch health(server_.address());
  if (Work(bait)) {
    const int exit_code = server_.End(SIGTERM);
    ReadCounts();
    outcome_ = exit_code == 0 ? Outcome::kFinished : Outcome::kStopped;
    if (exit_code != 0 && !(exit_code == 1 && struck())) {
      complaints_.push_back(absl::StrCat("it ended with ", exit_code));
    }
    return;
  }
  outcome_ = Outcome::kStopped;
  if (!health.AwaitNotServing()) complaints_.emplace_back("health never said NOT_SERVING");
  if (const int exit_code = server_.End(0); exit_code != 1) {
    complaints_.push_back(absl::StrCat("it ended with ", exit_code, ", not 1"));
  }
  ReadCounts();
  if (!struck()) complaints_.push_back(absl::StrCat("it stopped for no reason: ", server_.Log()));
}

void PointLife::ReadCounts() {
  const auto counts = server_.disk().Counts();
  ASSERT_TRUE(counts.ok()) << counts.status();
  counts_ = *counts;
  for (const auto& [name, count] : counts_) {
    if (absl::StartsWith(name, "struck")) struck_ = true;
    if (absl::StartsWith(name, kStruckFile)) struck_file_ = name.substr(sizeof(kStruckFile) - 1);
  }
}

bool PointLife::Work(bool bait) {
  const auto stub = v1::LedgerService::NewStub(connection::Connect(server_.address()).value());
  v1::CreateLedgerRequest request;
  request.set_name(kLedger);
  *request.mutable_declaration() = FaultDeclaration();
  request.set_request_id("create");
  grpc::ClientContext context;
  SetDeadline(context);
  v1::Ledger made;
  if (!stub->CreateLedger(&context, request, &made).ok()) return false;
  for (int batch = 0; batch < kBatches; ++batch) {
    if (bait && batch == kBatches / 2) {
      mkdir((server_.disk().path() + "/bait").c_str(), 0700);
    }
    if (!Append(*stub, batch)) return false;
    if (batch % 3 == 2 && !Sign()) return false;
  }
  return true;
}

bool PointLife::Append(v1::LedgerService::Stub& stub, int batch) {
  ReadCounts();
  const bool after_error = struck_ && !again_;
  v1::AppendBatchRequest request;
  request.set_ledger(kLedger);
  request.set_writer("writer");
  request.set_request_id(absl::StrCat("batch-", batch));
  for (int note = 0; note < kNotes; ++note) {
    request.add_entries()->mutable_note()->set_text(NoteText(batch, note));
  }
  grpc::ClientContext context;
  SetDeadline(context);
  v1::AppendBatchResponse response;
  if (!stub.AppendBatch(&context, request, &response).ok()) return false;
  went_on_ = went_on_ || after_error;
  for (int note = 0; note < kNotes; ++note) {
    acknowledged_[response.receipt().first_sequence() + note] = NoteText(batch, note);
  }
  return true;
}

// Demands a checkpoint of all there is, so that what signing writes is part of the trace.
bool PointLife::Sign() {
  const auto stub = v1::AuditService::NewStub(connection::Connect(server_.address()).value());
  v1::GetCheckpointRequest request;
  request.set_log(kLedger);
  request.set_at_least(acknowledged_.rbegin()->first + 1);
  grpc::ClientContext context;
  SetDeadline(context);
  v1::GetCheckpointResponse response;
  return stub->GetCheckpoint(&context, request, &response).ok();
}

void PointLife::LiveAgain() {
  server_.PowerOff(Survival::kNothing, 0);
  ASSERT_TRUE(server_.PowerOn().ok());
  const absl::Status started = server_.Start();
  if (!started.ok()) {
    complaints_.push_back(absl::StrCat("again: ", started.message()));
    return;
  }
  if (!acknowledged_.empty()) {
    const std::vector<v1::LedgerEntry> entries = ReadLedger(server_.address(), kLedger);
    for (const auto& [sequence, text] : acknowledged_) {
      const bool there = sequence < entries.size() && entries[sequence].note().text() == text;
      if (!there) complaints_.push_back(absl::StrCat("entry ", sequence, " is lost"));
    }
    for (const std::string& complaint : Auditor(kLedger).Audit(server_.address())) {
      complaints_.push_back(absl::StrCat("again: ", complaint));
    }
  }
  // The same requests once more: what was stored is not stored again, and the rest is taken.
  const Acknowledged before = acknowledged_;
  again_ = true;
  if (!Work(false)) complaints_.emplace_back("again: it does not take what it is given");
  for (const auto& [sequence, text] : before) {
    if (acknowledged_[sequence] != text) complaints_.emplace_back("again: another receipt");
  }
  if (acknowledged_.size() != kBatches * kNotes ||
      acknowledged_.rbegin()->first != kBatches * kNotes) {
    complaints_.emplace_back("again: something is there twice");
  }
  if (server_.End(SIGTERM) != 0) complaints_.emplace_back("again: it did not end well");
}

}  // namespace dpledger::testing
