#include "tests/fault/crashing_server.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "absl/time/clock.h"
#include "connection/connection.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"

namespace dpledger::testing {

CrashingServer::CrashingServer(Options options)
    : options_(std::move(options)),
      host_(options_.host.empty() ? OwnLoopbackAddress() : options_.host),
      address_(host_ + ":0") {
  std::filesystem::create_directory(folder_.File("files"));
  Start();
}

CrashingServer::~CrashingServer() {
  if (pid_ > 0) Kill();
}

bool CrashingServer::HasEnded() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = 0;
  return pid_ == 0;
}

void CrashingServer::Kill() {
  EXPECT_EQ(StopProgram(pid_, SIGKILL), 128 + SIGKILL) << "the server had ended by itself";
  pid_ = 0;
}

void CrashingServer::Pause() {
  EXPECT_EQ(kill(pid_, SIGSTOP), 0);
  // The signal stops one thread, and that one the others: until then they may still answer.
  const absl::Time late = absl::Now() + absl::Seconds(60);
  int status = 0;
  pid_t stopped = 0;
  while ((stopped = waitpid(pid_, &status, WUNTRACED | WNOHANG)) == 0 && absl::Now() < late) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  if (stopped != pid_ || !WIFSTOPPED(status)) throw std::runtime_error("the server does not stop");
}

void CrashingServer::Resume() { EXPECT_EQ(kill(pid_, SIGCONT), 0); }

std::string CrashingServer::Log() const {
  std::ostringstream log;
  log << std::ifstream(folder_.File("log")).rdbuf();
  return log.str();
}

void CrashingServer::Start() {
  const std::string port_file = folder_.File("port");
  unlink(port_file.c_str());
  std::vector<std::string> words = options_.prefix;
  for (const std::string& word :
       {BinaryPath("dpledger-server"), std::string("--listen"), address_,
        std::string("--port-file"), port_file, std::string("--store"), files() + "/store",
        std::string("--checkpoint-copy"), files() + "/store.checkpoint"}) {
    words.push_back(word);
  }
  words.insert(words.end(), options_.flags.begin(), options_.flags.end());
  const std::string log = folder_.File("log");
  const pid_t pid = StartProgram(words, log);
  const std::string listens = AwaitFirstLine(pid, port_file, log);
  pid_ = pid;
  address_ = host_ + listens.substr(listens.rfind(':'));
}

void CopyFiles(const std::string& from, const std::string& to) {
  namespace fs = std::filesystem;
  fs::remove_all(to);
  fs::create_directories(to);
  for (const auto& file : fs::recursive_directory_iterator(from)) {
    const fs::path copy = to / fs::relative(file.path(), from);
    if (file.is_directory()) fs::create_directory(copy);
    if (file.is_regular_file()) fs::copy_file(file.path(), copy);
  }
}

std::vector<v1::LedgerEntry> ReadLedger(const std::string& address, const std::string& name) {
  const auto stub = v1::LedgerService::NewStub(connection::Connect(address).value());
  std::vector<v1::LedgerEntry> entries;
  std::map<std::string, uint64_t> writer_counters;
  v1::ReadEntriesRequest request;
  request.set_ledger(name);
  do {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    v1::ReadEntriesResponse page;
    const grpc::Status status = stub->ReadEntries(&context, request, &page);
    EXPECT_TRUE(status.ok()) << status.error_message();
    if (!status.ok()) return entries;
    for (const std::string& bytes : page.entries()) {
      EXPECT_TRUE(entries.emplace_back().ParseFromString(bytes));
      const v1::LedgerEntry& entry = entries.back();
      EXPECT_EQ(entry.sequence(), entries.size() - 1);
      if (!entry.writer().empty()) {
        EXPECT_EQ(entry.writer_counter(), writer_counters[entry.writer()]++);
      }
    }
    request.set_first_sequence(page.next_sequence());
  } while (request.first_sequence() != 0);
  return entries;
}

}  // namespace dpledger::testing
