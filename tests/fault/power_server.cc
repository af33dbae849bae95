#include "tests/fault/power_server.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "connection/connection.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "tests/fault/crashing_server.h"
#include "tests/fault/released.h"

namespace dpledger::testing {
namespace {

constexpr int kWriters = 4;
constexpr int kMostNotes = 8;
constexpr int kMostNoteBytes = 1000;

// A server that neither answers nor ends must not hang the test.
void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
}

bool Create(v1::LedgerService::Stub& stub, const std::string& ledger) {
  v1::CreateLedgerRequest request;
  request.set_name(ledger);
  *request.mutable_declaration() = FaultDeclaration();
  request.set_request_id("create");  // the same in every round: it is made once
  grpc::ClientContext context;
  SetDeadline(context);
  v1::Ledger made;
  return stub.CreateLedger(&context, request, &made).ok();
}

// Appends until the first refusal; what is acknowledged goes into `acknowledged`.
void AppendNotes(const std::string& address, const std::string& ledger, const std::string& id,
                 int batches, uint64_t seed, Acknowledged& acknowledged) {
  const auto stub = v1::LedgerService::NewStub(connection::Connect(address).value());
  if (!Create(*stub, ledger)) return;
  std::mt19937_64 random(seed);
  for (int batch = 0; batch < batches; ++batch) {
    v1::AppendBatchRequest request;
    request.set_ledger(ledger);
    request.set_writer("writer");
    request.set_request_id(absl::StrCat(id, "-", batch));
    for (uint64_t note = 0; note <= random() % kMostNotes; ++note) {
      request.add_entries()->mutable_note()->set_text(
          absl::StrCat(id, " ", batch, " ", note, " ",
                       std::string(random() % kMostNoteBytes, static_cast<char>('a' + note))));
    }
    grpc::ClientContext context;
    SetDeadline(context);
    v1::AppendBatchResponse response;
    if (!stub->AppendBatch(&context, request, &response).ok()) return;
    const uint64_t first = response.receipt().first_sequence();
    for (int i = 0; i < request.entries_size(); ++i) {
      acknowledged[first + i] = request.entries(i).note().text();
    }
  }
}

}  // namespace

PoweredServer::~PoweredServer() { Kill(); }

absl::Status PoweredServer::PowerOn() {
  ASSIGN_OR_RETURN(disk_, FaultFs::Mount(folder_.File("disk"), folder_.File("mount")));
  return absl::OkStatus();
}

absl::Status PoweredServer::Start() {
  const std::string port_file = folder_.File("port");
  const std::string log_file = folder_.File("log");
  unlink(port_file.c_str());
  unlink(log_file.c_str());
  pid_ = StartProgram({BinaryPath("dpledger-server"), "--listen", "127.0.0.1:0", "--port-file",
                       port_file, "--store", disk_->path() + "/store"},
                      log_file);
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (std::ifstream(port_file) >> address_) return absl::OkStatus();
    absl::SleepFor(absl::Milliseconds(5));
  }
  pid_ = 0;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return absl::UnavailableError(absl::StrCat("dpledger-server did not start: ", Log()));
}

std::string PoweredServer::Log() const {
  std::ostringstream log;
  log << std::ifstream(folder_.File("log")).rdbuf();
  return log.str();
}

int PoweredServer::End(int signal) {
  if (pid_ <= 0) return exit_code_;
  int status = 0;
  if (signal != 0) kill(pid_, signal);
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return exit_code_;
}

void PoweredServer::Append(int batches, uint64_t seed) {
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) {
    const std::string ledger = absl::StrCat("projects/default/ledgers/notes", i);
    writers.emplace_back(AppendNotes, address_, ledger, absl::StrCat("r", ++requests_), batches,
                         seed + static_cast<uint64_t>(i), std::ref(acknowledged_[ledger]));
  }
  for (std::thread& writer : writers) writer.join();
}

void PoweredServer::Kill() {
  if (pid_ <= 0) return;
  StopProgram(pid_, SIGKILL);
  pid_ = 0;
}

void PoweredServer::PowerOff(Survival survival, uint64_t seed) {
  const absl::Status cut = disk_->Cut(survival, seed);
  EXPECT_TRUE(cut.ok()) << cut;
  Kill();
  const absl::Status unmounted = disk_->Unmount();
  EXPECT_TRUE(unmounted.ok()) << unmounted;
}

uint64_t PoweredServer::Lost() const {
  uint64_t lost = 0;
  for (const auto& [ledger, notes] : acknowledged_) {
    if (notes.empty()) continue;
    const std::vector<v1::LedgerEntry> entries = ReadLedger(address_, ledger);
    for (const auto& [sequence, text] : notes) {
      const bool there = sequence < entries.size() && entries[sequence].note().text() == text;
      if (!there) ++lost;
    }
  }
  return lost;
}

uint64_t PoweredServer::AcknowledgedCount() const {
  uint64_t count = 0;
  for (const auto& [ledger, notes] : acknowledged_) count += notes.size();
  return count;
}

}  // namespace dpledger::testing
