// What another thread does meanwhile: to the gradients, or to the same object.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "client/clipped_sum.h"
#include "client/correlated_privatizer.h"
#include "client/privatizer.h"
#include "tests/client/plain_clip.h"
#include "tests/support/list_recorder.h"
#include "tests/support/targets.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::ListRecorder;
using ::dpledger::testing::OnEveryTarget;

// Memory whose last page, once it is closed, calls back at the first access to it: so the test
// knows where the reader is.
class WatchedMemory {
 public:
  explicit WatchedMemory(size_t pages)
      : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))), bytes_(pages * page_) {
    at_ = static_cast<char*>(
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(at_, MAP_FAILED);
    only_ = this;
    struct sigaction action = {};
    action.sa_sigaction = &WatchedMemory::Touched;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_);
  }
  ~WatchedMemory() {
    sigaction(SIGSEGV, &before_, nullptr);
    munmap(at_, bytes_);
  }

  void CloseLastPage(std::function<void()> on_access) {
    on_access_ = std::move(on_access);
    ASSERT_EQ(mprotect(at_ + bytes_ - page_, page_, PROT_NONE), 0);
  }

  // All pages but the last one get these bytes over and over.
  void Fill(const void* number, size_t width) {
    for (size_t i = 0; i < bytes_ - page_; i += width) std::memcpy(at_ + i, number, width);
  }

  const void* data() const { return at_; }
  size_t bytes() const { return bytes_; }

 private:
  static void Touched(int, siginfo_t* info, void*) {
    auto* const at = static_cast<char*>(info->si_addr);
    if (at < only_->at_ || at >= only_->at_ + only_->bytes_) std::abort();
    only_->on_access_();
    mprotect(only_->at_ + only_->bytes_ - only_->page_, only_->page_, PROT_READ | PROT_WRITE);
  }

  static WatchedMemory* only_;
  const size_t page_, bytes_;
  char* at_;
  std::function<void()> on_access_;
  struct sigaction before_;
};

WatchedMemory* WatchedMemory::only_ = nullptr;

// The row is refused, for its scale is far too large. It is changed when the adder has come to its
// last page: taking back what it is by then would leave 32 2^20 of norm behind, twice K.
TEST(SharedBuffer, NothingOfARefusedRowIsLeftThoughItChanges) {
  constexpr double kScale = 0x1p20;
  for (const NumberFormat format : {NumberFormat::kFloat32, NumberFormat::kBfloat16}) {
    const float floats[] = {1, 0, 0.75f, 1e25f};
    for (size_t written = 1; written < 4; ++written) {
      OnEveryTarget([&](const std::string& target) {
        WatchedMemory memory(3);
        const size_t size = memory.bytes() / BytesOf(format);
        const auto fill = [&](float value) {
          char bytes[4];
          std::memcpy(bytes, &value, 4);  // little-endian: a bfloat16 is the upper half
          const size_t width = BytesOf(format);
          memory.Fill(bytes + (4 - width), width);
        };
        fill(floats[0]);
        bool changed = false;
        memory.CloseLastPage([&] {
          fill(floats[written]);
          changed = true;
        });
        const auto clip = OnePart(size, 1, int64_t{1} << 24);
        ASSERT_TRUE(clip.ok());
        std::vector<int64_t> sums(size);
        clip->AddScaled({memory.data(), 1, size, format}, {kScale}, absl::MakeSpan(sums));
        EXPECT_TRUE(changed);
        EXPECT_EQ(std::count(sums.begin(), sums.end(), 0), static_cast<int64_t>(size))
            << target << " " << written;
      });
    }
  }
}

const absl::Status kSumInUse =
    absl::FailedPreconditionError("sum: another thread is using it: one call at a time");

TEST(SharedSum, RefusesASecondThread) {
  WatchedMemory memory(2);
  const size_t size = memory.bytes() / sizeof(float);
  auto sum = ClippedSum::Create({{{"w", size, 1.0}}, 1.0});
  ASSERT_TRUE(sum.ok());
  const GradientRows row = {memory.data(), 1, size};
  const std::vector<float> other(size, 1);

  std::atomic<bool> first_is_inside = false, second_has_ended = false;
  std::vector<absl::Status> answers;
  std::thread second([&] {
    while (!first_is_inside) std::this_thread::yield();
    answers = {sum->Accumulate(other), sum->Accumulate({other.data(), 1, size}, {1.0}),
               sum->AddSums(std::vector<int64_t>(size), 1), sum->SetClipNorm(2)};
    second_has_ended = true;
  });
  memory.CloseLastPage([&] {
    first_is_inside = true;
    while (!second_has_ended) std::this_thread::yield();
  });
  EXPECT_EQ(sum->Accumulate(row), absl::OkStatus());
  first_is_inside = true;  // if nothing was read, the test fails and does not hang
  second.join();
  EXPECT_THAT(answers, ::testing::ElementsAre(kSumInUse, kSumInUse, kSumInUse, kSumInUse));
  EXPECT_THAT(sum->sums(), ::testing::Each(0));
  // Afterwards it may be used again.
  EXPECT_EQ(sum->Accumulate(other), absl::OkStatus());
}

// Lets another thread work while a call awaits the ledger.
class MeanwhileRecorder : public ListRecorder {
 public:
  absl::Status AwaitReleasable(uint64_t number) override {
    if (meanwhile) std::thread(meanwhile).join();
    return ListRecorder::AwaitReleasable(number);
  }
  std::function<void()> meanwhile;
};

TEST(SharedPrivatizer, RefusesASecondThread) {
  MeanwhileRecorder recorder;
  const auto privatizer = *Privatizer::Create({{{"w", 2, 1.0}}, 1.0}, &recorder);
  const accountant::SamplingScheme scheme;  // a full batch
  std::vector<absl::Status> answers;
  const std::vector<float> row = {1, 0};
  recorder.meanwhile = [&] {
    answers = {privatizer->BeginStep(scheme),
               privatizer->Accumulate(row),
               privatizer->Accumulate({row.data(), 1, 2}),
               privatizer->Accumulate({row.data(), 1, 2}, {1.0}),
               privatizer->AddSums({1, 1}, 1),
               privatizer->Finish().status()};
  };
  ASSERT_EQ(privatizer->BeginStep(scheme), absl::OkStatus());
  EXPECT_TRUE(privatizer->Finish().ok());
  EXPECT_EQ(answers.size(), 6u);
  EXPECT_THAT(answers, ::testing::Each(absl::FailedPreconditionError(
                           "privatizer: another thread is using it: one call at a time")));
}

TEST(SharedRun, RefusesASecondThread) {
  MeanwhileRecorder recorder;
  CorrelatedOptions options;
  options.sums = {{{"w", 2, 0.5}}, 2.0};
  options.steps = 2;
  const auto run = *CorrelatedPrivatizer::BeginRun(options, &recorder);
  std::vector<absl::Status> answers;
  const std::vector<float> row = {1, 0};
  recorder.meanwhile = [&] {
    answers = {run->Accumulate(row), run->Accumulate({row.data(), 1, 2}),
               run->Accumulate({row.data(), 1, 2}, {1.0}), run->AddSums({1, 1}, 1),
               run->FinishStep().status()};
  };
  EXPECT_TRUE(run->FinishStep().ok());
  EXPECT_EQ(answers.size(), 5u);
  EXPECT_THAT(answers, ::testing::Each(absl::FailedPreconditionError(
                           "run: another thread is using it: one call at a time")));
}

}  // namespace
}  // namespace dpledger::client
