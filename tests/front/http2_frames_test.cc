#include "front/http2_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "front/allowance.h"

namespace dpledger::front {
namespace {

using ::testing::ElementsAre;

std::string Frame(uint8_t type, uint8_t flags, uint32_t length) {
  std::string frame = {static_cast<char>(length >> 16), static_cast<char>(length >> 8),
                       static_cast<char>(length), static_cast<char>(type),
                       static_cast<char>(flags)};
  return frame + std::string(4, '\1') + std::string(length, '\x03');
}

TEST(FrameReader, FindsTheSameFramesHoweverTheBytesAreCut) {
  const std::string bytes = std::string(kHttp2Preface) + Frame(kSettings, 0, 0) +
                            Frame(kHeaders, 4, 300) + Frame(kData, 1, 70000) +
                            Frame(kResetStream, 0, 4) + Frame(kPing, 1, 8);
  for (const size_t step : {1, 2, 3, 8, 9, 10, 23, 24, 25, 1000, 1 << 20}) {
    FrameReader reader(kHttp2Preface.size());
    std::vector<int> types;
    std::vector<uint32_t> lengths;
    EXPECT_FALSE(reader.between_frames());
    for (size_t at = 0; at < bytes.size(); at += step) {
      reader.Read(std::string_view(bytes).substr(at, step), [&](const FrameHeader& frame) {
        types.push_back(frame.type);
        lengths.push_back(frame.length);
      });
    }
    EXPECT_THAT(types, ElementsAre(kSettings, kHeaders, kData, kResetStream, kPing)) << step;
    EXPECT_THAT(lengths, ElementsAre(0, 300, 70000, 4, 8)) << step;
    EXPECT_TRUE(reader.between_frames());
    reader.Read("\1", [](const FrameHeader&) {});
    EXPECT_FALSE(reader.between_frames());
  }
}

TEST(Allowance, ComesBackWithTimeAndNotBeyondItsBurst) {
  const absl::Time start = absl::FromUnixSeconds(1000);
  Allowance allowance({.burst = 10, .per_second = 2}, start);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(allowance.Take(1, start));
  EXPECT_FALSE(allowance.Take(1, start));
  EXPECT_FALSE(allowance.Full(start));
  EXPECT_FALSE(allowance.Take(1, start + absl::Seconds(0.4)));
  EXPECT_TRUE(allowance.Take(1, start + absl::Seconds(1)));
  EXPECT_TRUE(allowance.Full(start + absl::Hours(1)));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(allowance.Take(1, start + absl::Hours(1)));
  EXPECT_FALSE(allowance.Take(1, start + absl::Hours(1)));
}

TEST(Allowance, AClockThatGoesBackGivesNothing) {
  const absl::Time start = absl::FromUnixSeconds(1000);
  Allowance allowance({.burst = 1, .per_second = 1}, start);
  EXPECT_TRUE(allowance.Take(1, start));
  EXPECT_FALSE(allowance.Take(1, start - absl::Hours(1)));
}

TEST(Allowance, FramesThatOpenStreamsOrCarryDataCostNothing) {
  EXPECT_EQ(CostOf({.length = 4, .type = kResetStream}), 1);
  EXPECT_EQ(CostOf({.length = 8, .type = kPing}), 0.1);
  EXPECT_EQ(CostOf({.length = 0, .type = kData}), 0.1);
  EXPECT_EQ(CostOf({.length = 0, .type = kData, .flags = 1}), 0);  // the end of a request
  EXPECT_EQ(CostOf({.length = 5, .type = kData}), 0);
  EXPECT_EQ(CostOf({.length = 50, .type = kHeaders}), 0);
  EXPECT_EQ(CostOf({.length = 4, .type = kWindowUpdate}), 0);
}

}  // namespace
}  // namespace dpledger::front
