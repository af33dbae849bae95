// Style as a test: reads the project's sources, and checks that each rule would notice a fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/tidy/rules.h"

namespace dpledger::tidy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Sources : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const char* root = std::getenv("DPLEDGER_SOURCE");
    ASSERT_NE(root, nullptr) << "DPLEDGER_SOURCE must name the source tree";
    files_ = new std::vector<SourceFile>(ReadSources(root));
  }
  static void TearDownTestSuite() { delete files_; }

  // What `rule` complains about over all code.
  static Complaints Over(Complaints (*rule)(const SourceFile&)) {
    Complaints all;
    for (const SourceFile& file : *files_) {
      if (!IsCode(file)) continue;
      for (std::string& complaint : rule(file)) all.push_back(std::move(complaint));
    }
    return all;
  }

  static std::vector<SourceFile>* files_;
};
std::vector<SourceFile>* Sources::files_ = nullptr;

TEST_F(Sources, AreFound) { EXPECT_GT(files_->size(), 50u); }
TEST_F(Sources, IncludeOnlyAlongTheArrows) { EXPECT_THAT(Over(IncludeDirections), IsEmpty()); }
TEST_F(Sources, UseNoBannedWord) { EXPECT_THAT(Over(BannedWords), IsEmpty()); }
TEST_F(Sources, HaveHeadersThatSayWhatTheyAreFor) { EXPECT_THAT(Over(HeaderShape), IsEmpty()); }
TEST_F(Sources, AreSmallFiles) { EXPECT_THAT(FileSizes(*files_), IsEmpty()); }
TEST_F(Sources, HaveAClaimForEveryMethod) { EXPECT_THAT(MissingClaims(*files_), IsEmpty()); }

TEST_F(Sources, HaveWhatTheirClaimsName) { EXPECT_THAT(StaleClaims(*files_), IsEmpty()); }

TEST(IncludeDirections, NoticesAnArrowTheOtherWay) {
  EXPECT_THAT(IncludeDirections({"base/x.cc", "#include \"merkle/compact_tree.h\"\n"}),
              ElementsAre(HasSubstr("base must not include merkle/compact_tree.h")));
  EXPECT_THAT(IncludeDirections({"client/x.h", "#include \"server/log.h\"\n"}), SizeIs(1));
  EXPECT_THAT(IncludeDirections({"server/x.h", "#include \"tests/tidy/rules.h\"\n"}), SizeIs(1));
}

TEST(IncludeDirections, KeepsTheWireOutOfTheMathematics) {
  EXPECT_THAT(IncludeDirections({"accountant/pld/x.cc", "#include \"dpledger/v1/event.pb.h\"\n"}),
              ElementsAre(HasSubstr("accountant must not include dpledger/v1/event.pb.h")));
  EXPECT_THAT(IncludeDirections({"accountant/pld/x.cc", "#include \"ledger/questions.h\"\n"}),
              SizeIs(1));
  EXPECT_THAT(
      IncludeDirections({"accountant/from_proto/x.cc", "#include \"dpledger/v1/event.pb.h\"\n"}),
      IsEmpty());
}

TEST(IncludeDirections, KeepsTheFftBehindItsInterface) {
  EXPECT_THAT(IncludeDirections({"accountant/pld/x.cc", "#include <fftw3.h>\n"}),
              ElementsAre(HasSubstr("fftw3.h does not belong here")));
  EXPECT_THAT(IncludeDirections({"accountant/numeric/fft.cc", "#include <fftw3.h>\n"}), IsEmpty());
}

TEST(BannedWords, NoticesUnsafeCallsAndUnfinishedWork) {
  EXPECT_THAT(BannedWords({"base/x.cc",
                           "int n = ato"
                           "i(text);\n"}),
              ElementsAre(HasSubstr("base/x.cc:1: ")));
  EXPECT_THAT(BannedWords({"base/x.cc",
                           "// TO"
                           "DO later\n"}),
              SizeIs(1));
  EXPECT_THAT(BannedWords({"base/x.cc", "  throw 1;\n"}), SizeIs(1));
  EXPECT_THAT(BannedWords({"cli/x.cc", "  throw 1;\n"}), IsEmpty());
}

TEST(HeaderShape, NoticesAHeaderWithoutPurposeOrGuard) {
  EXPECT_THAT(HeaderShape({"base/x.h", "#pragma once\n"}), SizeIs(2));
  EXPECT_THAT(HeaderShape({"base/x.h", "// What x is.\n#pragma once\n"}), IsEmpty());
}

TEST(FileSizes, NoticesALongFile) {
  EXPECT_THAT(FileSizes({{"base/x.cc", std::string(801, '\n')}}), SizeIs(2));
  EXPECT_THAT(FileSizes({{"base/x.cc", std::string(100, '\n')}}), IsEmpty());
}

TEST(MissingClaims, NoticesAMethodWithoutOne) {
  EXPECT_THAT(MissingClaims({{"accountant/contour/contour.cc", ""}}),
              ElementsAre("accountant/contour/CLAIM.md is missing"));
  EXPECT_THAT(MissingClaims({{"accountant/contour/contour.cc", ""},
                             {"accountant/contour/CLAIM.md", ""},
                             {"accountant/numeric/fft.cc", ""}}),
              IsEmpty());
}

TEST(StaleClaims, NoticesANameThatIsGone) {
  EXPECT_THAT(
      StaleClaims({{"accountant/contour/CLAIM.md", "| tail | `Envelope` and `LogEnvelope` |"},
                   {"accountant/contour/x.cc", "class Envelope {};\n"}}),
      ElementsAre("accountant/contour/CLAIM.md: no LogEnvelope in the code"));
}

}  // namespace
}  // namespace dpledger::tidy
