// Bad requests other than bad events, sent over gRPC: the exact code, ErrorInfo and message;
// nothing stored; the server lives on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/unknown_field_set.h"
#include "grpcpp/generic/generic_stub.h"
#include "tests/events/field_rules.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

using accountant::FromText;
using grpc::StatusCode;
using Ledgers = v1::LedgerService::Stub;
using Accounting = v1::AccountingService::Stub;

constexpr char kUnknownLedger[] = "projects/p/ledgers/unknown";

class BadRequest : public ::testing::Test {
 protected:
  BadRequest() { running_.Create(kLedger); }

  grpc::Status Append(const v1::AppendBatchRequest& batch) {
    return Call(running_.ledgers(), &Ledgers::AppendBatch, batch);
  }
  grpc::Status Create(const v1::CreateLedgerRequest& request) {
    return Call(running_.ledgers(), &Ledgers::CreateLedger, request);
  }
  grpc::Status Seal(const v1::SealLedgerRequest& request) {
    return Call(running_.ledgers(), &Ledgers::SealLedger, request);
  }
  grpc::Status Epsilon(const std::string& text) {
    return Call(running_.accounting(), &Accounting::ComputeEpsilon,
                FromText<v1::ComputeEpsilonRequest>(text));
  }
  grpc::Status Delta(const std::string& text) {
    return Call(running_.accounting(), &Accounting::ComputeDelta,
                FromText<v1::ComputeDeltaRequest>(text));
  }
  grpc::Status Calibrate(const std::string& text) {
    return Call(running_.accounting(), &Accounting::Calibrate,
                FromText<v1::CalibrateRequest>(text));
  }
  grpc::Status TuningCost(const std::string& text) {
    return Call(running_.accounting(), &Accounting::ComputeTuningCost,
                FromText<v1::ComputeTuningCostRequest>(text));
  }
  uint64_t Size() { return running_.Get(kLedger).size(); }

  RunningServer running_;
};

// ---- Names, ids and sizes ----

TEST_F(BadRequest, LedgerNameIsChecked) {
  for (const std::string name : {"", "x", "projects/p/ledgers/", "projects/P/ledgers/a",
                                 "projects/p/ledgers/a/b", "projects/-/ledgers/a"}) {
    SCOPED_TRACE(name);
    const std::string rule = "must be projects/{project}/ledgers/{ledger}";
    v1::GetLedgerRequest get;
    get.set_name(name);
    EXPECT_TRUE(IsFieldError(Call(running_.ledgers(), &Ledgers::GetLedger, get), "name", rule));
    EXPECT_TRUE(IsFieldError(Create(CreateRequest(name)), "name", rule));
    EXPECT_TRUE(IsFieldError(Append(RoundBatch(name, "w", "r", 1)), "ledger", rule));
    EXPECT_TRUE(IsFieldError(Seal(SealRequest(name)), "name", rule));
    v1::ReadEntriesRequest read;
    read.set_ledger(name);
    EXPECT_TRUE(
        IsFieldError(Call(running_.ledgers(), &Ledgers::ReadEntries, read), "ledger", rule));
    v1::ComputeEpsilonRequest ask;
    ask.set_delta(1e-5);
    ask.mutable_subject()->add_ledgers(name);
    EXPECT_TRUE(IsFieldError(Call(running_.accounting(), &Accounting::ComputeEpsilon, ask),
                             "subject.ledgers[0]", rule));
  }
}

TEST_F(BadRequest, UnknownLedgerIsNotFound) {
  v1::GetLedgerRequest get;
  get.set_name(kUnknownLedger);
  v1::ReadEntriesRequest read;
  read.set_ledger(kUnknownLedger);
  for (const grpc::Status& status :
       {Call(running_.ledgers(), &Ledgers::GetLedger, get),
        Call(running_.ledgers(), &Ledgers::ReadEntries, read),
        Append(RoundBatch(kUnknownLedger, "w", "r", 1)), Seal(SealRequest(kUnknownLedger)),
        Epsilon("subject { ledgers: 'projects/p/ledgers/unknown' } delta: 1e-5")}) {
    EXPECT_TRUE(IsError(status, StatusCode::NOT_FOUND, "LEDGER_NOT_FOUND", kUnknownLedger));
  }
}

TEST_F(BadRequest, WriterAndRequestIdAreChecked) {
  const std::string rule = "must be 1 to 64 bytes of [A-Za-z0-9._-]";
  for (const std::string& token : {std::string(), std::string("a b"), std::string(65, 'x')}) {
    SCOPED_TRACE(token);
    EXPECT_TRUE(IsFieldError(Append(RoundBatch(kLedger, token, "r", 1)), "writer", rule));
    EXPECT_TRUE(IsFieldError(Append(RoundBatch(kLedger, "w", token, 1)), "request_id", rule));
    EXPECT_TRUE(
        IsFieldError(Create(CreateRequest("projects/p/ledgers/b", token)), "request_id", rule));
    EXPECT_TRUE(IsFieldError(Seal(SealRequest(kLedger, token)), "request_id", rule));
  }
  EXPECT_EQ(Size(), 1u);
}

TEST_F(BadRequest, TextThatIsNotUtf8IsMalformed) {
  v1::AppendBatchRequest batch = Batch(kLedger, "w", "r");
  AddNote(batch, "\xff\xfe");
  EXPECT_TRUE(
      IsError(Append(batch), StatusCode::INVALID_ARGUMENT, "MALFORMED_MESSAGE", "not UTF-8"));
  EXPECT_EQ(Size(), 1u);
}

TEST_F(BadRequest, BatchHoldsOneToTenThousandEntries) {
  v1::AppendBatchRequest batch = Batch(kLedger, "w", "r");
  EXPECT_TRUE(IsFieldError(Append(batch), "entries", "must be 1 to 10,000, got 0"));
  for (int i = 0; i <= 10'000; ++i) AddNote(batch, "n");
  EXPECT_TRUE(IsFieldError(Append(batch), "entries", "must be 1 to 10,000, got 10001"));
  EXPECT_EQ(Size(), 1u);
}

TEST_F(BadRequest, EntryNeedsABodyAndLimitsItsText) {
  v1::AppendBatchRequest batch = Batch(kLedger, "w", "r");
  AddNote(batch, "n");
  batch.add_entries();
  EXPECT_TRUE(IsFieldError(Append(batch), "entries[1].body", "must be set"));
  batch.mutable_entries(1)->mutable_note()->set_text(std::string(4097, 'x'));
  EXPECT_TRUE(
      IsFieldError(Append(batch), "entries[1].note.text", "must be at most 4096 bytes, got 4097"));
  batch.mutable_entries(1)->mutable_resume()->set_reason(std::string(1025, 'x'));
  EXPECT_TRUE(IsFieldError(Append(batch), "entries[1].resume.reason",
                           "must be at most 1024 bytes, got 1025"));
  EXPECT_EQ(Size(), 1u);
}

TEST_F(BadRequest, MessageOverTheLimitIsRefused) {
  v1::AppendBatchRequest batch = Batch(kLedger, "w", "r");
  for (int i = 0; i < 1100; ++i) AddNote(batch, std::string(4096, 'x'));
  const grpc::Status status = Append(batch);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);  // gRPC's own: no ErrorInfo
  EXPECT_THAT(status.error_message(), ::testing::HasSubstr("larger than max"));
  EXPECT_EQ(Size(), 1u);
}

// ---- Unknown fields and enum numbers outside events ----

template <typename Message>
Message WithUnknownField(Message message) {
  message.GetReflection()->MutableUnknownFields(&message)->AddVarint(77, 1);
  return message;
}

TEST_F(BadRequest, UnknownFieldsAreRefusedEverywhere) {
  const std::string rule = "not know";
  v1::AppendBatchRequest batch = RoundBatch(kLedger, "w", "r", 1);
  EXPECT_TRUE(IsError(Append(WithUnknownField(batch)), StatusCode::INVALID_ARGUMENT,
                      "INVALID_FIELD", rule));
  *batch.mutable_entries(0) = WithUnknownField(batch.entries(0));
  EXPECT_TRUE(IsError(Append(batch), StatusCode::INVALID_ARGUMENT, "INVALID_FIELD", "entries[0]"));

  v1::CreateLedgerRequest create = CreateRequest("projects/p/ledgers/b");
  EXPECT_TRUE(IsError(Create(WithUnknownField(create)), StatusCode::INVALID_ARGUMENT,
                      "INVALID_FIELD", rule));
  *create.mutable_declaration() = WithUnknownField(create.declaration());
  EXPECT_TRUE(
      IsFieldError(Create(create), "declaration.77", "field number is not known to this version"));
  EXPECT_TRUE(IsError(Seal(WithUnknownField(SealRequest(kLedger))), StatusCode::INVALID_ARGUMENT,
                      "INVALID_FIELD", rule));

  v1::GetLedgerRequest get;
  get.set_name(kLedger);
  EXPECT_TRUE(IsFieldError(Call(running_.ledgers(), &Ledgers::GetLedger, WithUnknownField(get)),
                           "77", "field number is not known to this version"));
  v1::ComputeEpsilonRequest ask;
  *ask.mutable_options() = WithUnknownField(ask.options());
  EXPECT_TRUE(IsFieldError(Call(running_.accounting(), &Accounting::ComputeEpsilon, ask),
                           "options.77", "field number is not known to this version"));
  ask.mutable_options()->Clear();
  ask.mutable_options()->set_method(static_cast<v1::Method>(99));
  EXPECT_TRUE(IsFieldError(Call(running_.accounting(), &Accounting::ComputeEpsilon, ask),
                           "options.method", "enum number 99 is not known to this version"));
  EXPECT_EQ(Size(), 1u);
}

// ---- Bytes that are no message ----

TEST_F(BadRequest, BytesThatAreNoMessageAreMalformed) {
  grpc::GenericStub stub(running_.channel());
  for (const std::string method :
       {"/dpledger.v1.LedgerService/AppendBatch", "/dpledger.v1.LedgerService/GetLedger",
        "/dpledger.v1.AccountingService/ComputeEpsilon"}) {
    SCOPED_TRACE(method);
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const grpc::Slice slice(std::string("\x0a\xff\xff\xff\xff\x0f", 6));
    const grpc::ByteBuffer request(&slice, 1);
    const auto call = stub.PrepareUnaryCall(&context, method, request, &queue);
    call->StartCall();
    grpc::ByteBuffer response;
    grpc::Status status;
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_TRUE(IsError(status, StatusCode::INVALID_ARGUMENT, "MALFORMED_MESSAGE",
                        "the request's bytes are not a"));
  }
}

// ---- Declarations ----

TEST_F(BadRequest, DeclarationIsChecked) {
  const struct {
    std::string text, field, rule;
  } cases[] = {
      {"unit_of_privacy: 'u' adjacency: REPLACE_ONE parameters: FIXED", "declaration.dataset",
       "must be 1 to 256 bytes long, got 0"},
      {"dataset: 'd' adjacency: REPLACE_ONE parameters: FIXED", "declaration.unit_of_privacy",
       "must be 1 to 256 bytes long, got 0"},
      {"dataset: 'd' unit_of_privacy: 'u' parameters: FIXED", "declaration.adjacency",
       "must be ADD_OR_REMOVE_ONE, REPLACE_ONE or ZERO_OUT"},
      {"dataset: 'd' unit_of_privacy: 'u' adjacency: REPLACE_ONE", "declaration.parameters",
       "must be FIXED or ADAPTIVE"},
      {"dataset: 'd' unit_of_privacy: 'u' adjacency: REPLACE_ONE parameters: ADAPTIVE filter { "
       "zcdp { rho: 0 } }",
       "declaration.filter.zcdp.rho", "must be finite and > 0, got 0"},
      {"dataset: 'd' unit_of_privacy: 'u' adjacency: REPLACE_ONE parameters: ADAPTIVE filter { "
       "mixture { epsilon: 0 delta: 0.1 orders: 2 } }",
       "declaration.filter.mixture.epsilon", "must be finite and > 0, got 0"},
      {"dataset: 'd' unit_of_privacy: 'u' adjacency: REPLACE_ONE parameters: ADAPTIVE filter { "
       "mixture { epsilon: 1 delta: 1 orders: 2 } }",
       "declaration.filter.mixture.delta", "must be in (0, 1), got 1"},
      {"dataset: 'd' unit_of_privacy: 'u' adjacency: REPLACE_ONE parameters: ADAPTIVE filter { "
       "mixture { epsilon: 1 orders: 2 } }",
       "declaration.filter.mixture.delta", "must be in (0, 1), got 0"},
      {"dataset: 'd' unit_of_privacy: 'u' adjacency: REPLACE_ONE parameters: ADAPTIVE filter { "
       "mixture { epsilon: 1 delta: 0.1 } }",
       "declaration.filter.mixture.orders", "must have 1 to 64 elements, got 0"},
      {"dataset: 'd' unit_of_privacy: 'u' adjacency: REPLACE_ONE parameters: ADAPTIVE filter { "
       "mixture { epsilon: 1 delta: 0.1 orders: [1, 2] } }",
       "declaration.filter.mixture.orders[0]", "must be finite and > 1, got 1"},
      {"dataset: 'd' unit_of_privacy: 'u' adjacency: REPLACE_ONE parameters: ADAPTIVE filter { "
       "mixture { epsilon: 1 delta: 0.1 orders: [3, 3] } }",
       "declaration.filter.mixture.orders[1]", "must be greater than the one before it, got 3"},
  };
  for (const auto& bad : cases) {
    v1::CreateLedgerRequest request = CreateRequest("projects/p/ledgers/b");
    *request.mutable_declaration() = FromText<v1::Declaration>(bad.text);
    EXPECT_TRUE(IsFieldError(Create(request), bad.field, bad.rule)) << bad.text;
  }
  v1::CreateLedgerRequest request = CreateRequest("projects/p/ledgers/b");
  request.clear_declaration();
  EXPECT_TRUE(IsFieldError(Create(request), "declaration", "must be set"));
  v1::GetLedgerRequest get;
  get.set_name("projects/p/ledgers/b");
  EXPECT_EQ(Call(running_.ledgers(), &Ledgers::GetLedger, get).error_code(), StatusCode::NOT_FOUND);
}

// ---- The ledger's state ----

TEST_F(BadRequest, TakenNameIsRefused) {
  v1::CreateLedgerRequest request = CreateRequest(kLedger, "another");
  EXPECT_TRUE(IsError(Create(request), StatusCode::ALREADY_EXISTS, "LEDGER_EXISTS", kLedger));
}

TEST_F(BadRequest, SealedLedgerTakesNothing) {
  ASSERT_TRUE(IsOk(Seal(SealRequest(kLedger))));
  EXPECT_TRUE(IsError(Append(RoundBatch(kLedger, "w", "r", 1)), StatusCode::FAILED_PRECONDITION,
                      "LEDGER_SEALED", kLedger));
  EXPECT_EQ(Size(), 2u);
}

TEST_F(BadRequest, SealNamesTheWritersThatHaveNotClosed) {
  running_.Append(RoundBatch(kLedger, "trainer-7", "r", 1));
  EXPECT_TRUE(IsError(Seal(SealRequest(kLedger)), StatusCode::FAILED_PRECONDITION, "WRITERS_OPEN",
                      "trainer-7"));
  EXPECT_EQ(Size(), 3u);
}

TEST_F(BadRequest, RequestIdReusedWithOtherEntriesIsRefused) {
  running_.Append(RoundBatch(kLedger, "w", "r", 1));
  const grpc::Status status = Append(RoundBatch(kLedger, "w", "r", 2));
  EXPECT_TRUE(IsError(status, StatusCode::INVALID_ARGUMENT, "REQUEST_ID_REUSED", "request_id"));
  EXPECT_EQ(ErrorInfoOf(status).metadata().at("field"), "request_id");
  EXPECT_EQ(Size(), 3u);
}

TEST_F(BadRequest, WrongExpectedSequenceSaysTheCurrentOne) {
  v1::AppendBatchRequest batch = RoundBatch(kLedger, "w", "r", 1);
  batch.set_expected_sequence(7);
  const grpc::Status status = Append(batch);
  EXPECT_TRUE(IsError(status, StatusCode::ABORTED, "SEQUENCE_MISMATCH", "expected_sequence"));
  EXPECT_EQ(ErrorInfoOf(status).metadata().at("current_sequence"), "1");
  EXPECT_EQ(Size(), 1u);
}

TEST_F(BadRequest, RoundThatGoesBackIsRefused) {
  running_.Append(RoundBatch(kLedger, "w", "r5", 5));
  EXPECT_TRUE(IsError(Append(RoundBatch(kLedger, "w", "r4", 4)), StatusCode::FAILED_PRECONDITION,
                      "ROUND_GOES_BACK", "round"));
  EXPECT_TRUE(IsError(Append(RoundBatch(kLedger, "w", "again", 5)), StatusCode::FAILED_PRECONDITION,
                      "ROUND_ALREADY_OPEN", "round"));
  EXPECT_EQ(Size(), 3u);
}

// ---- Reading ----

TEST_F(BadRequest, PagesAreLimited) {
  v1::ListLedgersRequest list;
  list.set_parent("projects/p");
  list.set_page_size(1001);
  EXPECT_TRUE(IsFieldError(Call(running_.ledgers(), &Ledgers::ListLedgers, list), "page_size",
                           "must be at most 1000, got 1001"));
  list.set_page_size(1);
  list.set_page_token("abc");
  EXPECT_TRUE(IsFieldError(Call(running_.ledgers(), &Ledgers::ListLedgers, list), "page_token",
                           "must come from the answer before"));
  list.clear_page_token();
  list.set_parent("projects/p/ledgers/a");
  EXPECT_TRUE(IsFieldError(Call(running_.ledgers(), &Ledgers::ListLedgers, list), "parent",
                           "must be projects/{project}"));
  v1::ReadEntriesRequest read;
  read.set_ledger(kLedger);
  read.set_page_size(10'001);
  EXPECT_TRUE(IsFieldError(Call(running_.ledgers(), &Ledgers::ReadEntries, read), "page_size",
                           "must be at most 10000, got 10001"));
  read.set_page_size(0);
  read.set_first_sequence(2);
  const grpc::Status status = Call(running_.ledgers(), &Ledgers::ReadEntries, read);
  EXPECT_EQ(status.error_code(), StatusCode::OUT_OF_RANGE);
  EXPECT_THAT(status.error_message(), ::testing::HasSubstr("first_sequence: must be at most 1"));
}

// ---- Questions ----

// At 0 there is an ε, if an infinite one; noise for it is not searched, and tuning has no bound.
TEST_F(BadRequest, DeltaLiesBetweenZeroAndOne) {
  const std::string rule = "must be in (0, 1)";
  for (const std::string delta : {"0", "-1", "1", "nan", "inf"}) {
    SCOPED_TRACE(delta);
    const grpc::Status epsilon =
        Epsilon(absl::StrCat("subject { ledgers: '", kLedger, "' } delta: ", delta));
    EXPECT_TRUE(delta == "0" ? IsOk(epsilon) : IsFieldError(epsilon, "delta", "must be in [0, 1)"));
    EXPECT_TRUE(IsFieldError(
        Calibrate(absl::StrCat("epsilon: 1 delta: ", delta,
                               " solve: STEPS noise_multiplier: 1 sampling_probability: 0.1")),
        "delta", rule));
    EXPECT_TRUE(IsFieldError(TuningCost(absl::StrCat("subject { ledgers: '", kLedger, "' } delta: ",
                                                     delta, " trials { poisson { mean: 2 } }")),
                             "delta", rule));
  }
}

TEST_F(BadRequest, EpsilonIsFiniteAndNotNegative) {
  for (const std::string epsilon : {"-1", "-5e-324", "nan", "inf"}) {
    SCOPED_TRACE(epsilon);
    EXPECT_TRUE(
        IsFieldError(Delta(absl::StrCat("subject { ledgers: '", kLedger, "' } epsilon: ", epsilon)),
                     "epsilon", "must be finite and >= 0"));
  }
  EXPECT_TRUE(IsFieldError(Calibrate("epsilon: 0 delta: 1e-5 solve: STEPS noise_multiplier: 1 "
                                     "sampling_probability: 0.1"),
                           "epsilon", "must be finite and > 0, got 0"));
}

TEST_F(BadRequest, SubjectIsChecked) {
  EXPECT_TRUE(IsFieldError(Epsilon("delta: 1e-5"), "subject.ledgers",
                           "must name a ledger, unless events are given"));
  const std::string twice = absl::StrCat("ledgers: '", kLedger, "' ");
  EXPECT_TRUE(IsFieldError(Epsilon(absl::StrCat("delta: 1e-5 subject { ", twice, twice, " }")),
                           "subject.ledgers[1]", "must not repeat"));
  EXPECT_TRUE(IsFieldError(
      Epsilon("delta: 1e-5 subject { events { mechanism { no_op {} } } up_to_sequence: 1 }"),
      "subject.up_to_sequence", "must be 0 unless one ledger is named"));
  const grpc::Status beyond =
      Epsilon(absl::StrCat("delta: 1e-5 subject { ", twice, " up_to_sequence: 2 }"));
  EXPECT_TRUE(IsError(beyond, StatusCode::OUT_OF_RANGE, "BEYOND_LEDGER",
                      "subject.up_to_sequence: must be at most the ledger's size, 1, got 2"));
  std::string many;
  for (int i = 0; i < 101; ++i) absl::StrAppend(&many, "ledgers: 'projects/p/ledgers/l", i, "' ");
  EXPECT_TRUE(IsFieldError(Epsilon(absl::StrCat("delta: 1e-5 subject { ", many, " }")),
                           "subject.ledgers", "must be at most 100, got 101"));
}

}  // namespace
}  // namespace dpledger::server
