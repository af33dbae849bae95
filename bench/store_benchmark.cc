// How many events a second the embedded store makes durable, beside what a bare file with the same
// grouping reaches in the same run.
//
//   store_benchmark [--seconds S]
//
// 64 writers, each with one batch on its way at a time, each on a ledger of its own. The limit: 64
// writers that hand as many bytes to one thread, which appends all that waits to a file, calls
// fdatasync and answers. What is appended is made before the clock runs, the raw bytes as well as
// the requests: a server's requests come ready from the network. The two take short turns, for the
// disk has fast and slow phases; medians of the turns are printed as one JSON object.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "bench/program.h"
#include "ledger_store/embedded/embedded_store.h"

namespace dpledger {
namespace {

constexpr int kWriters = 64;
// Of a fifth of a second or so each: the requests of one fit in a few hundred MB.
constexpr int kMinTurns = 5;
constexpr double kTurnSeconds = 0.2;
// No store answers faster: so many requests are enough for every turn.
constexpr double kMostEventsPerSecond = 4e6;
constexpr double kMostCallsPerSecond = 2e5;

using bench::Die;

// Appends what waits to a file, with one thread and one fdatasync for all of it.
class RawLog {
 public:
  explicit RawLog(const std::string& path)
      : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)),
        thread_([this] { Run(); }) {
    if (fd_ < 0) Die("cannot make " + path);
  }
  ~RawLog() {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
    }
    thread_.join();
    ::close(fd_);
  }
  void Append(const std::string& bytes) {
    absl::BlockingCounter durable(1);
    {
      absl::MutexLock lock(&mutex_);
      waiting_bytes_ += bytes;
      waiting_.push_back(&durable);
    }
    durable.Wait();
  }

 private:
  void Run() {
    // Both buffers keep their memory: the loop allocates nothing, whatever else the process does.
    std::string bytes;
    std::vector<absl::BlockingCounter*> group;
    while (true) {
      bytes.clear();
      group.clear();
      {
        const auto ready = [this] { return stopping_ || !waiting_.empty(); };
        absl::MutexLock lock(&mutex_, absl::Condition(&ready));
        if (waiting_.empty()) return;
        bytes.swap(waiting_bytes_);
        group.swap(waiting_);
      }
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written != static_cast<ssize_t>(bytes.size()) || ::fdatasync(fd_) != 0) {
        Die("the raw log cannot be written");
      }
      for (absl::BlockingCounter* durable : group) durable->DecrementCount();
    }
  }

  const int fd_;
  absl::Mutex mutex_;
  std::string waiting_bytes_;
  std::vector<absl::BlockingCounter*> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

// Calls make(writer) in a thread for each writer, and then, once all are ready, append(writer, i)
// for i = 0, 1, ..., most_calls - 1 until the time is over; calls a second.
double CallsPerSecond(double seconds, uint64_t most_calls, const std::function<void(int)>& make,
                      const std::function<void(int, uint64_t)>& append) {
  std::atomic<bool> over = false;
  std::atomic<uint64_t> calls = 0;
  absl::BlockingCounter ready(kWriters);
  absl::Notification go;
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      make(w);
      ready.DecrementCount();
      go.WaitForNotification();
      uint64_t i = 0;
      while (!over && i < most_calls) append(w, i++);
      calls += i;
    });
  }
  ready.Wait();
  const absl::Time start = absl::Now();
  go.Notify();
  absl::SleepFor(absl::Seconds(seconds));
  over = true;
  for (std::thread& writer : writers) writer.join();
  return static_cast<double>(calls) / absl::ToDoubleSeconds(absl::Now() - start);
}

std::string LedgerName(int turn, int writer, int batch) {
  return absl::StrCat("projects/bench/ledgers/t", turn, "w", writer, "b", batch);
}

v1::AppendBatchRequest Request(const std::string& ledger, uint64_t number, int batch) {
  v1::AppendBatchRequest request;
  request.set_ledger(ledger);
  request.set_writer("trainer");
  request.set_request_id(absl::StrFormat("01234567-89ab-cdef-0123-%012x", number));
  for (int i = 0; i < batch; ++i) {
    v1::NewEntry& entry = *request.add_entries();
    entry.mutable_claimed_time()->set_seconds(1'700'000'040);
    v1::SumQueryEvent& sum = *entry.mutable_event()->mutable_sum_query();
    sum.set_round(number);
    sum.mutable_query()->set_group("weights");
    sum.mutable_query()->set_l2_norm_bound(1);
    sum.mutable_query()->set_noise_stddev(1.1);
  }
  return request;
}

// Makes the writers' ledgers of a turn; the bytes of one stored event.
size_t MakeLedgers(LedgerStore& store, int turn, int batch) {
  std::string name;
  for (int w = 0; w < kWriters; ++w) {
    v1::CreateLedgerRequest create;
    create.set_name(name = LedgerName(turn, w, batch));
    create.set_request_id("create");
    create.mutable_declaration()->set_dataset("bench");
    if (const auto created = store.Create(create); !created.ok()) {
      Die(std::string(created.status().message()));
    }
  }
  if (!store.Append(Request(name, 0, 1)).ok()) Die("cannot append");
  return store.Read(name, 1, 1, 1)->at(0).size();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// One line of the result.
std::string Measure(LedgerStore& store, RawLog& raw, int batch, double seconds) {
  const int turns = std::max(kMinTurns, static_cast<int>(seconds / (2 * kTurnSeconds)));
  const double turn_seconds = seconds / (2 * turns);
  const auto most_calls = static_cast<uint64_t>(
      1 + turn_seconds / kWriters * std::min(kMostCallsPerSecond, kMostEventsPerSecond / batch));
  std::vector<double> stored;
  std::vector<double> limit;
  for (int turn = 0; turn < turns; ++turn) {
    const size_t event_bytes = MakeLedgers(store, turn, batch);
    const std::string bytes(event_bytes * static_cast<size_t>(batch), 'x');
    limit.push_back(batch * CallsPerSecond(
                                turn_seconds, ~uint64_t{0}, [](int) {},
                                [&](int, uint64_t) { raw.Append(bytes); }));
    std::vector<std::vector<v1::AppendBatchRequest>> requests(kWriters);
    const auto make = [&](int writer) {
      for (uint64_t i = 0; i < most_calls; ++i) {
        requests[static_cast<size_t>(writer)].push_back(
            Request(LedgerName(turn, writer, batch), i + 1, batch));
      }
    };
    stored.push_back(
        batch * CallsPerSecond(turn_seconds, most_calls, make, [&](int writer, uint64_t i) {
          const auto receipt = store.Append(std::move(requests[static_cast<size_t>(writer)][i]));
          if (!receipt.ok()) Die(std::string(receipt.status().message()));
        }));
  }
  const double value = Median(stored);
  return absl::StrFormat(
      "  \"store/embedded_64x%d_events_per_s\": {\"value\": %.0f, \"unit\": \"1/s\", \"limit\": "
      "%.0f, "
      "\"ratio\": %.4f}",
      batch, value, Median(limit), value / Median(limit));
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const bench::ScratchFolder folder;
  EmbeddedOptions options;
  options.folder = folder.path() + "/store";
  auto store = OpenEmbeddedStore(options);
  bench::Check(store.status());
  RawLog raw(folder.path() + "/raw.log");
  const std::string one = Measure(**store, raw, 1, seconds / 2);
  const std::string hundred = Measure(**store, raw, 100, seconds / 2);
  std::printf("{\n%s,\n%s\n}\n", one.c_str(), hundred.c_str());
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
