// What the example trainer learns with: reading data, gradients, the loop. Its whole run against a
// server is an end-to-end test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/file.h"
#include "examples/common/dataset.h"
#include "examples/common/network.h"
#include "examples/common/schema.h"
#include "examples/dp_sgd/on_events.h"
#include "tests/support/list_recorder.h"

namespace dpledger::dp_sgd {
namespace {

using namespace examples;  // what the trainers share

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kSmallSchema[] = R"({"rows": 10, "columns": [
  {"name": "age", "kind": "number", "minimum": 20, "maximum": 60},
  {"name": "gain", "kind": "number", "minimum": 0, "maximum": 99, "log": true},
  {"name": "hours", "kind": "bucket", "edges": [20, 40]},
  {"name": "work", "kind": "category", "values": ["a", "?"]},
  {"name": "id", "kind": "ignore"},
  {"name": "y", "kind": "label", "values": ["no", "yes"]}]})";

Schema SmallSchema() {
  auto schema = Schema::Parse(kSmallSchema);
  EXPECT_TRUE(schema.ok()) << schema.status();
  return *std::move(schema);
}

TEST(ParseCsv, EncodesCellsByTheSchemaAlone) {
  const auto data = ParseCsv("30, 9, 40, ?, 77, yes\n99,-5,19.5,a,x,no\n\n", SmallSchema());
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->feature_count, 7u);
  EXPECT_THAT(data->row(0), ElementsAre(0.25f, 0.5f, 0, 0, 1, 0, 1));
  EXPECT_THAT(data->row(1), ElementsAre(1, 0, 1, 0, 0, 1, 0));
  EXPECT_THAT(data->labels, ElementsAre(1, 0));
}

TEST(ParseCsv, NamesLineAndColumnOfABadCell) {
  const auto message = [](const std::string& csv) {
    const absl::Status status = ParseCsv(csv, SmallSchema()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(message("30,9,40,?,1,yes\n30,9,40,b,1,yes\n"),
            "line 2, column \"work\": \"b\" is not among the schema's values");
  EXPECT_EQ(message("old,9,40,?,1,yes\n"), "line 1, column \"age\": \"old\" is not a number");
  EXPECT_EQ(message("nan,9,40,?,1,yes\n"), "line 1, column \"age\": \"nan\" is not a number");
  EXPECT_EQ(message("30,9,40,?,1,maybe\n"),
            "line 1, column \"y\": \"maybe\" is not among the schema's values");
  EXPECT_EQ(message("30,9,40\n"), "line 1: must have 6 cells, got 3");
}

TEST(Schema, NamesTheFieldThatIsWrong) {
  const auto message = [](const std::string& json) {
    const absl::Status status = Schema::Parse(json).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(message("{"), HasSubstr("the schema is not a JSON object"));
  EXPECT_EQ(message("{}"), "columns: must be a list");
  EXPECT_EQ(message(R"({"rows": 1.5, "columns": []})"),
            "rows: must be an integer in [1, 2^53), got 1.5");
  EXPECT_EQ(message(R"({"columns": []})"), "columns: must hold exactly one label, got 0");
  EXPECT_EQ(message(R"({"columns": [{"name": "x", "kind": "text"}]})"),
            "columns[0].kind: must be number, bucket, category, label or ignore, got \"text\"");
  EXPECT_EQ(
      message(R"({"columns": [{"name": "x", "kind": "number", "minimum": 3, "maximum": 3}]})"),
      "columns[0].maximum: must exceed minimum");
  EXPECT_EQ(message(R"({"columns": [{"name": "x", "kind": "bucket", "edges": [3, 1]}]})"),
            "columns[0].edges: must be a list of one growing number or more");
  EXPECT_EQ(message(R"({"columns": [{"name": "x", "kind": "category"}]})"),
            "columns[0].values: must be a list of one string or more");
  EXPECT_EQ(message(R"({"columns": [{"name": "y", "kind": "label", "values": ["a"]}]})"),
            "columns: must hold a feature");
}

TEST(Schema, OfUciAdultParses) {
  const char* source = std::getenv("DPLEDGER_SOURCE");
  const auto json =
      ReadFile(std::string(source ? source : ".") + "/examples/dp_sgd/adult_schema.json");
  ASSERT_TRUE(json.ok()) << json.status();
  const auto schema = Schema::Parse(*json);
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(schema->columns.size(), 15u);
  EXPECT_EQ(schema->rows, 32561u);
  const auto data = ParseCsv(
      "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, "
      "Male, 2174, 0, 40, United-States, <=50K\n"
      "54, ?, 180211, Some-college, 10, Married-civ-spouse, ?, Husband, Asian-Pac-Islander, Male, "
      "0, 0, 60, South, >50K\n",
      *schema);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->labels, ElementsAre(0, 1));
}

std::string IdxFile(const std::vector<unsigned char>& sizes, const std::string& bytes) {
  std::string file{0, 0, 8, static_cast<char>(sizes.size())};
  for (const unsigned char size : sizes) file += std::string{0, 0, 0, static_cast<char>(size)};
  return file + bytes;
}

TEST(ParseIdx, ScalesBytes) {
  const auto data =
      ParseIdx(IdxFile({2, 1, 2}, std::string("\x00\xff\x33\x00", 4)), IdxFile({2}, "\x03\x09"));
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->feature_count, 2u);
  EXPECT_THAT(data->row(1), ElementsAre(0.2f, 0));
  EXPECT_THAT(data->labels, ElementsAre(3, 9));
}

TEST(ParseIdx, RefusesTornAndStrangeFiles) {
  const std::string images = IdxFile({2, 1, 2}, "abcd"), labels = IdxFile({2}, "\x03\x09");
  const auto message = [](const std::string& image_file, const std::string& label_file) {
    const absl::Status status = ParseIdx(image_file, label_file).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(message("\x1f\x8b\x08\x00", labels), HasSubstr("is it still compressed?"));
  EXPECT_THAT(message(images.substr(0, 9), labels), HasSubstr("1 to 4 dimensions"));
  EXPECT_THAT(message(images.substr(0, images.size() - 1), labels),
              HasSubstr("does not have the length that its header says"));
  EXPECT_THAT(message(std::string("\0\0\x08\x02\xff\xff\xff\xff\xff\xff\xff\xff", 12), labels),
              HasSubstr("is shorter than its header says"));
  EXPECT_THAT(message(images, IdxFile({1}, "\x03")), HasSubstr("must hold 2 labels"));
  EXPECT_THAT(message(images, IdxFile({2}, "\x03\x0a")), HasSubstr("must hold 0 to 9, got 10"));
}

TEST(IsHeldOut, TakesTheShareByIndex) {
  int held_out = 0;
  for (uint64_t i = 0; i < 100000; ++i) held_out += IsHeldOut(i, 0.2);
  EXPECT_NEAR(held_out, 20000, 6 * std::sqrt(16000.0));
  EXPECT_FALSE(IsHeldOut(5, 0));
}

double CrossEntropy(Network& network, const std::vector<float>& parameters,
                    absl::Span<const float> x, int label) {
  // The output layer's gradient for its biases is p - 1[label]: read p from there.
  std::vector<float> gradient(parameters.size());
  network.Gradient(parameters, x, label, absl::MakeSpan(gradient));
  const size_t classes = 3;
  return -std::log(gradient[parameters.size() - classes + static_cast<size_t>(label)] + 1.0);
}

TEST(Network, GradientIsThatOfTheCrossEntropy) {
  const std::vector<float> x = {0.3f, -0.7f, 1.0f, 0.1f};
  for (const size_t hidden : {0u, 5u}) {
    Network network(x.size(), hidden, 3);
    std::vector<float> parameters = network.InitialParameters(3);
    for (size_t i = 0; i < parameters.size(); ++i) {
      parameters[i] += 0.1f * std::sin(static_cast<float>(i));
    }
    std::vector<float> gradient(parameters.size());
    network.Gradient(parameters, x, 1, absl::MakeSpan(gradient));
    for (size_t i = 0; i < parameters.size(); ++i) {
      constexpr float kStep = 1e-2f;
      std::vector<float> more = parameters, less = parameters;
      more[i] += kStep;
      less[i] -= kStep;
      const double slope =
          (CrossEntropy(network, more, x, 1) - CrossEntropy(network, less, x, 1)) / (2 * kStep);
      EXPECT_NEAR(gradient[i], slope, 2e-4) << "hidden " << hidden << " parameter " << i;
    }
  }
}

class TrainTest : public ::testing::Test {
 protected:
  TrainTest() : data_(MakeSynthetic(6000)) {
    for (size_t i = 0; i < data_.size(); ++i) {
      (IsHeldOut(i, 0.2) ? held_out_ : plan_.population).push_back(i);
    }
    plan_.expected_batch_size = 200;
    plan_.steps = 200;
    plan_.clip_norm = 1;
    plan_.noise_multiplier = 1;
    plan_.learning_rate = 0.5;
  }
  absl::Status Run(Network& network, TrainingState& state, uint64_t stop_after = 1'000'000) {
    stop_ = false;
    return TrainOnEvents(
        plan_, data_, network, recorder_, stop_, [&](uint64_t done) { stop_ = done >= stop_after; },
        state);
  }

  Dataset data_;
  std::vector<size_t> held_out_;
  TrainingPlan plan_;
  testing::ListRecorder recorder_;
  std::atomic<bool> stop_ = false;
};

TEST_F(TrainTest, LearnsUnderNoise) {
  for (const size_t hidden : {0u, 8u}) {
    Network network(data_.feature_count, hidden, 3);
    TrainingState state{network.InitialParameters(1)};
    ASSERT_TRUE(Run(network, state).ok());
    EXPECT_EQ(state.steps_done, 200u);
    EXPECT_GT(network.Accuracy(state.parameters, data_, held_out_), 0.75) << hidden;
  }
  EXPECT_EQ(recorder_.schemes.size(), 400u);
  EXPECT_EQ(recorder_.schemes.back().poisson().probability(), plan_.probability());
  EXPECT_EQ(recorder_.schemes.back().population_size(), plan_.population.size());
  EXPECT_EQ(recorder_.queries.size(), 1u);
}

TEST_F(TrainTest, StopsBetweenSteps) {
  Network network(data_.feature_count, 0, 3);
  TrainingState state{network.InitialParameters(1)};
  ASSERT_TRUE(Run(network, state, 7).ok());
  EXPECT_EQ(state.steps_done, 7u);
  EXPECT_EQ(recorder_.schemes.size(), 7u);
}

TEST_F(TrainTest, KeepsTheStateOfTheLastGoodStepOnAnError) {
  Network network(data_.feature_count, 0, 3);
  TrainingState state{network.InitialParameters(1)};
  ASSERT_TRUE(Run(network, state, 3).ok());
  const std::vector<float> parameters = state.parameters;
  for (absl::Status* failing : {&recorder_.record_status, &recorder_.await_status}) {
    *failing = absl::UnavailableError("server is away");
    stop_ = false;
    EXPECT_EQ(Run(network, state), absl::UnavailableError("server is away"));
    *failing = absl::OkStatus();
    EXPECT_EQ(state.steps_done, 3u);
    EXPECT_EQ(state.parameters, parameters);
  }
}

// A declared population may be larger than the data at hand: the records that are not there count
// as empty.
TEST_F(TrainTest, TakesADeclaredPopulationBeyondTheData) {
  for (size_t i = 0; i < 5000; ++i) plan_.population.push_back(data_.size() + i);
  Network network(data_.feature_count, 0, 3);
  TrainingState state{network.InitialParameters(1)};
  ASSERT_TRUE(Run(network, state, 20).ok());
  EXPECT_EQ(recorder_.schemes.back().population_size(), plan_.population.size());
}

}  // namespace
}  // namespace dpledger::dp_sgd
