// A storm of retries: every request is sent 1 to 20 times over several servers on one PostgreSQL
// database, all in any order, some with other entries under the same id. Each is stored once, and
// every answer to it is the same. DPLEDGER_FAULT_ROUNDS: how many storms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "connection/connection.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "tests/fault/auditor.h"
#include "tests/fault/crashing_server.h"
#include "tests/fault/power_rounds.h"
#include "tests/fault/released.h"
#include "tests/ledger_store/postgres_server.h"

namespace dpledger::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kServers = 3;
constexpr int kSenders = 6;
constexpr int kRequests = 60;
constexpr int kMostSends = 20;

struct Send {
  int request;
  bool other;  // other entries under the request's id
  int server;
  absl::StatusOr<v1::Receipt> answer = absl::UnknownError("not sent");
};

std::vector<Send> MakeSends(std::mt19937_64& random) {
  std::vector<Send> sends;
  for (int request = 0; request < kRequests; ++request) {
    const bool contested = random() % 3 == 0;
    const uint64_t copies = 1 + random() % kMostSends;
    for (uint64_t copy = 0; copy < copies; ++copy) {
      sends.push_back(
          {request, contested && random() % 2 == 0, static_cast<int>(random() % kServers)});
    }
  }
  std::shuffle(sends.begin(), sends.end(), random);
  return sends;
}

std::string IdOf(int request) { return absl::StrCat("request-", request); }
std::string TextOf(int request, bool other, int note) {
  return absl::StrCat("request ", request, other ? " as another" : "", ", note ", note);
}
int NotesOf(int request) { return 1 + request % 3; }

class Storm {
 public:
  Storm() {
    const std::string connection = folder_.Write("postgres", postgres_.Connection());
    chmod(connection.c_str(), 0600);
    for (int i = 0; i < kServers; ++i) {
      servers_.push_back(std::make_unique<CrashingServer>(CrashingServer::Options{
          .flags = {"--postgres", connection, "--signing-key", folder_.File("key"),
                    "--checkpoint-seconds", "0.05", "--accept-missing-checkpoint"}}));
    }
  }
  PostgresServer& postgres() { return postgres_; }

  // Sends all of it to a new ledger; what is wrong with the answers and the ledger.
  std::vector<std::string> Rage(const std::string& ledger, std::mt19937_64& random) {
    CreateLedger(ledger);
    std::vector<Send> sends = MakeSends(random);
    std::atomic<size_t> next = 0;
    std::vector<std::thread> senders;
    for (int i = 0; i < kSenders; ++i) {
      senders.emplace_back([&] {
        for (size_t send = next++; send < sends.size(); send = next++) {
          sends[send].answer = Ask(ledger, sends[send]);
        }
      });
    }
    for (std::thread& sender : senders) sender.join();
    sends_ += sends.size();
    if (AServerHasEnded()) return {"a server has ended"};
    std::vector<std::string> wrong;
    CheckAnswers(sends, ReadLedger(servers_[0]->address(), ledger), wrong);
    // All servers show the same, and can prove it.
    for (const auto& server : servers_) {
      for (std::string& complaint : Auditor(ledger).Audit(server->address())) {
        wrong.push_back(std::move(complaint));
      }
    }
    return wrong;
  }
  bool AServerHasEnded() {
    return std::count_if(servers_.begin(), servers_.end(),
                         [](const auto& server) { return server->HasEnded(); }) > 0;
  }
  size_t sends() const { return sends_; }
  size_t refused() const { return refused_; }

 private:
  void CreateLedger(const std::string& ledger) {
    v1::CreateLedgerRequest request;
    request.set_name(ledger);
    *request.mutable_declaration() = FaultDeclaration();
    request.set_request_id("create");
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    v1::Ledger made;
    const grpc::Status status =
        v1::LedgerService::NewStub(connection::Connect(servers_[0]->address()).value())
            ->CreateLedger(&context, request, &made);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }

  absl::StatusOr<v1::Receipt> Ask(const std::string& ledger, const Send& send) {
    v1::AppendBatchRequest request;
    request.set_ledger(ledger);
    request.set_writer("writer");
    request.set_request_id(IdOf(send.request));
    for (int note = 0; note < NotesOf(send.request); ++note) {
      request.add_entries()->mutable_note()->set_text(TextOf(send.request, send.other, note));
    }
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    v1::AppendBatchResponse response;
    const auto stub = v1::LedgerService::NewStub(
        connection::Connect(servers_[static_cast<size_t>(send.server)]->address()).value());
    const grpc::Status status = stub->AppendBatch(&context, request, &response);
    if (!status.ok()) return connection::FromGrpc(status);
    return response.receipt();
  }

  void CheckAnswers(const std::vector<Send>& sends, const std::vector<v1::LedgerEntry>& entries,
                    std::vector<std::string>& wrong) {
    std::map<std::string, std::vector<const v1::LedgerEntry*>> stored;
    for (const v1::LedgerEntry& entry : entries) stored[entry.request_id()].push_back(&entry);
    std::map<int, const Send*> taken;
    for (const Send& send : sends) {
      const std::string id = IdOf(send.request);
      if (!send.answer.ok()) {
        if (ReasonOf(send.answer.status()).reason == "REQUEST_ID_REUSED") {
          ++refused_;
        } else {
          wrong.push_back(absl::StrCat(id, ": ", send.answer.status().ToString()));
        }
        continue;
      }
      const auto [first, fresh] = taken.emplace(send.request, &send);
      if (!fresh &&
          (first->second->other != send.other ||
           first->second->answer->SerializeAsString() != send.answer->SerializeAsString())) {
        wrong.push_back(absl::StrCat(id, " got two answers"));
      }
    }
    for (int request = 0; request < kRequests; ++request) {
      const auto& its = stored[IdOf(request)];
      const auto winner = taken.find(request);
      if (winner == taken.end()) {
        wrong.push_back(absl::StrCat(IdOf(request), " was never taken"));
        continue;
      }
      if (its.size() != static_cast<size_t>(NotesOf(request))) {
        wrong.push_back(
            absl::StrCat(IdOf(request), " has ", its.size(), " entries, not ", NotesOf(request)));
      }
      for (int note = 0; note < NotesOf(request) && note < static_cast<int>(its.size()); ++note) {
        const v1::LedgerEntry& entry = *its[static_cast<size_t>(note)];
        if (entry.sequence() != winner->second->answer->first_sequence() + note ||
            entry.note().text() != TextOf(request, winner->second->other, note)) {
          wrong.push_back(absl::StrCat(IdOf(request), " is not what was acknowledged"));
        }
      }
    }
  }

  PostgresServer postgres_;
  TemporaryFolder folder_;
  std::vector<std::unique_ptr<CrashingServer>> servers_;
  size_t sends_ = 0;
  size_t refused_ = 0;
};

TEST(RetryStorm, StoresEachRequestOnceAndAnswersItAlike) {
  std::mt19937_64 random(FaultSeed());
  const int rounds = FaultRounds(2);
  Storm storm;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    SCOPED_TRACE(absl::StrCat("storm ", round));
    EXPECT_THAT(storm.Rage(absl::StrCat("projects/p/ledgers/", round), random), IsEmpty());
  }
  std::cout << rounds << " storms, " << rounds * kRequests << " requests, " << storm.sends()
            << " sent, " << storm.refused() << " refused as reused ids\n";
}

// The control: a database that forgets request ids, once servers have all their connections. One
// that dials anew meanwhile notices it itself, and ends.
TEST(RetryStorm, NoticesAStoreThatForgetsRequestIds) {
  std::mt19937_64 random(1);
  Storm storm;
  ASSERT_THAT(storm.Rage("projects/p/ledgers/before", random), IsEmpty());
  storm.postgres().Must(
      "CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS "
      "'BEGIN DELETE FROM dpledger.requests; RETURN NULL; END';"
      "CREATE TRIGGER forget AFTER INSERT ON dpledger.requests "
      "FOR EACH STATEMENT EXECUTE FUNCTION forget()");
  const std::vector<std::string> wrong = storm.Rage("projects/p/ledgers/forgotten", random);
  if (storm.AServerHasEnded()) return;
  EXPECT_THAT(wrong, Contains(HasSubstr("got two answers")));
  EXPECT_THAT(wrong, Contains(HasSubstr(" entries, not ")));
}

}  // namespace
}  // namespace dpledger::testing
