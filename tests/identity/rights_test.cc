// Grants, policies and decisions.
#include "identity/rights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/identity/policy_text.h"
#include "tests/identity/samples.h"
#include "tests/ledger_store/temp_folder.h"

namespace dpledger::identity {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kDenied = absl::StatusCode::kPermissionDenied;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

Caller Named(const std::string& name, CallerKind kind = CallerKind::kToken) {
  Caller caller;
  caller.name = name;
  caller.kind = kind;
  return caller;
}

Resource Ledger(const std::string& name, const std::string& data_set = "",
                const std::string& creator = "") {
  Resource resource = Resource::Of(name);
  resource.data_set = data_set;
  resource.creator = creator;
  return resource;
}

TEST(Roles, HaveThesePermissions) {
  // The table of identity/grant.h, permission by permission: T, A(nalyst), U (auditor), M (admin).
  const std::map<Permission, std::string> expected = {
      {Permission::kCreate, "TM"},       {Permission::kAppend, "TM"},
      {Permission::kSeal, "TM"},         {Permission::kSealWithMissing, "M"},
      {Permission::kFork, "TM"},         {Permission::kCorrect, "TM"},
      {Permission::kReadEntries, "TUM"}, {Permission::kAsk, "TAUM"},
      {Permission::kExport, "TUM"},      {Permission::kVerify, "TUM"},
      {Permission::kList, "TAUM"},       {Permission::kAdminister, "M"}};
  ASSERT_EQ(expected.size(), static_cast<size_t>(kPermissions));
  for (const auto& [permission, roles] : expected) {
    std::string have;
    for (int role = 0; role < kRoles; ++role) {
      if (RoleHas(static_cast<Role>(role), permission)) have += "TAUM"[role];
    }
    EXPECT_EQ(have, roles) << PermissionName(permission);
  }
}

TEST(Grant, IsReadAsItIsWritten) {
  for (const char* text :
       {"admin *", "trainer projects/vision", "auditor projects/a/ledgers/b",
        "analyst projects/a/ledgers/b-*", "analyst * data-set=MNIST, 2011 (\xc3\xa9)",
        "trainer projects/a/ledgers/b data-set=x"}) {
    const auto grant = Grant::Parse(text);
    ASSERT_TRUE(grant.ok()) << text << grant.status();
    EXPECT_EQ(grant->ToText(), text);
  }
}

TEST(Grant, NamesTheWordThatIsWrong) {
  const auto error = [](const char* text) { return Grant::Parse(text).status(); };
  EXPECT_TRUE(IsError(error(""), kInvalid, "role: must be trainer"));
  EXPECT_TRUE(IsError(error("Trainer *"), kInvalid, "role: must be trainer"));
  EXPECT_TRUE(IsError(error("trainer"), kInvalid, "scope: must follow"));
  for (const char* scope :
       {"", "**", "projects", "projects/", "projects/*", "projects/-", "projects/a/", "projects/A",
        "projects/a/ledgers", "projects/a/ledgers/", "projects/a/ledgers/*",
        "projects/a/ledgers/-x*", "projects/a/ledgers/x-", "projects/a/ledgers/x*y",
        "projects/a/ledgers/b/c", "project/a", "projects/a/ledger/b", "projects/../x"}) {
    EXPECT_TRUE(IsError(error(("trainer " + std::string(scope)).c_str()), kInvalid, "scope: must"))
        << scope;
  }
  for (const char* last : {"x", "data-set=", "data-set= x", "data-set=x ", "dataset=x",
                           "data-set=\xff", "data-set=a\tb"}) {
    EXPECT_TRUE(IsError(error(("trainer * " + std::string(last)).c_str()), kInvalid, "data-set: "))
        << last;
  }
}

TEST(Scope, CoversWhatLiesWithin) {
  const auto covers = [](const char* grant, const Resource& resource) {
    return Grant::Parse(grant)->scope.Covers(resource);
  };
  const Resource mnist = Ledger("projects/vision/ledgers/mnist-1", "MNIST");
  EXPECT_TRUE(covers("admin *", mnist));
  EXPECT_TRUE(covers("admin projects/vision", mnist));
  EXPECT_FALSE(covers("admin projects/visio", mnist));
  EXPECT_FALSE(covers("admin projects/vision2", mnist));
  EXPECT_TRUE(covers("admin projects/vision/ledgers/mnist-*", mnist));
  EXPECT_TRUE(covers("admin projects/vision/ledgers/mnist-1", mnist));
  EXPECT_FALSE(covers("admin projects/vision/ledgers/mnist", mnist));
  EXPECT_FALSE(covers("admin projects/nlp/ledgers/mnist-*", mnist));
  EXPECT_TRUE(covers("admin * data-set=MNIST", mnist));
  EXPECT_FALSE(covers("admin * data-set=mnist", mnist));
  EXPECT_FALSE(covers("admin * data-set=MNIST", Ledger("projects/vision/ledgers/x")));
  EXPECT_FALSE(covers("admin projects/vision/ledgers/mnist-*", Ledger("projects/vision")));
  for (const char* odd : {"mnist", "projects/vision/ledgers/", "projects/vision/x/mnist-1", "/",
                          "projects//ledgers/x", "projects/vision/ledgers/mnist-1/x"}) {
    EXPECT_FALSE(covers("admin projects/vision", Resource::Of(odd))) << odd;
    EXPECT_TRUE(covers("admin *", Resource::Of(odd))) << odd;
  }
}

TEST(Policy, IsReadLineByLine) {
  const auto policy = ParsePolicy(
      "# who does what\n"
      "\n"
      "token:alice   trainer\tprojects/vision  \n"
      "spiffe://x/ns/* auditor *\n"
      "* analyst projects/p   data-set=A  B\n"
      "anonymous analyst projects/open");
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(PolicyText(*policy),
            "token:alice trainer projects/vision\n"
            "spiffe://x/ns/* auditor *\n"
            "* analyst projects/p data-set=A  B\n"
            "anonymous analyst projects/open\n");
}

TEST(Policy, NamesTheLineAndTheWord) {
  const auto error = [](const char* text) { return ParsePolicy(text).status(); };
  EXPECT_TRUE(IsError(error("\n# x\ntoken:a boss *\n"), kInvalid, "line 3: role: must be"));
  EXPECT_TRUE(IsError(error("token:a\n"), kInvalid, "line 1: role: "));
  EXPECT_TRUE(IsError(error("token:a admin\n"), kInvalid, "line 1: scope: "));
  EXPECT_TRUE(IsError(error("a*b admin *\n"), kInvalid, "line 1: caller: "));
  EXPECT_TRUE(IsError(error("\xc3\xa9 admin *\n"), kInvalid, "line 1: caller: "));
  EXPECT_TRUE(IsError(error(" admin *\n"), kInvalid, "line 1: caller: "));
  EXPECT_TRUE(IsError(error("x admin * # all\n"), kInvalid, "line 1: data-set: "));
  EXPECT_TRUE(IsError(error("x admin *\r\n"), kInvalid, "line 1: scope: "));
  EXPECT_EQ(ReasonOf(error("x y z")).metadata.at("line"), "1");
}

class RightsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Rights> Open(const std::string& policy) {
    WriteOwnersFile(path_, policy);
    auto rights = Rights::Open(path_, nullptr);
    EXPECT_TRUE(rights.ok()) << rights.status();
    return *std::move(rights);
  }
  TempFolder folder_;
  const std::string path_ = folder_.path() + "/policy";
};

TEST_F(RightsTest, DenyWhatNothingGrants) {
  const auto rights = Open("token:alice trainer projects/vision\n");
  const Resource mnist = Ledger("projects/vision/ledgers/mnist");
  EXPECT_TRUE(rights->Decide(Named("token:alice"), Permission::kAppend, mnist).ok());
  for (const char* other :
       {"token:alic", "token:alice2", "token:Alice", "dns:alice", "anonymous"}) {
    EXPECT_TRUE(IsError(rights->Decide(Named(other), Permission::kAppend, mnist), kDenied,
                        std::string(other) + " has no right to append"));
  }
  EXPECT_FALSE(rights->Allows(Named("token:alice"), Permission::kAppend,
                              Ledger("projects/nlp/ledgers/mnist")));
  EXPECT_FALSE(rights->Allows(Named("token:alice"), Permission::kAdminister, {}));
  EXPECT_FALSE((*Rights::Open("", nullptr))->Allows(Named("token:alice"), Permission::kAsk, {}));
}

TEST_F(RightsTest, PatternsNameTheKnownCallers) {
  const auto rights = Open("token:t-* trainer *\n* analyst projects/p\n");
  const Resource ledger = Ledger("projects/p/ledgers/x");
  EXPECT_TRUE(rights->Allows(Named("token:t-1"), Permission::kAppend, ledger));
  EXPECT_FALSE(rights->Allows(Named("token:t"), Permission::kAppend, ledger));
  EXPECT_TRUE(rights->Allows(Named("dns:x"), Permission::kAsk, ledger));
  EXPECT_FALSE(rights->Allows(Caller(), Permission::kAsk, ledger)) << "anonymous is nobody known";
  EXPECT_TRUE(Open("anonymous analyst projects/p\n")->Allows(Caller(), Permission::kAsk, ledger));
}

TEST_F(RightsTest, ATokenBringsItsOwnGrants) {
  const auto rights = Open("");
  Caller caller = Named("token:a");
  const Resource ledger = Ledger("projects/p/ledgers/x");
  EXPECT_FALSE(rights->Allows(caller, Permission::kAsk, ledger));
  caller.grants =
      std::make_shared<const std::vector<Grant>>(1, *Grant::Parse("auditor projects/p"));
  EXPECT_TRUE(rights->Allows(caller, Permission::kReadEntries, ledger));
  EXPECT_FALSE(rights->Allows(caller, Permission::kAppend, ledger));
}

TEST_F(RightsTest, OnlyAGrantOfEverythingCoversTheServer) {
  const auto rights = Open(
      "token:all admin *\n"
      "token:some admin projects/p\n"
      "token:set admin * data-set=x\n");
  for (const Resource& resource :
       {Resource(), Resource::Of("projects/p"), Resource::Of("projects/-")}) {
    EXPECT_TRUE(rights->Allows(Named("token:all"), Permission::kAdminister, resource));
    EXPECT_FALSE(rights->Allows(Named("token:some"), Permission::kAdminister, resource));
    EXPECT_FALSE(rights->Allows(Named("token:set"), Permission::kAdminister, resource));
  }
  EXPECT_FALSE(rights->Allows(Named("token:some"), Permission::kList, Resource::Of("projects/-")));
  EXPECT_FALSE(rights->Allows(Named("token:some"), Permission::kList, {}));
  // A question about events in the request touches nothing that is kept.
  EXPECT_TRUE(rights->Allows(Named("token:set"), Permission::kAsk, {}));
  EXPECT_FALSE(rights->Allows(Named("token:other"), Permission::kAsk, {}));
}

TEST_F(RightsTest, SealingWithMissingWritersIsForTheCreatorAndAdmins) {
  const auto rights = Open("token:a trainer projects/p\ntoken:m admin projects/p\n");
  const auto seals = [&](const Caller& caller, const char* creator) {
    return rights->Decide(caller, Permission::kSealWithMissing,
                          Ledger("projects/p/ledgers/x", "", creator));
  };
  EXPECT_TRUE(seals(Named("token:a"), "token:a").ok());
  EXPECT_TRUE(seals(Named("token:m"), "token:a").ok());
  const absl::Status denied = seals(Named("token:a"), "token:b");
  EXPECT_TRUE(IsError(denied, kDenied, "or to have made the ledger and the right to seal"));
  EXPECT_EQ(ReasonOf(denied).reason, "SEAL_NEEDS_CREATOR");
  EXPECT_FALSE(seals(Named("token:a"), "").ok());
  EXPECT_FALSE(seals(Named("token:b"), "token:b").ok()) << "who lost the right to seal";
  EXPECT_FALSE(seals(Caller(), "anonymous").ok());
}

TEST_F(RightsTest, ADenialSaysWhatWouldAllowItAndNotWhatExists) {
  const auto rights = Open("");
  const absl::Status denied =
      rights->Decide(Named("token:a"), Permission::kAppend,
                     Ledger("projects/p/ledgers/x", "secret set", "token:creator"));
  EXPECT_TRUE(IsError(denied, kDenied, "needs the role trainer or admin"));
  EXPECT_TRUE(IsError(denied, kDenied, "policy line: token:a trainer projects/p/ledgers/x"));
  EXPECT_EQ(ReasonOf(denied).reason, "NOT_GRANTED");
  EXPECT_EQ(ReasonOf(denied).metadata.at("permission"), "append");
  EXPECT_EQ(ReasonOf(denied).metadata.at("caller"), "token:a");
  EXPECT_EQ(denied,
            rights->Decide(Named("token:a"), Permission::kAppend, Ledger("projects/p/ledgers/x")));
  const absl::Status raw = rights->Decide(Named("token:a"), Permission::kAppend,
                                          Ledger("projects/p/ledgers/\n\x1b[31m\xff"));
  EXPECT_THAT(std::string(raw.message()), Not(HasSubstr("\x1b")));
  EXPECT_THAT(std::string(raw.message()), HasSubstr("on what it names"));
}

TEST_F(RightsTest, AListShowsSomethingToWhoeverMaySeeAPart) {
  const auto rights = Open(
      "token:a analyst projects/p/ledgers/x-*\n"
      "token:b analyst projects/p data-set=S\n");
  for (const char* who : {"token:a", "token:b"}) {
    EXPECT_TRUE(rights->DecideList(Named(who), Resource::Of("projects/p")).ok());
    EXPECT_TRUE(rights->DecideList(Named(who), Resource::Of("projects/-")).ok());
    EXPECT_FALSE(rights->DecideList(Named(who), Resource::Of("projects/q")).ok());
    EXPECT_FALSE(rights->Allows(Named(who), Permission::kList, Resource::Of("projects/p")));
  }
  EXPECT_FALSE(rights->DecideList(Named("token:c"), Resource::Of("projects/p")).ok());
  EXPECT_TRUE(
      rights->Allows(Named("token:b"), Permission::kList, Ledger("projects/p/ledgers/y", "S")));
}

TEST_F(RightsTest, ABrokenFileKeepsTheRightsBefore) {
  const auto rights = Open("token:a admin *\n");
  const auto allowed = [&](const char* who) {
    return rights->Allows(Named(who), Permission::kAdminister, {});
  };
  WriteOwnersFile(path_, "token:b admin *\ntoken:c\n");
  rights->Refresh();
  EXPECT_TRUE(allowed("token:a"));
  EXPECT_FALSE(allowed("token:b"));
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  rights->Refresh();
  EXPECT_TRUE(allowed("token:a"));
  WriteOwnersFile(path_, "token:b admin *\n");
  rights->Refresh();
  EXPECT_FALSE(allowed("token:a"));
  EXPECT_TRUE(allowed("token:b"));
  ASSERT_EQ(::chmod(path_.c_str(), 0622), 0);
  EXPECT_TRUE(IsError(Rights::Open(path_, nullptr).status(), absl::StatusCode::kFailedPrecondition,
                      "others may write it"));
}

TEST_F(RightsTest, ABadPolicyEndsTheStart) {
  WriteOwnersFile(path_, "x\n");
  EXPECT_TRUE(IsError(Rights::Open(path_, nullptr).status(), kInvalid, "/policy: line 1: role"));
  EXPECT_TRUE(IsError(Rights::Open(folder_.path() + "/none", nullptr).status(),
                      absl::StatusCode::kNotFound, "/none"));
}

}  // namespace
}  // namespace dpledger::identity
