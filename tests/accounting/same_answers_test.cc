// A real server and libdpledger_accounting are asked the same, byte for byte, and answer the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "dpledger_accounting.h"
#include "events/proto_json.h"
#include "google/protobuf/util/message_differencer.h"
#include "google/rpc/status.pb.h"
#include "tests/accounting/library_call.h"
#include "tests/events/event_rules.h"
#include "tests/server/any_call.h"
#include "tests/server/running_server.h"

namespace dpledger::accounting {
namespace {

using accountant::EventRules;
using accountant::FieldRule;
using accountant::FromText;
using google::protobuf::Message;
using google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

class SameAnswers : public ::testing::Test {
 protected:
  // Asks both in binary, and the library by JSON too. The answer's code.
  template <typename Request, typename Response>
  int Ask(const std::string& method, const Request& request) {
    const std::string question = request.SerializeAsString();
    const server::AnyAnswer served =
        server::CallAny(running_.channel(), "/dpledger.v1.AccountingService/" + method, {question});
    const LibraryAnswer answer = AskLibrary(DPLEDGER_ACCOUNTING_BINARY, method, question);
    const LibraryAnswer json =
        AskLibrary(DPLEDGER_ACCOUNTING_JSON, method, events::MessageToJson(request));
    EXPECT_EQ(answer.code, served.status.error_code()) << request.ShortDebugString();
    EXPECT_EQ(json.code, answer.code);
    if (answer.code == 0) {
      EXPECT_EQ(answer.bytes, served.last) << request.ShortDebugString();
      ExpectJson<Response>(json.bytes, served.last);
    } else {
      google::rpc::Status of_server, of_library;
      EXPECT_TRUE(of_server.ParseFromString(served.status.error_details()));
      EXPECT_TRUE(of_library.ParseFromString(answer.bytes));
      EXPECT_TRUE(MessageDifferencer::Equals(of_library, of_server))
          << of_library.ShortDebugString() << "\n"
          << of_server.ShortDebugString();
    }
    return answer.code;
  }
  // `text` is a request; @ is a subject of some kinds of events.
  template <typename Request, typename Response>
  int Ask(const std::string& method, const std::string& text) {
    return Ask<Request, Response>(
        method, FromText<Request>(
                    absl::StrReplaceAll(text, {{"@", absl::StrCat("subject { ", kEvents, " }")}})));
  }
  template <typename Response>
  static void ExpectJson(const std::string& json, const std::string& bytes) {
    Response of_json, of_bytes;
    EXPECT_TRUE(events::MessageFromJson(json, "an answer", of_json).ok()) << json;
    EXPECT_TRUE(of_bytes.ParseFromString(bytes));
    EXPECT_TRUE(MessageDifferencer::Equals(of_json, of_bytes)) << json;
  }

  static constexpr char kEvents[] =
      "events { rounds { scheme { poisson { probability: 0.02 } } "
      "queries { l2_norm_bound: 1 noise_stddev: 1.5 } count: 300 } }"
      "events { mechanism { laplace { noise_multiplier: 8 } } }";
  server::RunningServer running_;
};

TEST_F(SameAnswers, OfEveryMethod) {
  const auto epsilon = [&](const std::string& text) {
    return Ask<v1::ComputeEpsilonRequest, v1::ComputeEpsilonResponse>("ComputeEpsilon", text);
  };
  EXPECT_EQ(epsilon("@ delta: 1e-5"), 0);
  EXPECT_EQ(epsilon("@ delta: 1e-5 options { method: RDP adjacency: REPLACE_ONE }"), 0);
  EXPECT_EQ(epsilon("@ delta: 1e-5 options { group_size: 3 parameters: FIXED }"), 0);
  EXPECT_EQ(epsilon("@ delta: 1e-5 options { parameters: ADAPTIVE }"), 9);
  EXPECT_EQ(epsilon("@ delta: 1e-5 options { relative_gap: 2 }"), 3);
  EXPECT_EQ(epsilon("@ delta: -1"), 3);
  const auto delta = [&](const std::string& text) {
    return Ask<v1::ComputeDeltaRequest, v1::ComputeDeltaResponse>("ComputeDelta", text);
  };
  EXPECT_EQ(delta("@ epsilon: 0.5"), 0);
  EXPECT_EQ(delta("@ epsilon: nan"), 3);
  const auto calibrate = [&](const std::string& text) {
    return Ask<v1::CalibrateRequest, v1::CalibrateResponse>("Calibrate", text);
  };
  EXPECT_EQ(calibrate("epsilon: 1 delta: 1e-6 solve: NOISE_MULTIPLIER "
                      "sampling_probability: 0.01 steps: 500 compare_methods: true"),
            0);
  EXPECT_EQ(calibrate("epsilon: 1 delta: 1e-6 solve: STEPS sampling_probability: 0.01"), 3);
  const auto tuning = [&](const std::string& text) {
    return Ask<v1::ComputeTuningCostRequest, v1::ComputeTuningCostResponse>("ComputeTuningCost",
                                                                            text);
  };
  EXPECT_EQ(tuning("@ delta: 1e-5 trials { poisson { mean: 10 } }"), 0);
  EXPECT_EQ(tuning("@ delta: 1e-5"), 3);
  const auto profile = [&](const std::string& text) {
    return Ask<v1::ComputeProfileRequest, v1::ComputeProfileResponse>("ComputeProfile", text);
  };
  EXPECT_EQ(profile("@ epsilons: 0.5 epsilons: 1 type_one_errors: 0.1 priors: 0.3"), 0);
  EXPECT_EQ(profile("@"), 3);
  const auto audit = [&](const std::string& text) {
    return Ask<v1::AuditClaimRequest, v1::AuditClaimResponse>("AuditClaim", text);
  };
  EXPECT_EQ(audit("delta: 1e-5 one_run { canaries: 100 guesses: 50 correct: 45 }"), 0);
  EXPECT_EQ(audit("@ delta: 1e-5 one_run { canaries: 100 guesses: 50 correct: 45 }"), 0);
  EXPECT_EQ(audit("delta: 1e-5"), 3);
}

TEST_F(SameAnswers, ToEveryFieldOfAnEvent) {
  for (const FieldRule& rule : EventRules()) {
    const auto ask = [&](const std::string& value) {
      v1::ComputeEpsilonRequest request;
      request.set_delta(1e-5);
      *request.mutable_subject()->add_events() = FromText<v1::Event>(rule.With(value));
      return Ask<v1::ComputeEpsilonRequest, v1::ComputeEpsilonResponse>("ComputeEpsilon", request);
    };
    EXPECT_NE(ask(rule.good), 3) << rule.message;
    for (const accountant::BadValue& bad : rule.bad) EXPECT_EQ(ask(bad.value), 3) << rule.message;
  }
}

TEST_F(SameAnswers, ToFieldsOfTheFuture) {
  v1::ComputeEpsilonRequest request =
      FromText<v1::ComputeEpsilonRequest>(absl::StrCat("delta: 1e-5 subject { ", kEvents, " }"));
  v1::Event& event = *request.mutable_subject()->mutable_events(0);
  event.GetReflection()->MutableUnknownFields(&event)->AddVarint(99, 1);
  const std::string question = request.SerializeAsString();
  const LibraryAnswer answer = AskLibrary(0, "ComputeEpsilon", question);
  EXPECT_EQ(answer.code, 3);
  EXPECT_THAT(answer.bytes, HasSubstr("subject.events[0].99: field number is not known"));
  const server::AnyAnswer served = server::CallAny(
      running_.channel(), "/dpledger.v1.AccountingService/ComputeEpsilon", {question});
  EXPECT_EQ(served.status.error_details(), answer.bytes);
}

// The library answers every method of the service, and calls none by another name.
TEST_F(SameAnswers, MethodsAreThoseOfTheService) {
  const auto& service =
      *v1::ComputeEpsilonRequest::descriptor()->file()->FindServiceByName("AccountingService");
  for (int i = 0; i < service.method_count(); ++i) {
    // An empty question is wrong in some field.
    EXPECT_EQ(AskLibrary(0, service.method(i)->name(), "").code, 3) << service.method(i)->name();
  }
}

}  // namespace
}  // namespace dpledger::accounting
