// Style as a test: reads the project's sources, and checks that each rule would notice a fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/tidy/function_bounds.h"
#include "tests/tidy/function_rules.h"
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
    const char* targets = std::getenv("DPLEDGER_TARGETS");
    ASSERT_NE(targets, nullptr) << "DPLEDGER_TARGETS must name the list of targets";
    targets_ = new Targets(
        std::string(std::istreambuf_iterator<char>(std::ifstream(targets).rdbuf()), {}));
  }
  static void TearDownTestSuite() {
    delete files_;
    delete targets_;
  }

  // What `rule` complains about over all code and scripts.
  template <typename Rule>
  static Complaints Over(Rule rule) {
    Complaints all;
    for (const SourceFile& file : *files_) {
      if (!IsCode(file) && !IsScript(file)) continue;
      for (std::string& complaint : rule(file)) all.push_back(std::move(complaint));
    }
    return all;
  }

  static std::vector<SourceFile>* files_;
  static Targets* targets_;
};
std::vector<SourceFile>* Sources::files_ = nullptr;
Targets* Sources::targets_ = nullptr;

TEST_F(Sources, AreFound) {
  EXPECT_GT(files_->size(), 50u);
  for (const char* path : {"README.md", "python/dpledger/accounting.py", "dashboard/build.mjs",
                           "dashboard/src/main.tsx", "registry/CMakeLists.txt"}) {
    EXPECT_TRUE(std::any_of(files_->begin(), files_->end(), [&](const SourceFile& file) {
      return file.path == path;
    })) << path;
  }
}
TEST_F(Sources, IncludeOnlyAlongTheArrows) {
  EXPECT_THAT(Over([](const SourceFile& file) {
                return IsCode(file) ? IncludeDirections(file, *targets_) : Complaints();
              }),
              IsEmpty());
}
TEST_F(Sources, HaveArrowsWithoutCircles) { EXPECT_THAT(targets_->Circles(), IsEmpty()); }

// What nobody may add to a target's DEPS, by whatever way round.
TEST_F(Sources, KeepTheirRoomsApart) {
  EXPECT_FALSE(targets_->Reaches("accountant", "proto")) << "the mathematics know no wire";
  EXPECT_FALSE(targets_->Reaches("merkle", "proto"));
  EXPECT_FALSE(targets_->Reaches("bundle", "store")) << "an auditor has no store";
  EXPECT_FALSE(targets_->Reaches("evidence", "embedded"));
  EXPECT_FALSE(targets_->Reaches("staging", "RocksDB::rocksdb-shared"))
      << "all engines stage alike";
  EXPECT_FALSE(targets_->Reaches("staging", "PkgConfig::LIBPQ"));
  EXPECT_FALSE(targets_->Reaches("server_core", "embedded")) << "services know no engine";
  EXPECT_FALSE(targets_->Reaches("server_core", "grpc")) << "services know no transport";
  EXPECT_FALSE(targets_->Reaches("recorder", "store")) << "one recorder for every way to a ledger";
  for (const char* of_a_server :
       {"front", "http_door", "metrics", "PkgConfig::LIBPQ", "CLI11::CLI11"}) {
    EXPECT_FALSE(targets_->Reaches("c", of_a_server)) << "a trainer's library is no server";
  }
  EXPECT_FALSE(targets_->Reaches("witness", "store")) << "a witness reads entries, and no more";
  EXPECT_FALSE(targets_->Reaches("witness", "events"));
  EXPECT_FALSE(targets_->Reaches("identity", "proto")) << "who a caller is, no wire says";
  EXPECT_FALSE(targets_->Reaches("identity", "events"));
  EXPECT_FALSE(targets_->Reaches("registry", "events")) << "the registry knows no privacy";
  EXPECT_TRUE(targets_->Reaches("dpledger-server", "rdp")) << "or the list is not read";
}
TEST_F(Sources, UseNoBannedWord) { EXPECT_THAT(Over(BannedWords), IsEmpty()); }
TEST_F(Sources, AreNotTooWide) { EXPECT_THAT(Over(Columns), IsEmpty()); }
TEST_F(Sources, HaveFunctionsThatFitAScreen) {
  EXPECT_THAT(LongFunctions(*files_, kLongFunctions), IsEmpty());
}
TEST_F(Sources, HaveFunctionsOfFewParameters) {
  EXPECT_THAT(WideFunctions(*files_, kWideFunctions), IsEmpty());
}
TEST_F(Sources, DefineEachTypeOnce) {
  EXPECT_THAT(TwiceDefined(*files_, {"dpledger::accountant::FftPlan: accountant/numeric/"
                                     "fft_fftw.cc accountant/numeric/fft_own.cc"}),
              IsEmpty());
}
TEST_F(Sources, HaveHeadersThatSayWhatTheyAreFor) { EXPECT_THAT(Over(HeaderShape), IsEmpty()); }
TEST_F(Sources, AreSmallFiles) { EXPECT_THAT(FileSizes(*files_), IsEmpty()); }
TEST_F(Sources, HaveAClaimForEveryMethod) { EXPECT_THAT(MissingClaims(*files_), IsEmpty()); }

TEST_F(Sources, HaveWhatTheirClaimsName) { EXPECT_THAT(StaleClaims(*files_), IsEmpty()); }

const Targets& SmallHouse() {
  static const auto& house = *new Targets(
      "base | base/x.cc | absl::strings\n"
      "rdp | room/rdp/x.cc | dpledger::base\n"
      "pld | room/pld/x.cc | dpledger::base dpledger::rdp\n"
      "shared | flat/a.cc flat/only.h | dpledger::base\n"
      "other | flat/b.cc | dpledger::grpc\n"
      "methods |  | dpledger::rdp dpledger::pld\n"
      "asker | asker/x.cc | dpledger::methods\n");
  return house;
}

Complaints Of(const std::string& path, const std::string& header) {
  return IncludeDirections({path, "#include \"" + header + "\"\n"}, SmallHouse());
}

TEST_F(Sources, StandWhereTheArchitectureSaysThatTheyDo) {
  const auto doc = std::find_if(files_->begin(), files_->end(), [](const SourceFile& file) {
    return file.path == "docs/architecture.md";
  });
  ASSERT_NE(doc, files_->end());
  EXPECT_THAT(WrongPlaces(*doc, *files_), IsEmpty());
}

TEST(WrongPlaces, AreAFileTooManyAndOneTooFew) {
  const std::vector<SourceFile> files = {
      {"room/a.cc", "Flip"}, {"room/b.cc", "Flip"}, {"room/c.cc", ""}, {"tests/x.cc", "Flip"}};
  const auto doc = [](const std::string& list) {
    return SourceFile{"docs/x.md", "<!-- files that match: Flip -->\n" + list + "\nrest\n"};
  };
  EXPECT_THAT(WrongPlaces(doc("- `room/a.cc`: x\n- `room/b.cc`: y\n"), files), IsEmpty());
  EXPECT_THAT(WrongPlaces(doc("- `room/a.cc`: x\n"), files),
              ElementsAre("docs/x.md: room/b.cc matches Flip and is not listed"));
  EXPECT_THAT(WrongPlaces(doc("- `room/a.cc`: x\n- `room/b.cc`: y\n- `room/c.cc`: z\n"), files),
              ElementsAre("docs/x.md: room/c.cc does not match Flip"));
  EXPECT_THAT(WrongPlaces({"docs/x.md", "See `room/gone.h`.\n"}, files),
              ElementsAre("docs/x.md: there is no room/gone.h"));
}

TEST(IncludeDirections, NoticesAnArrowTheOtherWay) {
  EXPECT_THAT(
      Of("room/rdp/x.cc", "room/pld/x.h"),
      ElementsAre("room/rdp/x.cc: rdp must not include room/pld/x.h: its DEPS have no pld"));
  EXPECT_THAT(Of("room/pld/x.cc", "room/rdp/x.h"), IsEmpty());
  EXPECT_THAT(Of("asker/x.cc", "room/rdp/x.h"), IsEmpty());  // through a group
  EXPECT_THAT(Of("asker/x.cc", "base/x.h"), SizeIs(1));
  EXPECT_THAT(Of("room/rdp/x.h", "tests/tidy/rules.h"), SizeIs(1));
}

TEST(IncludeDirections, AsksForEveryDependencyByName) {
  EXPECT_THAT(Of("flat/b.cc", "base/x.h"), SizeIs(1));
  EXPECT_THAT(Of("flat/b.cc", "dpledger/v1/event.pb.h"), ElementsAre(HasSubstr("no proto")));
  EXPECT_THAT(Of("flat/b.cc", "dpledger/v1/ledger_service.grpc.pb.h"), IsEmpty());
}

TEST(IncludeDirections, KnowsWhoseAHeaderIs) {
  EXPECT_EQ(SmallHouse().Of("flat/a.h"), "shared");
  EXPECT_EQ(SmallHouse().Of("flat/only.h"), "shared");
  EXPECT_EQ(SmallHouse().Of("flat/nobodys.h"), "");
  EXPECT_EQ(SmallHouse().Of("room/pld/inner.h"), "pld");
  EXPECT_THAT(Of("flat/nobodys.h", "base/x.h"), ElementsAre(HasSubstr("belongs to no target")));
  EXPECT_THAT(Of("tests/x.cc", "room/pld/x.h"), IsEmpty());
}

TEST(Circles, AreNoticed) {
  EXPECT_THAT(SmallHouse().Circles(), IsEmpty());
  EXPECT_THAT(
      Targets("a | a.cc | dpledger::b\nb | b.cc | dpledger::c\nc | c.cc | dpledger::b\n").Circles(),
      ElementsAre("b depends on itself", "c depends on itself"));
}

TEST(IncludeDirections, KeepsTheFftBehindItsInterface) {
  const Targets none("");
  EXPECT_THAT(IncludeDirections({"tests/x.cc", "#include <fftw3.h>\n"}, none),
              ElementsAre(HasSubstr("fftw3.h does not belong here")));
  const Targets numeric("numeric | accountant/numeric/fft_fftw.cc | \n");
  EXPECT_THAT(
      IncludeDirections({"accountant/numeric/fft_fftw.cc", "#include <fftw3.h>\n"}, numeric),
      IsEmpty());
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
  EXPECT_THAT(BannedWords({"ledger_store/postgres/x.cc", "Run({{\"LISTEN heads\", {}}});\n"}),
              SizeIs(1));
  EXPECT_THAT(BannedWords({"ledger_store/postgres/x.cc", "// LISTEN would be quicker.\n"}),
              IsEmpty());
}

TEST(BannedWords, OfScriptsAreNoticed) {
  EXPECT_THAT(BannedWords({"dashboard/src/x.ts",
                           "// TO"
                           "DO later\n"}),
              SizeIs(1));
  EXPECT_THAT(BannedWords({"python/dpledger/x.py",
                           "os.sys"
                           "tem(command)\n"}),
              SizeIs(1));
  EXPECT_THAT(BannedWords({"python/dpledger/x.py", "x = eval(text)\n"}), SizeIs(1));
  EXPECT_THAT(BannedWords({"dashboard/src/x.ts", "  throw new Error();\n"}), IsEmpty());
}

TEST(Columns, NoticesALineThatIsTooWide) {
  const std::string full(100, 'x');
  EXPECT_THAT(Columns({"dashboard/src/x.tsx", full + "\n" + full + "y\n"}),
              ElementsAre("dashboard/src/x.tsx:2: 101 columns"));
  EXPECT_THAT(Columns({"python/x.py", full + "y\n"}), SizeIs(1));
  EXPECT_THAT(Columns({"tests/python/x.py", full + "y\n"}), SizeIs(1));
  EXPECT_THAT(Columns({"dashboard/src/x.tsx", full + "{\" \"}\n"}), IsEmpty());
  std::string letters;
  for (int i = 0; i < 100; ++i) letters += "ε";
  EXPECT_THAT(Columns({"dashboard/src/x.css", letters + "\n"}), IsEmpty());
}

std::string Padded(int lines) {
  std::string body;
  for (int i = 0; i < lines; ++i) body += "  x(\"}\"); // }\n";
  return "{\n" + body + "}\n";
}

TEST(FunctionsOf, FindsFunctionsWhereverTheyStand) {
  const SourceFile file = {
      "room/x.cc",
      "#define OPEN {\nnamespace a {\nclass B final : public C {\n public:\n"
      "  B(int one, std::map<int, int> two) : one_{one}, two_(two) {\n  }\n"
      "  bool operator()(int) const { return {1} < 2; }\n  std::string word_ = \"{\";\n};\n"
      "constexpr int kList[] = {f(1), 2};\n"
      "template <typename T, int kSize>\nauto B::Of(T (*f)(int, int), int) -> int {\n"
      "  const char* raw = R\"x(}}})x\";\n  if (1'000 > '}') { }\n}\n}  // namespace a\n"};
  const std::vector<Function> found = FunctionsOf(file);
  ASSERT_THAT(found, SizeIs(3));
  EXPECT_EQ(found[0].name, "x.cc:B");
  EXPECT_EQ(found[0].line, 5);
  EXPECT_EQ(found[0].lines, 2);
  EXPECT_EQ(found[0].parameters, 2);
  EXPECT_EQ(found[1].name, "x.cc:operator()");
  EXPECT_EQ(found[1].parameters, 1);
  EXPECT_EQ(found[2].name, "x.cc:B::Of");
  EXPECT_EQ(found[2].lines, 4);
  EXPECT_EQ(found[2].parameters, 2);
}

TEST(LongFunctions, AreNoticedUnlessTheyAreListed) {
  const std::vector<SourceFile> files = {{"room/x.cc", "void Short() " + Padded(68)},
                                         {"room/y.cc", "void Long() " + Padded(69)},
                                         {"tests/z.cc", "void Long() " + Padded(99)}};
  EXPECT_THAT(LongFunctions(files, {}), ElementsAre("y.cc:Long: 71 lines, at most 70"));
  EXPECT_THAT(LongFunctions(files, {{"y.cc:Long", 71}}), IsEmpty());
  EXPECT_THAT(LongFunctions(files, {{"y.cc:Long", 71}, {"x.cc:Short", 90}, {"x.cc:Gone", 90}}),
              ElementsAre(HasSubstr("x.cc:Gone: has at most"), HasSubstr("x.cc:Short: has at")));
}

TEST(WideFunctions, AreNoticedUnlessTheyAreListed) {
  const std::vector<SourceFile> files = {
      {"room/x.cc", "int F(int a, int b, int c, int d, int e, int f) { }\n"},
      {"room/y.h", "int G(int a, int b, int c, int d, int e, int f,\n      int g) { }\n"}};
  EXPECT_THAT(WideFunctions(files, {}), ElementsAre("y.h:G: 7 parameters, at most 6"));
  EXPECT_THAT(WideFunctions(files, {{"y.h:G", 7}}), IsEmpty());
}

TEST(TwiceDefined, NoticesATypeOfTwoFilesThatOthersSee) {
  const std::vector<SourceFile> files = {
      {"a/x.h", "namespace a::b {\nstruct One { struct In { }; };\nclass Two;\n}\n"},
      {"a/y.cc",
       "namespace a {\nnamespace {\nstruct Two { };\n}\nnamespace b {\nclass "
       "ABSL_LOCKABLE One final : public Two { struct In { }; };\n}\n}\n"},
      {"a/z.cc",
       "namespace a::b {\nenum class One : int { kIn };\nvoid F() { struct Two { }; }\n}\n"},
      {"a/w.cc", "namespace a::b {\nnamespace {\nstruct One { };\n}\nclass Two { };\n}\n"}};
  EXPECT_THAT(TwiceDefined(files, {}), ElementsAre("a::b::One: a/x.h a/y.cc a/z.cc"));
  EXPECT_THAT(TwiceDefined(files, {"a::b::One: a/x.h a/y.cc a/z.cc"}), IsEmpty());
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
