// Filters that the server keeps: what would cross one is refused at append, and nothing else is.
#include "server/questions/filter_gate.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "accountant/mechanism/composition.h"
#include "events/event_values.h"
#include "questions/declaration_values.h"
#include "tests/server/accounted_store.h"

namespace dpledger::server {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

// Unsampled, of this noise multiplier: ρ = 1/(2z²).
v1::Event Gaussian(double z) {
  v1::Event event;
  event.mutable_mechanism()->mutable_gaussian()->set_noise_multiplier(z);
  return event;
}
v1::Event Sampled(uint64_t count, double z, double q = 0.01) {
  v1::Event event = RoundsEvent(count);
  event.mutable_rounds()->mutable_scheme()->mutable_poisson()->set_probability(q);
  event.mutable_rounds()->mutable_queries(0)->set_noise_stddev(z);
  return event;
}
v1::Event Allocated(double z, uint64_t epoch) {
  v1::Event event = Sampled(10, z);
  auto& scheme = *event.mutable_rounds()->mutable_scheme()->mutable_random_allocation();
  scheme.set_rounds_per_epoch(10);
  scheme.set_epoch(epoch);
  return event;
}

std::function<void(v1::Declaration&)> HeldBy(const std::string& filter,
                                             v1::SpoolPolicy policy = v1::FAIL_CLOSED) {
  return [=](v1::Declaration& declaration) {
    declaration.set_parameters(v1::ADAPTIVE);
    declaration.set_spool_policy(policy);
    *declaration.mutable_filter() = accountant::FromText<v1::Filter>(filter);
  };
}
constexpr char kRho[] = "zcdp { rho: 1 }";
constexpr char kMixture[] =
    "mixture { epsilon: 2 delta: 1e-6 orders: 2 orders: 4 orders: 8 orders: 16 orders: 32 }";

class FilterGateTest : public ::testing::Test {
 protected:
  FilterGateTest() { Open(); }
  ~FilterGateTest() override { gate_->Stop(); }
  void Open() {
    gate_ = std::make_unique<FilterGate>();
    gate_->Start(&rig_.source());
    rig_.store().Guard(gate_.get());
  }
  void Restart() {
    gate_->Stop();
    rig_.store().Guard(nullptr);
    rig_.Reopen();
    Open();
  }

  v1::AppendBatchRequest BatchOf(const std::string& id, const std::vector<v1::Event>& events,
                                 const std::string& writer = "w") {
    v1::AppendBatchRequest batch =
        Batch(LedgerName(id), writer, absl::StrCat("request", ++requests_));
    for (const v1::Event& event : events) *batch.add_entries()->mutable_event() = event;
    return batch;
  }
  absl::Status Try(const v1::AppendBatchRequest& batch) {
    return rig_.store().Append(batch).status();
  }
  // Sends it again while what it costs is worked out. How often it was sent: sent_.
  absl::Status Append(const v1::AppendBatchRequest& batch) {
    for (sent_ = 1;; ++sent_) {
      const absl::Status status = Try(batch);
      if (ReasonOf(status).reason != kFilterNotReady) return status;
      EXPECT_TRUE(absl::IsAborted(status)) << status;
      absl::SleepFor(absl::Milliseconds(10));
    }
  }
  absl::Status Append(const std::string& id, const std::vector<v1::Event>& events) {
    return Append(BatchOf(id, events));
  }
  void ExpectCrossed(const absl::Status& status, const std::string& left = "") {
    EXPECT_TRUE(IsError(status, StatusCode::kFailedPrecondition, "FILTER_CROSSED",
                        "would cross its filter"));
    if (left.empty()) return;
    EXPECT_EQ(ReasonOf(status).metadata["rounds_left"], left) << status;
  }

  std::unique_ptr<FilterGate> gate_;
  AccountedStore rig_;
  int requests_ = 0;
  int sent_ = 0;
};

TEST_F(FilterGateTest, TakesExactlyWhatFitsAndRefusesTheRestWhole) {
  rig_.Create("a", HeldBy(kRho));
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(Append("a", {Gaussian(2)}).ok());
  const v1::Ledger before = *rig_.store().Get(LedgerName("a"));
  const v1::AppendBatchRequest two = BatchOf("a", {Gaussian(2), Gaussian(2)});
  const absl::Status refused = Append(two);
  ExpectCrossed(refused, "1");
  EXPECT_THAT(refused.message(), HasSubstr("projects/p/ledgers/a"));
  EXPECT_THAT(refused.message(), HasSubstr("0.875 spent of 1, and 1.125 with the batch"));
  EXPECT_THAT(refused.message(), HasSubstr("1 round of its last kind fits"));
  EXPECT_EQ(rig_.store().Get(LedgerName("a"))->SerializeAsString(), before.SerializeAsString());
  EXPECT_TRUE(Append("a", {Gaussian(2)}).ok());  // completely
  ExpectCrossed(Append("a", {Gaussian(2)}), "0");
  ExpectCrossed(Append("a", {Gaussian(1000)}), "0");
  ExpectCrossed(Append(two), "0");  // a refused id is new
  // What costs nothing is taken, and the ledger keeps its answer.
  v1::AppendBatchRequest note = BatchOf("a", {});
  AddNote(note, "the model is kept");
  EXPECT_TRUE(Append(note).ok());
  const v1::ComputeEpsilonResponse answer = rig_.Answer({"a"});
  EXPECT_NEAR(answer.details().filter_spending(0).spent(), 1, 1e-12);
}

// A step that was worked out of another head is not taken, and one that was is refused as any
// other.
TEST_F(FilterGateTest, TakesWhatWasWorkedOutAheadOnlyOfItsOwnHead) {
  rig_.Create("a", HeldBy(kRho));  // 32 of Gaussian(4)
  const auto batch = [&](int events) {
    return BatchOf("a", std::vector<v1::Event>(static_cast<size_t>(events), Gaussian(4)));
  };
  ASSERT_TRUE(Append(batch(8)).ok());
  LedgerReader& reader = rig_.store();
  const auto head = [&] { return *rig_.store().Head(LedgerName("a")); };
  const auto change = [&](const LedgerHead& of, int events) {
    return *AppendBatch(of, BatchDraft(batch(events)), absl::Now());
  };
  const auto before = head();
  const LedgerChange sixteen = change(*before, 16);
  const auto ahead = gate_->WorkAhead(*before, sixteen);
  ASSERT_NE(ahead, nullptr);
  EXPECT_EQ(gate_->WorkAhead(*before, change(*before, 7)), nullptr) << "it is not worth it";
  ASSERT_TRUE(Append(batch(8)).ok());  // 17 more do not fit any more, 16 do
  const auto after = head();
  EXPECT_EQ(gate_->WorkAhead(*before, sixteen), nullptr) << "of a head that is gone";
  for (const int events : {17, 16}) {
    const LedgerChange now = change(*after, events);
    const auto of_now = gate_->WorkAhead(*after, now);
    ASSERT_NE(of_now, nullptr);
    for (AppendGate::Ahead* const given : {of_now.get(), ahead.get()}) {
      const absl::Status admitted = gate_->Admit(*after, now, "", reader, given);
      if (events == 17) {
        ExpectCrossed(admitted, "16");
      } else {
        EXPECT_TRUE(admitted.ok()) << admitted;
      }
    }
  }
}

TEST_F(FilterGateTest, SpendsOfAMixtureToTheLastRound) {
  rig_.Create("a", HeldBy(kMixture));
  const auto filter = *questions::FilterFromProto(accountant::FromText<v1::Filter>(kMixture));
  const auto spent = [&](uint64_t rounds) {
    accountant::History history;
    history.Add("w", *events::ValueOf(Sampled(rounds, 1.1)));
    return *Spent(filter, *accountant::Resolve(history, accountant::Adjacency::kAddOrRemoveOne),
                  {});
  };
  uint64_t fits = 1;
  while (!Crossed(filter, spent(fits + 1))) ++fits;
  uint64_t taken = 0;
  absl::Status status;
  for (; status.ok() && taken < 2 * fits; taken += status.ok() ? 1 : 0) {
    v1::AppendBatchRequest batch = BatchOf("a", {});
    AddSampling(batch, taken);
    AddSumQuery(batch, taken);
    status = Append(batch);
  }
  ExpectCrossed(status, "0");
  EXPECT_EQ(taken, fits);
  EXPECT_GT(fits, 100u);
  EXPECT_EQ(rig_.Answer({"a"}).epsilon().upper(), 2);
}

TEST_F(FilterGateTest, LeavesAloneWhatWasReleasedAlready) {
  rig_.Create("spool", HeldBy(kRho, v1::SPOOL));
  rig_.Create("fixed");
  rig_.Create("free",
              [](v1::Declaration& declaration) { declaration.set_parameters(v1::ADAPTIVE); });
  for (const char* id : {"spool", "fixed", "free"}) {
    EXPECT_TRUE(Try(BatchOf(id, {Gaussian(0.1)})).ok()) << id;
  }
  EXPECT_EQ(ReasonOf(rig_.Ask({"spool"}).status()).reason, "FILTER_CROSSED");
  // The control.
  rig_.Create("closed", HeldBy(kRho));
  ExpectCrossed(Append("closed", {Gaussian(0.1)}));
}

// An event of an incarnation that was fenced off: its trainer may not have waited for the answer.
TEST_F(FilterGateTest, TakesLateEventsWhateverTheyCost) {
  rig_.Create("a", HeldBy(kRho));
  for (const char* incarnation : {"one", "two"}) {
    v1::AppendBatchRequest opened = BatchOf("a", {});
    opened.set_incarnation(incarnation);
    opened.add_entries()->mutable_opened()->set_incarnation(incarnation);
    ASSERT_TRUE(Append(opened).ok());
  }
  v1::AppendBatchRequest fenced = BatchOf("a", {Gaussian(0.1)});
  fenced.set_incarnation("one");
  EXPECT_EQ(ReasonOf(Append(fenced)).reason, "FENCED_OFF");
  v1::AppendBatchRequest late = BatchOf("a", {});
  v1::LateEvent& event = *late.add_entries()->mutable_late_event();
  event.set_incarnation("one");
  *event.mutable_event() = Gaussian(0.1);
  EXPECT_EQ(Append(late), absl::OkStatus());
  EXPECT_EQ(ReasonOf(rig_.Ask({"a"}).status()).reason, "FILTER_CROSSED");
  v1::AppendBatchRequest next = BatchOf("a", {Gaussian(1000)});
  next.set_incarnation("two");
  ExpectCrossed(Append(next), "0");
}

// Grouped rounds are epochs of their own, whatever number a sampled round bears.
TEST_F(FilterGateTest, AgreesWithTheAnswerOnEpochsOfOneNumber) {
  rig_.Create("a", [](v1::Declaration& declaration) {
    HeldBy(kRho)(declaration);
    declaration.set_adjacency(v1::ZERO_OUT);
  });
  v1::Event grouped = Sampled(10'000, 100);
  auto& scheme = *grouped.mutable_rounds()->mutable_scheme()->mutable_disjoint_batches();
  scheme.set_batches_per_epoch(10);
  scheme.set_epoch(5);
  ASSERT_EQ(Append("a", {grouped}), absl::OkStatus());
  v1::AppendBatchRequest sampled = BatchOf("a", {});
  AddSampling(sampled, 1);
  *sampled.mutable_entries(0)->mutable_event()->mutable_sampling()->mutable_scheme() =
      grouped.rounds().scheme();
  AddSumQuery(sampled, 1);
  ASSERT_EQ(Append(sampled), absl::OkStatus());
  EXPECT_NEAR(rig_.Answer({"a"}).details().filter_spending(0).spent(),
              1000 / 2e4 + 1 / (2 * 1.1 * 1.1), 1e-9);
}

// The filter's own sum rounds up at each kind of round.
TEST_F(FilterGateTest, TakesNothingThatTheAnswerRoundsOverTheBound) {
  rig_.Create("a", HeldBy("zcdp { rho: 3 }"));
  for (int i = 0; i < 300; ++i) ASSERT_EQ(Append("a", {Gaussian(8 + i * 0.01)}), absl::OkStatus());
  double refused = 0.1, taken = 100;
  while (taken - refused > 1e-15 * taken) {
    const double middle = (taken + refused) / 2;
    if (middle == taken || middle == refused) break;
    // Each is tried against the same sum: on a copy of the ledger's last entry.
    const std::string fork = absl::StrCat("f", ++requests_);
    rig_.Fork("a", 301, fork);
    if (Append(fork, {Gaussian(middle)}).ok()) {
      taken = middle;
      EXPECT_TRUE(rig_.Ask({fork}).ok()) << middle;
    } else {
      refused = middle;
    }
  }
}

// One who asks for much that takes long has no more than a turn.
TEST_F(FilterGateTest, LetsOthersHaveTheirTurn) {
  rig_.Create("greedy", HeldBy(kMixture));
  rig_.Create("honest", HeldBy(kMixture));
  std::vector<v1::Event> events(2000);
  for (size_t i = 0; i < events.size(); ++i) {
    auto& mechanism = *events[i].mutable_mechanism()->mutable_discrete_gaussian();
    mechanism.set_sigma(3000 + 0.01 * static_cast<double>(i));
    mechanism.set_sensitivity(1);
  }
  EXPECT_EQ(ReasonOf(Try(BatchOf("greedy", events))).reason, kFilterNotReady);
  v1::Event laplace;
  laplace.mutable_mechanism()->mutable_laplace()->set_noise_multiplier(40);
  const absl::Time before = absl::Now();
  EXPECT_EQ(Append("honest", {laplace}), absl::OkStatus());
  EXPECT_LT(absl::Now() - before, absl::Seconds(10));
  const absl::Time stopping = absl::Now();
  gate_->Stop();
  EXPECT_LT(absl::Now() - stopping, absl::Seconds(10));
}

TEST_F(FilterGateTest, SaysWhyALedgerCannotBeRead) {
  rig_.Create("f0", HeldBy(kRho));
  for (int i = 0; i < 102; ++i) rig_.Fork(absl::StrCat("f", i), 1, absl::StrCat("f", i + 1));
  EXPECT_EQ(ReasonOf(Append("f102", {Gaussian(2)})).reason, "FORKS_TOO_DEEP");
}

// All of what a ledger holds is worked out at once.
TEST_F(FilterGateTest, ReadsALedgerOfManyKindsInOneGo) {
  rig_.Create("a", HeldBy(kMixture));
  const auto laplace = [](int i) {
    v1::Event event;
    event.mutable_mechanism()->mutable_laplace()->set_noise_multiplier(200 + i);
    return event;
  };
  for (int i = 0; i < 40; ++i) ASSERT_EQ(Append("a", {laplace(i)}), absl::OkStatus());
  Restart();
  ASSERT_EQ(Append("a", {Gaussian(30)}), absl::OkStatus());
  const int times = sent_;
  EXPECT_LT(times, 20);
}

TEST_F(FilterGateTest, RefusesRoundsOfTooManySums) {
  rig_.Create("a", HeldBy("zcdp { rho: 1e6 }"));
  v1::AppendBatchRequest batch = BatchOf("a", {});
  for (int i = 0; i < 1000; ++i) AddSumQuery(batch, 1);
  ASSERT_EQ(Append(batch), absl::OkStatus());
  batch.set_request_id("more");
  EXPECT_TRUE(IsError(Append(batch), StatusCode::kFailedPrecondition, "FILTER_CANNOT_COUNT",
                      "has at most 1024 different sums"));
  for (v1::NewEntry& entry : *batch.mutable_entries())
    entry.mutable_event()->mutable_sum_query()->set_round(2);
  EXPECT_EQ(Append(batch), absl::OkStatus());  // another round
}

TEST_F(FilterGateTest, RefusesWhatCannotBeCounted) {
  rig_.Create("a", HeldBy(kMixture));
  v1::Event reveals;
  reveals.mutable_mechanism()->mutable_non_private();
  ExpectCrossed(Append("a", {reveals}));
  v1::Event fails;
  fails.mutable_mechanism()->mutable_epsilon_delta()->set_epsilon(0.1);
  fails.mutable_mechanism()->mutable_epsilon_delta()->set_delta(1e-9);
  EXPECT_TRUE(IsError(Append("a", {fails}), StatusCode::kFailedPrecondition, "FILTER_CANNOT_COUNT",
                      "may fail with a probability"));
  v1::Event unknown;
  unknown.mutable_mechanism()->mutable_unsupported();
  EXPECT_TRUE(IsError(Append("a", {unknown}), StatusCode::kFailedPrecondition, "NO_ANALYSIS", ""));
  EXPECT_EQ(rig_.store().Get(LedgerName("a"))->size(), 1u);
  EXPECT_TRUE(Append("a", {Gaussian(20)}).ok());
}

TEST_F(FilterGateTest, WorksOutWhatTakesLongOnceAndNotMeanwhile) {
  rig_.Create("a", HeldBy(kMixture));
  EXPECT_EQ(ReasonOf(Try(BatchOf("a", {Allocated(6, 0)}))).reason, kFilterNotReady);
  EXPECT_EQ(rig_.store().Get(LedgerName("a"))->size(), 1u);
  ASSERT_TRUE(Append("a", {Allocated(6, 0)}).ok());
  ASSERT_TRUE(Append("a", {Allocated(6, 1)}).ok());  // the same, but for its number
  EXPECT_EQ(sent_, 1);
  rig_.Create("b", HeldBy(kMixture));
  ASSERT_TRUE(Append("b", {Allocated(6, 0)}).ok());
  EXPECT_EQ(sent_, 1);
  ASSERT_TRUE(Append("b", {Allocated(7, 1), Gaussian(30)}).ok());
  EXPECT_GT(sent_, 1);
}

TEST_F(FilterGateTest, KnowsAfterARestartWhatIsSpent) {
  rig_.Create("short", HeldBy(kRho));
  rig_.Create("long", HeldBy(kRho));
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(Append("short", {Gaussian(2)}).ok());
  std::vector<v1::Event> small(300, Gaussian(20));  // .375
  ASSERT_TRUE(Append("long", small).ok());
  Restart();
  ExpectCrossed(Append("short", {Gaussian(2), Gaussian(2), Gaussian(2)}), "2");
  EXPECT_EQ(ReasonOf(Try(BatchOf("long", {Gaussian(2)}))).reason, kFilterNotReady);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Append("long", {Gaussian(2)}).ok()) << i;
  ExpectCrossed(Append("long", {Gaussian(2)}), "0");
}

TEST_F(FilterGateTest, ChargesAForkForWhatItCarriesOn) {
  rig_.Create("parent", HeldBy(kRho));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(Append("parent", {Gaussian(2)}).ok());
  rig_.Fork("parent", 4, "child");  // three of them
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Append("child", {Gaussian(2)}).ok()) << i;
  ExpectCrossed(Append("child", {Gaussian(2)}), "0");
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(Append("parent", {Gaussian(2)}).ok()) << i;
  ExpectCrossed(Append("parent", {Gaussian(2)}), "0");
}

TEST_F(FilterGateTest, GivesOldReceiptsAgainWhenTheFilterIsSpent) {
  rig_.Create("a", HeldBy(kRho));
  const v1::AppendBatchRequest all = BatchOf("a", std::vector<v1::Event>(8, Gaussian(2)));
  ASSERT_TRUE(Append(all).ok());
  EXPECT_TRUE(Append(all).ok());
  ExpectCrossed(Append("a", {Gaussian(2)}));
}

TEST_F(FilterGateTest, StopsALineWhereItRefuses) {
  rig_.Create("a", HeldBy(kRho));
  ASSERT_TRUE(Append("a", {Gaussian(2)}).ok());
  const auto line = std::make_shared<AppendLine>();
  std::vector<absl::Status> answers(4);
  std::atomic<int> waiting = 4;
  const std::vector<std::vector<v1::Event>> batches = {
      {Gaussian(2)}, {Gaussian(0.1)}, {Gaussian(2)}, {Gaussian(2)}};
  for (size_t i = 0; i < batches.size(); ++i) {
    rig_.store().AppendAsync(BatchOf("a", batches[i]), "", line,
                             [&, i](absl::StatusOr<v1::Receipt> receipt) {
                               answers[i] = receipt.status();
                               --waiting;
                             });
  }
  while (waiting > 0) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_TRUE(answers[0].ok()) << answers[0];
  ExpectCrossed(answers[1]);
  for (int i : {2, 3}) EXPECT_EQ(ReasonOf(answers[i]).reason, "EARLIER_BATCH_REFUSED");
  EXPECT_EQ(rig_.store().Get(LedgerName("a"))->size(), 3u);
}

// 16 writers race for what takes 61 % of what they send. Batches of two entries, in which rounds
// begin and end, so that the order of the batches matters to nobody.
TEST_F(FilterGateTest, TakesAsManyAsFitInARace) {
  rig_.Create("a", HeldBy("zcdp { rho: 12.2 }"));
  ASSERT_TRUE(Append("a", {Gaussian(1000)}).ok());
  std::atomic<int> taken = 0, refused = 0;
  std::vector<std::thread> writers;
  for (int w = 0; w < 16; ++w) {
    writers.emplace_back([&, w] {
      for (uint64_t round = 0; round < 100; ++round) {
        v1::AppendBatchRequest batch =
            Batch(LedgerName("a"), absl::StrCat("w", w), absl::StrCat(w, ".", round));
        batch.add_entries()->mutable_event()->mutable_sampling()->set_round(round);
        batch.mutable_entries(0)
            ->mutable_event()
            ->mutable_sampling()
            ->mutable_scheme()
            ->mutable_full_batch();
        AddSumQuery(batch, round);
        batch.mutable_entries(1)
            ->mutable_event()
            ->mutable_sum_query()
            ->mutable_query()
            ->set_noise_stddev(8);  // 1/128
        const absl::Status status = Try(batch);
        if (status.ok()) {
          ++taken;
        } else {
          EXPECT_EQ(ReasonOf(status).reason, "FILTER_CROSSED") << status;
          ++refused;
        }
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(taken, 1561);  // of 12.2 - 5e-7, by 1/128
  EXPECT_EQ(refused, 1600 - 1561);
  EXPECT_TRUE(rig_.Ask({"a"}).ok());
}

}  // namespace
}  // namespace dpledger::server
