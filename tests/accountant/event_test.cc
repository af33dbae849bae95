#include "accountant/event/event.h"

#include <gtest/gtest.h>

namespace dpledger::accountant {
namespace {

Mechanism One(auto kind) { return {1, std::move(kind)}; }

const Mechanism kGaussian = One(Gaussian{1}), kLaplace = One(Laplace{1});
const Mechanism kTruncated = One(TruncatedSubsampledGaussian{1000, .1, 100, 1});

TEST(Nature, OfSeveralIsTheGreatest) {
  EXPECT_EQ(NatureOf(One(Composed{{kGaussian, One(NoOp{})}})), Nature::kGaussian);
  EXPECT_EQ(NatureOf(One(Composed{{kGaussian, One(PoissonSampled{.1, {kGaussian}})}})),
            Nature::kSampledGaussian);
  EXPECT_EQ(NatureOf(One(PoissonSampled{.1, {kLaplace}})), Nature::kNoiseOnASum);
  EXPECT_EQ(NatureOf(One(RepeatAndSelect{{kLaplace}, 1, 0})), Nature::kOther);
}

// A search of one run around it once hid that a mechanism depends on the number of records.
TEST(Nature, IsSeenThroughEveryWrapper) {
  for (const Mechanism& wrapped :
       {One(PoissonSampled{.1, {kTruncated}}), One(SampledWithoutReplacement{9, 3, {kTruncated}}),
        One(SampledWithReplacement{9, 3, {kTruncated}}), One(RepeatAndSelect{{kTruncated}, 1, 0}),
        One(SelfComposed{{kTruncated}, 2}), One(Composed{{kGaussian, kTruncated}})}) {
    EXPECT_EQ(NatureOf(wrapped), Nature::kOfAPopulation);
    EXPECT_EQ(NatureOf(One(Composed{{wrapped}})), Nature::kOfAPopulation);
  }
}

TEST(Bytes, CountWhatAMechanismHoldsElsewhere) {
  const size_t node = sizeof(Mechanism), number = sizeof(double);
  EXPECT_EQ(BytesOf(kGaussian), node);
  EXPECT_EQ(BytesOf(One(Unsupported{std::string(500, 'x')})), node + 500);
  EXPECT_EQ(BytesOf(One(RenyiCurve{std::vector<double>(100, 2), std::vector<double>(100, 1)})),
            node + 200 * number);
  EXPECT_EQ(BytesOf(One(MixtureOfGaussians{1, {0, 1, 2}, {.5, .25, .25}})), node + 6 * number);
  EXPECT_EQ(BytesOf(One(SingleEpochTreeAggregation{1, {3, 4}})), node + 2 * number);
  EXPECT_EQ(BytesOf(One(MatrixMechanism{ToeplitzEncoder{9, {1, .5, .25}, Participation{1, 1}}, 1})),
            node + 3 * number);
  EXPECT_EQ(BytesOf(One(RepeatAndSelect{{One(Composed{{kGaussian, kLaplace}})}, 10, 1})), 4 * node);
}

}  // namespace
}  // namespace dpledger::accountant
