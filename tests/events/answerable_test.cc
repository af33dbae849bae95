// What the rulebook says can never be answered is what the accountant refuses.
#include "events/answerable.h"

#include <gmock/gmock.h>

#include "accountant/mechanism/composition.h"
#include "base/status.h"
#include "google/protobuf/text_format.h"
#include "ledger/event_from_proto.h"
#include "ledger/given_events.h"

namespace dpledger::events {
namespace {

struct Case {
  const char* name;
  const char* event;  // text format
  bool sampling = false;
};

const Case kCases[] = {
    {"Poisson", "sampling { scheme { poisson { probability: 0.1 } } }", true},
    {"FullBatch", "sampling { scheme { full_batch {} } }", true},
    {"WithoutReplacement",
     "sampling { scheme { population_size: 100 without_replacement { sample_size: 10 } } }", true},
    {"WithReplacement",
     "sampling { scheme { population_size: 100 with_replacement { sample_size: 10 } } }", true},
    {"DisjointBatches", "sampling { scheme { disjoint_batches { batches_per_epoch: 4 } } }", true},
    {"RandomAllocation", "sampling { scheme { random_allocation { rounds_per_epoch: 4 } } }", true},
    {"TruncatedPoisson",
     "sampling { scheme { population_size: 100 truncated_poisson { probability: 0.1 "
     "max_sample_size: 20 } } }",
     true},
    {"Gaussian", "mechanism { gaussian { noise_multiplier: 2 } }"},
    {"MatrixBySensitivity", "mechanism { matrix_mechanism { sensitivity: 1 noise_stddev: 2 } }"},
    {"MatrixTree",
     "mechanism { matrix_mechanism { noise_stddev: 2 tree { steps: 8 participation { "
     "max_participations: 1 min_separation: 1 } } } }"},
    {"MatrixToeplitz",
     "mechanism { matrix_mechanism { noise_stddev: 2 toeplitz { steps: 4 coefficients: 1 "
     "coefficients: 0.5 participation { max_participations: 1 min_separation: 1 } } } }"},
    {"Unsupported", "mechanism { unsupported { description: 'x' } }"},
};

class Answerable : public ::testing::TestWithParam<std::tuple<Case, v1::Adjacency>> {};

TEST_P(Answerable, IsWhatTheAccountantResolves) {
  const auto& [example, adjacency] = GetParam();
  v1::Event event;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(example.event, &event));
  accountant::GivenEvents given;
  ASSERT_TRUE(given.Add(event).ok());
  if (example.sampling) {
    v1::Event query;
    query.mutable_sum_query()->mutable_query()->set_l2_norm_bound(1);
    query.mutable_sum_query()->mutable_query()->set_noise_stddev(2);
    ASSERT_TRUE(given.Add(query).ok());
  }
  const auto resolved =
      accountant::Resolve(given.history(), accountant::AdjacencyFromProto(adjacency).value());
  const absl::Status answerable = CheckAnswerable(adjacency, event);
  EXPECT_EQ(answerable.ok(), resolved.ok()) << answerable << "\n" << resolved.status();
  if (!answerable.ok()) {
    EXPECT_EQ(answerable.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(ReasonOf(answerable).reason, "NEVER_ANSWERED");
  }
}

INSTANTIATE_TEST_SUITE_P(EverySchemeAndAdjacency, Answerable,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::Values(v1::ADD_OR_REMOVE_ONE,
                                                              v1::REPLACE_ONE, v1::ZERO_OUT)),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param).name) + "_" +
                                  v1::Adjacency_Name(std::get<1>(tested.param));
                         });

TEST(AnswerableWords, NameWhatWouldDo) {
  v1::Event event;
  v1::MatrixMechanism& matrix = *event.mutable_mechanism()->mutable_matrix_mechanism();
  matrix.mutable_tree()->set_steps(4);
  EXPECT_THAT(std::string(CheckAnswerable(v1::ADD_OR_REMOVE_ONE, event).message()),
              ::testing::HasSubstr("declare REPLACE_ONE or ZERO_OUT"));
}

}  // namespace
}  // namespace dpledger::events
