// libdpledger_accounting by its C header alone.
#include <fenv.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <string>
#include <thread>
#include <vector>

#include "dpledger_accounting.h"
#include "tests/accounting/library_call.h"

namespace dpledger::accounting {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int32_t kJson = DPLEDGER_ACCOUNTING_JSON;

std::string Question(const std::string& subject) {
  return R"({"delta": 1e-5, "options": {"method": "PLD"}, "subject": )" + subject + "}";
}
std::string SomeEvents() {
  return R"({"events": [{"rounds": {"count": 1000, "scheme": {"poisson": {"probability": 0.01}},
             "queries": [{"l2NormBound": 1, "noiseStddev": 1}]}}]})";
}
LibraryAnswer Ask(const std::string& subject) {
  return AskLibrary(kJson, "ComputeEpsilon", Question(subject));
}

TEST(Library, SaysWhatItIs) {
  EXPECT_EQ(dpledger_accounting_abi_version(), 0x10000u);
  EXPECT_THAT(Ask(SomeEvents()).bytes,
              HasSubstr(std::string("\"version\":\"") + dpledger_accounting_version() + '"'));
}

TEST(Library, RefusesWhatIsNotAboutEvents) {
  for (const auto& [subject, field] : std::vector<std::pair<std::string, std::string>>{
           {R"({"ledgers": ["projects/p/ledgers/l"]})", "ledgers"},
           {R"({"dataset": "d"})", "dataset"},
           {R"({"upToSequence": "3"})", "up_to_sequence"}}) {
    const LibraryAnswer answer = Ask(subject);
    EXPECT_EQ(answer.code, 3);
    EXPECT_THAT(answer.bytes, HasSubstr("\"subject." + field +
                                        ": must not be given: without a server there are no "
                                        "ledgers, only events\""));
    EXPECT_THAT(answer.bytes, HasSubstr("\"metadata\":{\"field\":\"subject." + field + "\"}"));
  }
  EXPECT_THAT(Ask("{}").bytes, HasSubstr("\"subject.events: must be given\""));
}

TEST(Library, RefusesWhatIsNoQuestion) {
  EXPECT_EQ(AskLibrary(kJson, "computeEpsilon", "{}").code, 12);
  EXPECT_EQ(AskLibrary(kJson, "", "{}").code, 12);
  EXPECT_EQ(AskLibrary(2, "ComputeEpsilon", "").code, 3);
  EXPECT_EQ(AskLibrary(-1, "ComputeEpsilon", "").code, 3);
  EXPECT_EQ(AskLibrary(0, "ComputeEpsilon", "\xff").code, 3);
  EXPECT_EQ(AskLibrary(kJson, "ComputeEpsilon", "").code, 3);
  EXPECT_EQ(AskLibrary(kJson, "ComputeEpsilon", std::string(100'000, '[')).code, 3);
  EXPECT_EQ(AskLibrary(kJson, "ComputeEpsilon", R"({"delta": 1, "delta": 1})").code, 3);

  void* answer = &answer;
  size_t size = 7;
  EXPECT_EQ(dpledger_accounting_call(0, nullptr, "", 0, &answer, &size), 3);
  EXPECT_THAT(std::string(static_cast<char*>(answer), size), HasSubstr("method: must not be NULL"));
  dpledger_accounting_free(answer);
  EXPECT_EQ(dpledger_accounting_call(0, "ComputeEpsilon", nullptr, 1, &answer, &size), 3);
  EXPECT_THAT(std::string(static_cast<char*>(answer), size),
              HasSubstr("question: must not be NULL"));
  dpledger_accounting_free(answer);
  answer = &answer;
  EXPECT_EQ(dpledger_accounting_call(0, "ComputeEpsilon", "", 0, &answer, nullptr), 3);
  EXPECT_EQ(answer, nullptr);
  EXPECT_EQ(dpledger_accounting_call(0, "ComputeEpsilon", "", 0, nullptr, &size), 3);
  EXPECT_EQ(size, 0u);
  dpledger_accounting_free(nullptr);
}

// What torch.set_flush_denormal(True) sets, another rounding, and traps for what the accountant
// computes by the way.
TEST(Library, AnswersTheSameWhateverTheThreadHasSet) {
  const LibraryAnswer expected = Ask(SomeEvents());
  ASSERT_EQ(expected.code, 0) << expected.bytes;
  std::fenv_t before;
  ASSERT_EQ(std::fegetenv(&before), 0);
  for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(rounding);
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW);
#if defined(__SSE2__)
    _mm_setcsr(_mm_getcsr() | 0x8040);  // FTZ, DAZ
    const unsigned set = _mm_getcsr();
#endif
    const LibraryAnswer answer = Ask(SomeEvents());
    const int left = std::fegetround();
#if defined(__SSE2__)
    EXPECT_EQ(_mm_getcsr(), set);
#endif
    std::fesetenv(&before);
    EXPECT_EQ(answer, expected);
    EXPECT_EQ(left, rounding);
  }
}

TEST(Library, AnswersManyThreadsAtOnce) {
  const LibraryAnswer expected = Ask(SomeEvents());
  std::vector<std::thread> threads;
  std::vector<int> same(4);
  for (int& count : same) {
    threads.emplace_back([&count, &expected] {
      for (int i = 0; i < 20; ++i) count += Ask(SomeEvents()) == expected ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(same, ::testing::Each(20));
}

}  // namespace
}  // namespace dpledger::accounting
