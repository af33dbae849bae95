// Lists, data sets and watches over a real server with a real store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/hex.h"
#include "server/own_ledgers/own_ledgers.h"
#include "server/summaries/stored_summary.h"
#include "tests/events/field_rules.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

using Ledgers = v1::LedgerService::Stub;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ServerOptions Summarising() {
  ServerOptions options = RunningServer::SigningOnDemand();
  options.summaries = true;
  return options;
}

std::string Name(const std::string& id) { return absl::StrCat("projects/p/ledgers/", id); }

v1::ListLedgersRequest ListOf(const std::string& filter, const std::string& order_by = "",
                              uint32_t page_size = 0) {
  v1::ListLedgersRequest request;
  request.set_parent("projects/-");
  request.set_filter(filter);
  request.set_order_by(order_by);
  request.set_page_size(page_size);
  return request;
}

class Listing : public ::testing::Test {
 protected:
  explicit Listing(const ServerOptions& options = Summarising()) : running_(options) {}

  void Rounds(const std::string& id, uint64_t count, double noise = 1.1) {
    v1::AppendBatchRequest batch = Batch(Name(id), "w", absl::StrCat("r", ++requests_));
    v1::RoundsEvent& rounds = *batch.add_entries()->mutable_event()->mutable_rounds();
    rounds.mutable_scheme()->mutable_poisson()->set_probability(0.01);
    rounds.set_count(count);
    rounds.add_queries()->set_l2_norm_bound(1);
    rounds.mutable_queries(0)->set_noise_stddev(noise);
    running_.Append(batch);
  }
  v1::ListLedgersResponse List(const v1::ListLedgersRequest& request) {
    v1::ListLedgersResponse response;
    EXPECT_TRUE(IsOk(Call(running_.ledgers(), &Ledgers::ListLedgers, request, &response)));
    EXPECT_EQ(response.ledgers_size(), response.summaries_size());
    return response;
  }
  // The ids of all pages, each page's behind "|".
  std::string Pages(v1::ListLedgersRequest request) {
    std::string ids;
    do {
      const v1::ListLedgersResponse page = List(request);
      ids += "|";
      for (const v1::Ledger& ledger : page.ledgers()) {
        ids += ledger.name().substr(ledger.name().rfind('/') + 1) + " ";
      }
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    return ids;
  }
  // Waits until every ledger but the server's own has a summary of all its entries.
  v1::ListLedgersResponse Summarised() {
    while (true) {
      v1::ListLedgersResponse response = List(ListOf("", "", 1000));
      bool all = true;
      for (int i = 0; i < response.ledgers_size(); ++i) {
        all = all && (IsOfServer(response.ledgers(i).name()) ||
                      response.summaries(i).size() == response.ledgers(i).size());
      }
      if (all) return response;
      absl::SleepFor(absl::Milliseconds(10));
    }
  }
  v1::ComputeEpsilonResponse Epsilon(const std::vector<std::string>& ids) {
    v1::ComputeEpsilonRequest request;
    for (const std::string& id : ids) request.mutable_subject()->add_ledgers(Name(id));
    request.set_delta(1e-5);
    v1::ComputeEpsilonResponse response;
    EXPECT_TRUE(IsOk(Call(running_.accounting(), &v1::AccountingService::Stub::ComputeEpsilon,
                          request, &response)));
    return response;
  }
  v1::ListDatasetsResponse Datasets(const std::string& parent = "projects/-") {
    v1::ListDatasetsRequest request;
    request.set_parent(parent);
    v1::ListDatasetsResponse response;
    EXPECT_TRUE(IsOk(Call(running_.ledgers(), &Ledgers::ListDatasets, request, &response)));
    return response;
  }
  // "reason ledger-or-data-sets|" of each item, by pages of that many.
  std::string Attention(uint32_t page_size, const std::string& parent = "projects/-") {
    v1::ListAttentionRequest request;
    request.set_parent(parent);
    request.set_page_size(page_size);
    std::string text;
    do {
      v1::ListAttentionResponse response;
      EXPECT_TRUE(IsOk(Call(running_.ledgers(), &Ledgers::ListAttention, request, &response)));
      for (const v1::AttentionItem& item : response.items()) {
        absl::StrAppend(&text, v1::AttentionItem::Reason_Name(item.reason()), " ",
                        item.ledger().empty() ? absl::StrJoin(item.datasets(), ",") : item.ledger(),
                        "|");
      }
      EXPECT_LE(response.items_size(), static_cast<int>(page_size));
      request.set_page_token(response.next_page_token());
    } while (!request.page_token().empty());
    return text;
  }
  v1::ListAttentionResponse AllAttention() {
    v1::ListAttentionRequest request;
    request.set_parent("projects/-");
    v1::ListAttentionResponse response;
    EXPECT_TRUE(IsOk(Call(running_.ledgers(), &Ledgers::ListAttention, request, &response)));
    return response;
  }
  void Plan(v1::Declaration& declaration) { declaration.set_plan_independent(true); }

  RunningServer running_;
  int requests_ = 0;
};

TEST_F(Listing, SummaryIsTheAnswerOfComputeEpsilon) {
  running_.Create(Name("a"));
  Rounds("a", 1000);
  const v1::ListLedgersResponse list = Summarised();
  ASSERT_EQ(list.summaries_size(), 1);
  const v1::LedgerSummary& summary = list.summaries(0);
  const v1::ComputeEpsilonResponse answer = Epsilon({"a"});
  EXPECT_EQ(summary.ledger(), Name("a"));
  EXPECT_EQ(summary.size(), 2u);
  EXPECT_EQ(summary.root_hash(), list.ledgers(0).root_hash());
  EXPECT_EQ(summary.delta(), 1e-5);
  EXPECT_EQ(summary.epsilon().SerializeAsString(), answer.epsilon().SerializeAsString());
  EXPECT_EQ(summary.method(), answer.details().method());
  EXPECT_EQ(summary.version(), answer.details().version());
  EXPECT_EQ(summary.warnings(), static_cast<uint64_t>(answer.details().warnings_size()));
  EXPECT_EQ(summary.rounds(), 1000u);
  EXPECT_EQ(summary.conflicts(), 0u);
  EXPECT_EQ(summary.last_entry_time().seconds(),
            absl::ToUnixSeconds(CutToMinute(running_.clock().Now())));
  EXPECT_TRUE(summary.has_compute_time());
  EXPECT_FALSE(summary.has_refusal());
}

TEST_F(Listing, SummaryFollowsAppendsAndCountsWhatTheAnswerDoesNot) {
  running_.Create(Name("a"));
  Rounds("a", 1000);
  const double before = Summarised().summaries(0).epsilon().upper();
  Rounds("a", 1000);
  v1::AppendBatchRequest closing = Batch(Name("a"), "w", "close");
  closing.add_entries()->mutable_writer_closed()->set_entry_count(3);
  running_.Append(closing);
  v1::AppendBatchRequest late = RoundBatch(Name("a"), "w", "late", 7);  // leaves a CONFLICT
  EXPECT_FALSE(Call(running_.ledgers(), &Ledgers::AppendBatch, late).ok());
  v1::AppendBatchRequest correction = Batch(Name("a"), "other", "fix");
  correction.add_entries()->mutable_correction()->set_corrected_sequence(1);
  correction.mutable_entries(0)->mutable_correction()->set_text("it was another run");
  running_.Append(correction);
  const v1::LedgerSummary summary = Summarised().summaries(0);
  EXPECT_GT(summary.epsilon().upper(), before);
  EXPECT_EQ(summary.rounds(), 2000u);
  EXPECT_EQ(summary.conflicts(), 1u);
  EXPECT_EQ(summary.corrections(), 1u);
}

TEST_F(Listing, RefusalIsInTheSummary) {
  running_.Create(Name("a"),
                  [](v1::Declaration& declaration) { declaration.set_parameters(v1::ADAPTIVE); });
  const v1::LedgerSummary summary = Summarised().summaries(0);
  EXPECT_FALSE(summary.has_epsilon());
  EXPECT_THAT(summary.refusal().reason(), Not(IsEmpty()));
  EXPECT_THAT(summary.refusal().message(), HasSubstr("filter"));
  EXPECT_EQ(Pages(ListOf("refused:*")), "|a ");
  EXPECT_EQ(Pages(ListOf("epsilon:*")), "|");
  // No answer counts its corrections: twice, since a summary goes on from the one before.
  for (const char* id : {"first", "second"}) {
    v1::AppendBatchRequest batch = Batch(Name("a"), "w", id);
    batch.add_entries()->mutable_correction()->set_text("wrong");
    running_.Append(batch);
    Summarised();
  }
  EXPECT_EQ(Summarised().summaries(0).corrections(), 2u);
  EXPECT_EQ(AllAttention().items(1).title(), "2 corrections");
}

TEST_F(Listing, FiltersOrdersAndPages) {
  for (int i = 0; i < 5; ++i) {
    const std::string id = absl::StrCat("l", i);
    running_.Create(Name(id), [&](v1::Declaration& declaration) {
      declaration.set_dataset(i < 2 ? "adult" : "mnist");
    });
    if (i != 4) Rounds(id, static_cast<uint64_t>(1000 * (1 + i * 3 % 4)));
  }
  running_.Create("projects/q/ledgers/z");
  Summarised();
  EXPECT_EQ(Pages(ListOf("")), "|l0 l1 l2 l3 l4 z ");
  EXPECT_EQ(Pages(ListOf("", "", 2)), "|l0 l1 |l2 l3 |l4 z ");
  // 1000, 4000, 3000, 2000 rounds; none; none.
  EXPECT_EQ(Pages(ListOf("", "epsilon desc")), "|l1 l2 l3 l0 l4 z ");
  EXPECT_EQ(Pages(ListOf("", "epsilon desc", 1)), "|l1 |l2 |l3 |l0 |l4 |z ");
  EXPECT_EQ(Pages(ListOf("", "rounds", 4)), "|l4 z l0 l3 |l2 l1 ");
  EXPECT_EQ(Pages(ListOf("", "age desc", 1)).size(), Pages(ListOf("", "age", 1)).size());
  EXPECT_EQ(Pages(ListOf("dataset = mnist AND rounds > 0", "rounds desc", 1)), "|l2 |l3 ");
  EXPECT_EQ(Pages(ListOf("dataset = none")), "|");
  for (const char* order : {"", "name desc", "project desc", "dataset", "dataset desc", "epsilon",
                            "last_entry_time desc", "size", "refused"}) {
    const std::string whole = Pages(ListOf("", order)).substr(1);
    for (const uint32_t page_size : {1, 2, 3}) {
      std::string pages = Pages(ListOf("", order, page_size));
      std::erase(pages, '|');
      EXPECT_EQ(pages, whole) << order << " by " << page_size;
    }
  }
  v1::ListLedgersRequest in_q = ListOf("size = 1");
  in_q.set_parent("projects/q");
  EXPECT_EQ(Pages(in_q), "|z ");
  in_q.set_parent("projects/none");
  EXPECT_EQ(Pages(in_q), "|");
}

TEST_F(Listing, TokenIsOfOneListAlone) {
  for (const char* id : {"a", "b", "c"}) running_.Create(Name(id));
  v1::ListLedgersRequest request = ListOf("size > 0", "size", 1);
  request.set_page_token(List(request).next_page_token());
  v1::ListLedgersRequest other = request;
  other.set_filter("size > 1");
  EXPECT_TRUE(IsFieldError(Call(running_.ledgers(), &Ledgers::ListLedgers, other), "page_token",
                           "for the same parent, filter and order"));
  // A page token is no secret: one that goes on behind the project finds nothing.
  v1::ListLedgersRequest in_p = ListOf("", "", 1);
  in_p.set_parent("projects/p");
  running_.Create("projects/q/ledgers/a");
  std::string token = List(in_p).next_page_token();
  const std::string name = HexEncode(Name("a"));
  token.replace(token.find(name), name.size(), HexEncode("projects/r/ledgers/a"));
  in_p.set_page_token(token);
  EXPECT_EQ(List(in_p).ledgers_size(), 0);
  other = request;
  other.set_order_by("size desc");
  EXPECT_TRUE(IsFieldError(Call(running_.ledgers(), &Ledgers::ListLedgers, other), "page_token",
                           "for the same parent, filter and order"));
  EXPECT_TRUE(IsFieldError(Call(running_.ledgers(), &Ledgers::ListLedgers, ListOf("size")),
                           "filter", "byte 5: must be one of"));
  EXPECT_TRUE(IsFieldError(Call(running_.ledgers(), &Ledgers::ListLedgers, ListOf("", "up")),
                           "order_by", "must be a field"));
}

TEST_F(Listing, DatasetsHaveTheirTotals) {
  for (const char* id : {"a", "b"}) {
    running_.Create(Name(id), [&](v1::Declaration& d) { d.set_plan_independent(true); });
    Rounds(id, 1000);
  }
  running_.Create("projects/q/ledgers/c", [](v1::Declaration& declaration) {
    declaration.set_dataset("mnist");
    declaration.set_unit_of_privacy("user");
  });
  Summarised();
  const v1::ListDatasetsResponse list = Datasets();
  ASSERT_EQ(list.datasets_size(), 2);
  const v1::DatasetSummary& adult = list.datasets(0);
  EXPECT_EQ(adult.name(), "adult");
  EXPECT_THAT(adult.units_of_privacy(), ElementsAre("example"));
  EXPECT_THAT(adult.adjacencies(), ElementsAre(v1::ADD_OR_REMOVE_ONE));
  EXPECT_EQ(adult.ledger_count(), 2u);
  EXPECT_EQ(adult.open_count(), 2u);
  EXPECT_EQ(adult.refused_count(), 0u);
  EXPECT_EQ(adult.delta(), 1e-5);
  EXPECT_EQ(adult.epsilon().SerializeAsString(), Epsilon({"a", "b"}).epsilon().SerializeAsString());
  EXPECT_EQ(adult.largest().epsilon().upper(), Epsilon({"a"}).epsilon().upper());
  EXPECT_EQ(list.datasets(1).name(), "mnist");
  EXPECT_EQ(list.datasets(1).epsilon().upper(), 0);
  EXPECT_EQ(Datasets("projects/q").datasets_size(), 1);
  // It follows appends.
  Rounds("b", 5000);
  Summarised();
  EXPECT_EQ(Datasets().datasets(0).epsilon().SerializeAsString(),
            Epsilon({"a", "b"}).epsilon().SerializeAsString());
}

TEST_F(Listing, DatasetWhoseUnitsDifferSaysWhyItHasNoTotal) {
  running_.Create(Name("a"));
  running_.Create(Name("b"), [](v1::Declaration& d) { d.set_unit_of_privacy("user"); });
  Summarised();
  const v1::ListDatasetsResponse list = Datasets();
  EXPECT_FALSE(list.datasets(0).has_epsilon());
  EXPECT_EQ(list.datasets(0).regime(), v1::REGIME_UNSPECIFIED);
  EXPECT_THAT(list.datasets(0).refusal().message(), HasSubstr("unit of privacy"));
}

TEST_F(Listing, AttentionIsByGravityInPagesOfAnySize) {
  running_.Create(Name("z"), [](v1::Declaration& d) { d.set_parameters(v1::ADAPTIVE); });
  running_.Create(Name("y"), [](v1::Declaration& d) {
    d.set_parameters(v1::ADAPTIVE);
    d.set_unit_of_privacy("user");
  });
  running_.Create(Name("fine"), [](v1::Declaration& d) { d.set_dataset("bill"); });
  running_.Create("projects/q/ledgers/c", [](v1::Declaration& d) { d.set_dataset("b1ll"); });
  Rounds("z", 1);
  Rounds("y", 1);
  Summarised();
  Datasets();  // waits for the totals
  // The store's clock stands in the past: all are silent.
  const std::string all =
      absl::StrCat("EPSILON_REFUSED ", Name("y"), "|EPSILON_REFUSED ", Name("z"),
                   "|TOTAL_REFUSED adult|ALIKE b1ll,bill|SILENT ", Name("fine"), "|SILENT ",
                   Name("y"), "|SILENT ", Name("z"), "|SILENT projects/q/ledgers/c|");
  for (const uint32_t size : {1, 2, 3, 100}) EXPECT_EQ(Attention(size), all) << size;
  EXPECT_EQ(Attention(100, "projects/q"), "SILENT projects/q/ledgers/c|");
  EXPECT_EQ(AllAttention().unexamined(), 0u);
  v1::ListAttentionRequest request;
  request.set_parent("projects/-");
  request.set_page_token("x");
  v1::ListAttentionResponse response;
  EXPECT_TRUE(IsFieldError(Call(running_.ledgers(), &Ledgers::ListAttention, request, &response),
                           "page_token", "must come from the answer before"));
  request.clear_page_token();
  request.set_page_size(1001);
  EXPECT_TRUE(IsFieldError(Call(running_.ledgers(), &Ledgers::ListAttention, request, &response),
                           "page_size", "at most 1000"));
}

class ListingWithoutSummaries : public Listing {
 protected:
  ListingWithoutSummaries() : Listing(RunningServer::SigningOnDemand()) {}
};

TEST_F(ListingWithoutSummaries, AttentionCountsWhatItDoesNotKnow) {
  EXPECT_EQ(AllAttention().unexamined(), 0u);
  for (const char* id : {"a", "b", "c"}) {
    running_.Create(Name(id), [id](v1::Declaration& d) { d.set_dataset(absl::StrCat("of ", id)); });
  }
  EXPECT_EQ(AllAttention().unexamined(), 3u);
}

TEST_F(Listing, WhatIsAcknowledgedStandsLastAsLongAsTheSameIsTheMatter) {
  running_.Create(Name("z"), [](v1::Declaration& d) { d.set_parameters(v1::ADAPTIVE); });
  Rounds("z", 1);
  Summarised();
  const v1::AttentionItem refused = AllAttention().items(0);
  ASSERT_EQ(refused.reason(), v1::AttentionItem::EPSILON_REFUSED);
  EXPECT_EQ(refused.id().size(), 16u);
  EXPECT_FALSE(refused.has_note());
  const auto say = [&](const std::string& request, v1::AttentionItem* item = nullptr) {
    return Call(running_.ledgers(), &Ledgers::NoteAttention,
                accountant::FromText<v1::NoteAttentionRequest>(request), item);
  };
  const std::string about = absl::StrCat("id: '", refused.id(), "' ledger: '", Name("z"), "' ");
  v1::AttentionItem noted;
  ASSERT_TRUE(
      IsOk(say(about + "acknowledged: true text: 'known' assigned_to: 'night shift'", &noted)));
  EXPECT_EQ(noted.note().text(), "known");
  v1::ListAttentionResponse after = AllAttention();
  EXPECT_EQ(after.total(), 2);
  EXPECT_EQ(after.acknowledged(), 1);
  EXPECT_EQ(after.items(0).reason(), v1::AttentionItem::SILENT);
  EXPECT_EQ(after.items(1).note().SerializeAsString(), noted.note().SerializeAsString());
  EXPECT_EQ(after.items(1).note().assigned_to(), "night shift");
  // The last word holds, and stands in an entry of its own.
  ASSERT_TRUE(IsOk(say(about)));
  after = AllAttention();
  EXPECT_EQ(after.acknowledged(), 0);
  EXPECT_EQ(after.items(0).id(), refused.id());
  EXPECT_EQ(running_.Get("projects/attention/ledgers/notes").size(), 3);

  // A correction, acknowledged, and one more.
  running_.Create(Name("fixed"));
  Rounds("fixed", 1);
  const auto correct = [&](const std::string& id) {
    v1::AppendBatchRequest batch = Batch(Name("fixed"), "w", id);
    batch.add_entries()->mutable_correction()->set_corrected_sequence(1);
    batch.mutable_entries(0)->mutable_correction()->set_text("wrong");
    running_.Append(batch);
    Summarised();
  };
  const auto corrected = [&] {
    const v1::ListAttentionResponse all = AllAttention();
    for (const v1::AttentionItem& item : all.items())
      if (item.reason() == v1::AttentionItem::CORRECTED) return item;
    return v1::AttentionItem();
  };
  correct("c1");
  const std::string first = corrected().id();
  ASSERT_TRUE(IsOk(
      say(absl::StrCat("id: '", first, "' ledger: '", Name("fixed"), "' acknowledged: true"))));
  EXPECT_TRUE(corrected().note().acknowledged());
  correct("c2");
  EXPECT_NE(corrected().id(), first);
  EXPECT_FALSE(corrected().has_note());

  EXPECT_EQ(say(absl::StrCat("id: '", first, "' ledger: '", Name("fixed"), "'")).error_code(),
            grpc::StatusCode::NOT_FOUND);
  for (const std::string& other :
       {absl::StrCat("id: '", refused.id(), "'"),
        absl::StrCat("id: '", refused.id(), "' dataset: 'adult'"),
        absl::StrCat("id: '", refused.id(), "' ledger: 'projects/p/ledgers/y'")}) {
    EXPECT_EQ(say(other).error_code(), grpc::StatusCode::NOT_FOUND) << other;
  }
  EXPECT_TRUE(IsFieldError(say(about + "text: '" + std::string(1025, 'x') + "'"), "text", "must"));
  EXPECT_TRUE(IsFieldError(say(about + "assigned_to: '" + std::string(257, 'x') + "'"),
                           "assigned_to", "must"));
}

// What is said of a data set's total by those who see one project is not said of another one's.
TEST_F(Listing, OfADataSetAnItemIsAboutTheProjectsThatAreSeen) {
  running_.Create(Name("z"));
  running_.Create(Name("y"), [](v1::Declaration& d) { d.set_unit_of_privacy("user"); });
  running_.Create("projects/q/ledgers/c", [](v1::Declaration& d) { d.set_dataset("adu1t"); });
  const auto ids = [&] {
    Summarised();
    Datasets();  // waits for the totals
    v1::ListAttentionRequest request;
    request.set_parent("projects/-");
    v1::ListAttentionResponse response;
    EXPECT_TRUE(IsOk(Call(running_.ledgers(), &Ledgers::ListAttention, request, &response)));
    std::map<v1::AttentionItem::Reason, std::string> found;
    for (const v1::AttentionItem& item : response.items())
      if (item.ledger().empty() && !item.datasets().empty()) found[item.reason()] = item.id();
    return found;
  };
  const auto before = ids();
  ASSERT_EQ(before.size(), 2u) << "the total of adult, and the names";
  EXPECT_EQ(ids(), before);
  // The list of one project shows other items about the same, which are noted as of that list.
  v1::NoteAttentionRequest note;
  note.set_dataset("adult");
  v1::ListAttentionRequest of_project;
  of_project.set_parent("projects/p");
  v1::ListAttentionResponse list;
  ASSERT_TRUE(IsOk(Call(running_.ledgers(), &Ledgers::ListAttention, of_project, &list)));
  for (const v1::AttentionItem& item : list.items())
    if (item.reason() == v1::AttentionItem::TOTAL_REFUSED) note.set_id(item.id());
  ASSERT_NE(note.id(), "");
  const auto say = [&] {
    return Call(running_.ledgers(), &Ledgers::NoteAttention, note).error_code();
  };
  if (note.id() != before.at(v1::AttentionItem::TOTAL_REFUSED)) {
    EXPECT_EQ(say(), grpc::StatusCode::NOT_FOUND);
  }
  note.set_parent("projects/p");
  EXPECT_EQ(say(), grpc::StatusCode::OK);
  note.set_parent("p");
  EXPECT_TRUE(
      IsFieldError(Call(running_.ledgers(), &Ledgers::NoteAttention, note), "parent", "projects/"));

  running_.Create("projects/r/ledgers/w");  // over adult
  for (const auto& [reason, id] : ids()) EXPECT_NE(id, before.at(reason)) << reason;
}

// ListAttention waits for no total, and still misses none after a start.
TEST_F(Listing, TotalsAreBegunAsTheServerStarts) {
  running_.Create(Name("a"));
  running_.Create(Name("b"), [](v1::Declaration& d) { d.set_unit_of_privacy("user"); });
  Summarised();
  EXPECT_EQ(Attention(10).find("TOTAL_REFUSED"), std::string::npos) << "nobody asked for it";
  // A question begins what is not begun, so each start is asked once.
  std::string found;
  for (const int milliseconds : {200, 1000, 5000}) {
    running_.Restart();
    absl::SleepFor(absl::Milliseconds(milliseconds));
    found = Attention(10);
    if (found.find("TOTAL_REFUSED") != std::string::npos) break;
  }
  EXPECT_NE(found.find("TOTAL_REFUSED"), std::string::npos) << found;
}

TEST_F(Listing, TotalSaysWhichGuaranteeItIs) {
  for (const char* id : {"a", "b"}) {
    running_.Create(Name(id));
    Rounds(id, 10);
  }
  running_.Create(Name("alone"), [](v1::Declaration& d) { d.set_dataset("mnist"); });
  running_.Create(Name("held"), [](v1::Declaration& d) {
    d.set_dataset("queries");
    d.set_parameters(v1::ADAPTIVE);
    d.mutable_filter()->mutable_zcdp()->set_rho(1);
  });
  Summarised();
  const v1::ListDatasetsResponse list = Datasets();
  ASSERT_EQ(list.datasets_size(), 3);
  const v1::ComputeEpsilonResponse both = Epsilon({"a", "b"});
  EXPECT_EQ(both.details().regime(), v1::ODOMETER);
  EXPECT_EQ(list.datasets(0).regime(), v1::ODOMETER);
  EXPECT_EQ(list.datasets(0).epsilon().SerializeAsString(), both.epsilon().SerializeAsString());
  EXPECT_EQ(list.datasets(1).regime(), v1::FIXED_PLAN);
  EXPECT_EQ(list.datasets(2).regime(), v1::FILTER);
}

v1::ComputeEpsilonRequest Over(const std::string& dataset) {
  v1::ComputeEpsilonRequest request;
  request.mutable_subject()->set_dataset(dataset);
  request.set_delta(1e-5);
  return request;
}

TEST_F(Listing, QuestionAboutADataSetIsOfAllItsLedgers) {
  std::vector<std::string> ids;
  for (int i = 0; i < 105; ++i) {  // more than may be named
    ids.push_back(absl::StrCat("l", i));
    running_.Create(Name(ids.back()), [&](v1::Declaration& d) { d.set_plan_independent(true); });
    if (i < 3) Rounds(ids.back(), 1000);
  }
  v1::ComputeEpsilonResponse response;
  const auto ask = [&](const v1::ComputeEpsilonRequest& request) {
    return Call(running_.accounting(), &v1::AccountingService::Stub::ComputeEpsilon, request,
                &response);
  };
  ASSERT_TRUE(IsOk(ask(Over("adult"))));
  EXPECT_EQ(response.details().ledgers_size(), 105);
  EXPECT_EQ(response.epsilon().SerializeAsString(),
            Epsilon({"l0", "l1", "l2"}).epsilon().SerializeAsString());
  for (const std::string& warning : response.details().warnings()) {
    EXPECT_THAT(warning, Not(HasSubstr("other ledger")));
  }
  EXPECT_TRUE(IsError(ask(Over("none")), grpc::StatusCode::NOT_FOUND, "DATASET_NOT_FOUND",
                      "subject.dataset"));
  v1::ComputeEpsilonRequest both = Over("adult");
  both.mutable_subject()->add_ledgers(Name("l0"));
  EXPECT_TRUE(IsFieldError(ask(both), "subject.dataset", "must be empty where ledgers"));
  // With what may be done yet: as if the same stood in one ledger more, and the totals of lists
  // know nothing of it.
  v1::ComputeEpsilonRequest more = Over("adult");
  v1::RoundsEvent& rounds = *more.mutable_subject()->add_events()->mutable_rounds();
  rounds.mutable_scheme()->mutable_poisson()->set_probability(0.01);
  rounds.set_count(500);
  rounds.add_queries()->set_l2_norm_bound(1);
  rounds.mutable_queries(0)->set_noise_stddev(1.1);
  ASSERT_TRUE(IsOk(ask(more)));
  const v1::Interval planned = response.epsilon();
  EXPECT_EQ(response.details().ledgers_size(), 105);
  running_.Create(Name("next"), [this](v1::Declaration& declaration) { Plan(declaration); });
  Rounds("next", 500);
  ASSERT_TRUE(IsOk(ask(Over("adult"))));
  EXPECT_EQ(response.details().ledgers_size(), 106);
  EXPECT_EQ(response.epsilon().SerializeAsString(), planned.SerializeAsString());
}

// ---- Who may not see everything ----

// Lets everybody see all ledgers but the hidden ones, and ask about them.
class Hiding : public Authorizer {
 public:
  absl::Status Decide(const Caller&, Permission permission, const Resource& resource) override {
    const bool hidden = absl::StrContains(resource.name, "/hidden");
    if (!hidden || (permission != Permission::kList && permission != Permission::kAsk)) {
      return absl::OkStatus();
    }
    return absl::PermissionDeniedError("not yours");
  }
};

ServerOptions WithHidden() {
  ServerOptions options = Summarising();
  options.authorizer = std::make_shared<Hiding>();
  return options;
}

class HiddenLedgers : public Listing {
 protected:
  HiddenLedgers() : Listing(WithHidden()) {
    for (const char* id : {"a", "b", "c", "hidden-1", "hidden-2", "hidden-3", "i", "j"}) {
      running_.Create(Name(id), [&](v1::Declaration& d) { d.set_plan_independent(true); });
      if (absl::StartsWith(id, "hidden")) Rounds(id, 100'000);
    }
    Rounds("a", 1000);
    Rounds("b", 2000);
    Summarised();
  }
};

TEST_F(HiddenLedgers, NeedNobodysAttention) {
  running_.Create(Name("hidden-4"), [](v1::Declaration& d) {
    d.set_parameters(v1::ADAPTIVE);
    d.set_dataset("adul7");  // of the shape of no other one that is seen
  });
  Rounds("hidden-4", 1);
  Summarised();
  EXPECT_THAT(Attention(100), AllOf(Not(HasSubstr("hidden")), Not(HasSubstr("adul7")),
                                    Not(HasSubstr("REFUSED")), HasSubstr(Name("a"))));
}

TEST_F(HiddenLedgers, AreInNoPageAndLeaveNoTotal) {
  EXPECT_EQ(Pages(ListOf("", "", 2)), "|a b |c i |j ");
  EXPECT_EQ(Pages(ListOf("", "epsilon desc", 2)), "|b a |c i |j ");
  EXPECT_EQ(Pages(ListOf("epsilon > 5", "epsilon desc", 2)), "|");
  const v1::ListDatasetsResponse list = Datasets();
  ASSERT_EQ(list.datasets_size(), 1);
  EXPECT_EQ(list.datasets(0).ledger_count(), 5u);
  // That of the others would be too low, and so would the largest of them.
  EXPECT_FALSE(list.datasets(0).has_epsilon() || list.datasets(0).has_largest());
  EXPECT_EQ(list.datasets(0).refusal().reason(), "DATASET_NOT_ALL_YOURS");
}

TEST_F(HiddenLedgers, MakeAQuestionAboutTheDataSetRefusedNotTooLow) {
  EXPECT_TRUE(IsError(
      Call(running_.accounting(), &v1::AccountingService::Stub::ComputeEpsilon, Over("adult")),
      grpc::StatusCode::PERMISSION_DENIED, "DATASET_NOT_ALL_YOURS", "too low"));
}

// ---- Watches ----

class Watch {
 public:
  Watch(RunningServer& running, const std::string& token = "", const std::string& filter = "",
        const std::string& parent = "projects/-") {
    v1::WatchLedgersRequest request;
    request.set_parent(parent);
    request.set_filter(filter);
    request.set_resume_token(token);
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    reader_ = running.ledgers().WatchLedgers(&context_, request);
  }
  ~Watch() {
    context_.TryCancel();
    if (!finished_) reader_->Finish();
  }
  v1::WatchLedgersResponse Next() {
    v1::WatchLedgersResponse next;
    EXPECT_TRUE(reader_->Read(&next));
    EXPECT_EQ(next.ledgers_size(), next.summaries_size());
    return next;
  }
  // Until the ledger is told of with at least this size: the answer that has it. Counts answers.
  v1::WatchLedgersResponse Until(const std::string& name, uint64_t size) {
    while (true) {
      const v1::WatchLedgersResponse next = Next();
      ++answers;
      for (const v1::Ledger& ledger : next.ledgers()) {
        seen.insert(ledger.name());
        if (ledger.name() == name && ledger.size() >= size) return next;
      }
      if (answers > 10'000) {
        ADD_FAILURE() << name << " does not come";
        return next;
      }
    }
  }
  grpc::Status Finish() {
    v1::WatchLedgersResponse unused;
    while (reader_->Read(&unused)) {
    }
    finished_ = true;
    return reader_->Finish();
  }
  int answers = 0;
  std::set<std::string> seen;

 private:
  bool finished_ = false;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchLedgersResponse>> reader_;
};

TEST_F(Listing, WatchTellsOfNewLedgersEntriesAndSummaries) {
  running_.Create(Name("before"));
  Summarised();
  Watch watch(running_);
  const v1::WatchLedgersResponse first = watch.Next();
  EXPECT_FALSE(first.reset());
  EXPECT_THAT(first.resume_token(), Not(IsEmpty()));
  EXPECT_TRUE(first.has_server_time());
  running_.Create(Name("new"));
  watch.Until(Name("new"), 1);
  Rounds("new", 1000);
  watch.Until(Name("new"), 2);
  v1::WatchLedgersResponse next;
  do {
    next = watch.Next();
  } while (next.ledgers().empty() || next.summaries(0).size() != 2);
  EXPECT_EQ(next.summaries(0).rounds(), 1000u);
  EXPECT_FALSE(watch.seen.contains(Name("before")));
}

TEST_F(Listing, WatchGoesOnFromItsToken) {
  std::string token;
  {
    Watch watch(running_);
    token = watch.Next().resume_token();
  }
  running_.Create(Name("a"));
  Watch watch(running_, token);
  const v1::WatchLedgersResponse next = watch.Until(Name("a"), 1);
  EXPECT_FALSE(next.reset());
  Watch again(running_, next.resume_token(), "", "projects/p");
  running_.Create("projects/q/ledgers/b");
  running_.Create(Name("c"));
  again.Until(Name("c"), 1);
  EXPECT_THAT(again.seen, ::testing::Not(::testing::Contains("projects/q/ledgers/b")));
}

// The first is found at the beginning, the second while the watch runs, the third never: the server
// keeps no list of what each watch has seen, and names all three.
TEST_F(Listing, WatchTellsOfChangedLedgersThatTheFilterDoesNotFind) {
  for (const char* id : {"a", "c"}) running_.Create(Name(id));
  for (int i = 0; i < 3; ++i) Rounds("c", 1);
  const auto left = [](Watch& watch, const std::string& name) {
    std::set<std::string> names;
    while (!names.contains(name)) {
      const v1::WatchLedgersResponse next = watch.Next();
      names.insert(next.left().begin(), next.left().end());
    }
    return names;
  };
  Watch watch(running_, "", "size < 3");
  const std::string token = watch.Next().resume_token();
  running_.Create(Name("b"));
  watch.Until(Name("b"), 1);
  for (const char* id : {"a", "c", "b"}) {
    Rounds(id, 1);
    Rounds(id, 1);
  }
  std::set<std::string> gone = left(watch, Name("b"));
  EXPECT_THAT(gone, ::testing::IsSupersetOf({Name("a"), Name("c")}));
  // Who comes back with the token may have what he had then.
  Watch again(running_, token, "size < 3");
  EXPECT_TRUE(left(again, Name("b")).contains(Name("a")));
  Watch all(running_);
  all.Next();
  Rounds("a", 1);
  EXPECT_TRUE(all.Until(Name("a"), 4).left().empty());
}

TEST_F(Listing, WatchSaysThatItDoesNotKnowTheToken) {
  running_.Create(Name("a"));
  std::string other;
  {
    RunningServer elsewhere(Summarising());
    Watch watch(elsewhere);
    other = watch.Next().resume_token();
  }
  for (const std::string& token : {other, std::string("ab"), std::string("no token")}) {
    Watch watch(running_, token);
    const v1::WatchLedgersResponse first = watch.Next();
    EXPECT_TRUE(first.reset()) << token;
    running_.Create(Name(absl::StrCat("n", running_.Get(Name("a")).size(), token.size())));
    EXPECT_FALSE(watch.Next().reset());
  }
}

TEST_F(Listing, WatchRefusesWhatIsWrong) {
  Watch bad_filter(running_, "", "size");
  EXPECT_TRUE(IsFieldError(bad_filter.Finish(), "filter", "byte 5: must be one of"));
  Watch bad_parent(running_, "", "", "p");
  EXPECT_TRUE(IsFieldError(bad_parent.Finish(), "parent", "must be projects/"));
}

TEST_F(Listing, WatchEndsWhenTheServerStops) {
  auto running = std::make_unique<RunningServer>(Summarising());
  Watch watch(*running);
  watch.Next();
  std::thread stop([&] { running->server().Stop(absl::Now() + absl::Seconds(30)); });
  EXPECT_EQ(watch.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  stop.join();
}

// A caller that does not read: what comes meanwhile is told once, as it is then.
TEST_F(Listing, SlowReaderGetsTheLatestAndHoldsNobodyUp) {
  running_.Create(Name("a"));
  Watch slow(running_);
  slow.Next();
  Watch quick(running_);
  quick.Next();
  constexpr int kRounds = 300;
  for (int i = 0; i < kRounds; ++i) Rounds("a", 1);
  quick.Until(Name("a"), 1 + kRounds);
  slow.Until(Name("a"), 1 + kRounds);
  EXPECT_LT(slow.answers, kRounds);
}

TEST_F(HiddenLedgers, AreInNoWatch) {
  Watch watch(running_);
  const std::string token = watch.Next().resume_token();
  Rounds("hidden-1", 1);
  running_.Create(Name("hidden-4"));
  running_.Create(Name("seen"));
  watch.Until(Name("seen"), 1);
  EXPECT_THAT(watch.seen, ElementsAre(Name("seen")));
  Watch again(running_, token);
  again.Until(Name("seen"), 1);
  EXPECT_THAT(again.seen, ElementsAre(Name("seen")));
}

}  // namespace
}  // namespace dpledger::server
