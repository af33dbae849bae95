// What ListAccess finds in the access record, against a search by hand through all of it.
#include "server/own_ledgers/access_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/own_ledgers/access_record.h"
#include "tests/server/running_server.h"

namespace dpledger::server {
namespace {

constexpr char kLedger[] = "projects/p/ledgers/l";

// Nothing is signed: what is read is compared with nothing.
class NothingSigned : public SignedLogs {
 public:
  absl::StatusOr<SignedCheckpoint> AwaitSigned(const std::string&, uint64_t,
                                               const CallContext&) override {
    return absl::UnavailableError("nothing is signed");
  }
  absl::StatusOr<std::optional<SignedCheckpoint>> LatestSigned(const std::string&) override {
    return std::nullopt;
  }
};

// A record of three months, made up at random, in the store of a running server.
class AccessHistoryTest : public ::testing::Test {
 protected:
  AccessHistoryTest() : history_(&running_.ledger_store(), &logs_) {
    std::mt19937 random(7);
    const auto one_of = [&](const std::vector<std::string>& words) {
      return words[random() % words.size()];
    };
    const std::vector<std::string> ledgers = {kLedger, "projects/p/ledgers/l2", "projects/p", ""};
    // The last is nobody that the server knows: a refused sign-in.
    const std::vector<std::string> callers = {"token:ann", "token:an", "token:bob", ""};
    clock_.Set(absl::FromCivil(absl::CivilMinute(2026, 10, 30, 17, 5), absl::UTCTimeZone()));
    AccessRecord record(&running_.ledger_store(), &clock_, &log_);
    for (int minute = 0; minute < 60; ++minute) {
      for (int i = 0; i < 5; ++i) {
        const std::string caller = one_of(callers);
        if (caller.empty() || random() % 3 == 0) {
          v1::Access::Refused refused;
          refused.set_permission(one_of({"append", "export"}));
          refused.set_resource(one_of(ledgers));
          refused.set_reason("no right");
          record.Refused(caller, /*identified=*/true, "192.0.2.1:5", refused);
        } else {
          record.Reads(caller, one_of({"ask", "export", "read_entries"}), one_of(ledgers), i);
        }
      }
      if (minute % 20 == 0) {
        EXPECT_TRUE(record.Administers("token:ann", "", "CreateToken", "l").ok());
      }
      clock_.Advance(absl::Minutes(1));
      EXPECT_TRUE(record.Flush().ok());
      if (minute % 25 == 24) clock_.Advance(absl::Hours(24 * 20));
    }
    record.Stop();
    all_ = Ask({});
  }

  // All pages of an answer, of that many messages each.
  std::vector<v1::Access> Ask(v1::ListAccessRequest request, uint32_t page_size = 1'000) {
    std::vector<v1::Access> found;
    request.set_page_size(page_size);
    do {
      const auto page = history_.List(request, {});
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) break;
      EXPECT_LE(page->access_size(), static_cast<int>(page_size));
      found.insert(found.end(), page->access().begin(), page->access().end());
      request.set_page_token(page->next_page_token());
    } while (!request.page_token().empty());
    return found;
  }
  // What is left of everything, looked at one by one.
  std::vector<v1::Access> ByHand(const v1::ListAccessRequest& request) {
    const auto is = [](const std::string& wanted, const std::string& found) {
      return wanted.empty() || wanted == found;
    };
    std::vector<v1::Access> left;
    for (v1::Access access : all_) {
      const std::string month = absl::FormatTime(
          "%Y-%m", absl::FromUnixSeconds(access.time().seconds()), absl::UTCTimeZone());
      if (!is(request.caller(), access.caller()) || month < request.first_month() ||
          (request.known_callers() && access.caller().empty()) ||
          (!request.last_month().empty() && month > request.last_month())) {
        continue;
      }
      v1::Access kept = access;
      kept.clear_reads();
      for (const auto& read : access.reads()) {
        if (!request.refused() && is(request.resource(), read.resource()) &&
            is(request.permission(), read.permission())) {
          *kept.add_reads() = read;
        }
      }
      const bool refusal = access.has_refused() &&
                           is(request.resource(), access.refused().resource()) &&
                           is(request.permission(), access.refused().permission());
      const bool administers = access.has_administers() && !request.refused() &&
                               is(request.resource(), access.administers().about()) &&
                               is(request.permission(), "administer");
      if (refusal || administers || kept.reads_size() > 0) left.push_back(kept);
    }
    return left;
  }
  static std::string Text(const std::vector<v1::Access>& all) {
    std::string text;
    for (const v1::Access& access : all) absl::StrAppend(&text, access.ShortDebugString(), "\n");
    return text;
  }

  RunningServer running_;
  NothingSigned logs_;
  TestClock clock_;
  Log log_{LogLevel::kError, 2};
  AccessHistory history_;
  std::vector<v1::Access> all_;
};

TEST_F(AccessHistoryTest, FindsWhatASearchByHandFinds) {
  ASSERT_GT(all_.size(), 150);
  for (size_t i = 1; i < all_.size(); ++i)
    EXPECT_GE(all_[i - 1].time().seconds(), all_[i].time().seconds() - 60) << "the newest first";
  int some = 0;
  for (const std::string resource : {"", kLedger, "projects/p", "l", "projects/q"}) {
    for (const std::string caller : {"", "token:an", "token:nobody"}) {
      for (const std::string permission : {"", "export", "append", "administer"}) {
        for (const auto& [refused, known] :
             {std::pair{false, false}, {true, false}, {true, true}}) {
          for (const std::string month : {"", "2026-11", "2027-05"}) {
            v1::ListAccessRequest request;
            request.set_resource(resource);
            request.set_caller(caller);
            request.set_permission(permission);
            request.set_refused(refused);
            request.set_known_callers(known);
            request.set_first_month(month);
            request.set_last_month(month);
            const auto expected = ByHand(request);
            EXPECT_EQ(Text(Ask(request)), Text(expected)) << request.ShortDebugString();
            EXPECT_EQ(Text(Ask(request, 7)), Text(expected)) << request.ShortDebugString();
            some += expected.empty() ? 0 : 1;
          }
        }
      }
    }
  }
  EXPECT_GT(some, 40);
}

TEST_F(AccessHistoryTest, RefusesWhatItDoesNotUnderstand) {
  const auto field = [&](const auto& change) {
    v1::ListAccessRequest request;
    change(request);
    const absl::Status status = history_.List(request, {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message().substr(0, status.message().find(':')));
  };
  using R = v1::ListAccessRequest;
  EXPECT_EQ(field([](R& r) { r.set_first_month("2026-13"); }), "first_month");
  EXPECT_EQ(field([](R& r) { r.set_last_month("november"); }), "last_month");
  EXPECT_EQ(field([](R& r) { r.set_first_month(" 026-11"); }), "first_month");
  EXPECT_EQ(field([](R& r) { r.set_permission("exprot"); }), "permission");
  EXPECT_EQ(field([](R& r) { r.set_page_size(1'001); }), "page_size");
  for (const char* token : {"x", "2026-11", "2026-11.", "2026-11.x", "2026-1x.3", "2026-11.-1",
                            "2026-11. 5", "2026-11.+5"})
    EXPECT_EQ(field([&](R& r) { r.set_page_token(token); }), "page_token") << token;
  EXPECT_EQ(field([](R& r) {
              r.set_first_month("2026-12");
              r.set_last_month("2026-11");
            }),
            "first_month");
}

TEST_F(AccessHistoryTest, EndsWithItsCall) {
  CallContext gone;
  gone.cancelled = [] { return true; };
  EXPECT_EQ(history_.List({}, gone).status().code(), absl::StatusCode::kCancelled);
  CallContext late;
  late.deadline = absl::Now() - absl::Seconds(1);
  EXPECT_EQ(history_.List({}, late).status().code(), absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace dpledger::server
