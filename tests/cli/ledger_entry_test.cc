// Forks, notes and corrections on a real server, and how ledgers and entries are printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "base/hex.h"
#include "cli/answer_output.h"
#include "events/entry_json.h"
#include "tests/cli/events.h"
#include "tests/cli/json_object.h"
#include "tests/cli/process.h"
#include "tests/cli/server_process.h"

namespace dpledger::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

const std::string kParent = "projects/default/ledgers/parent";

// A server with the ledger "parent": 100 rounds in entry 1, 50 in entry 2.
class LedgerEntry : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.running());
    Ok(CreateLedger("parent", "d", {"--planned-rounds", "150", "--released", "final model"}));
    Append("parent", "100");
    Append("parent", "50");
  }
  RunResult OnServer(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--server", server_.address(), "--json"});
    return Dpledger(arguments);
  }
  JsonObject Ok(const std::vector<std::string>& arguments) {
    const RunResult result = OnServer(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return JsonObject(result.out);
  }
  void ExpectError(const std::vector<std::string>& arguments, const std::string& code,
                   const std::string& message) {
    const RunResult result = OnServer(arguments);
    EXPECT_EQ(result.exit_code, 1) << result.err;
    EXPECT_EQ(JsonObject(result.out).Text("error.code"), code);
    EXPECT_THAT(JsonObject(result.out).Text("error.message"), HasSubstr(message));
  }
  void Append(const std::string& ledger, const std::string& rounds) {
    const std::string file = folder_.Write("f.jsonl", PoissonRounds("0.01", "1", rounds));
    Ok({"ledger", "append", ledger, "--events", file});
  }
  double Epsilon(const std::string& ledger) {
    return Ok({"epsilon", "--delta", "1e-5", "--ledger", ledger}).Number("epsilon.upper");
  }
  double EpsilonOfRounds(const std::string& rounds) {
    const std::string file = folder_.Write("g.jsonl", PoissonRounds("0.01", "1", rounds));
    const RunResult result =
        Dpledger({"epsilon", "--delta", "1e-5", "--events", file, "--adjacency",
                  "add-or-remove-one", "--parameters", "fixed", "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return JsonObject(result.out).Number("epsilon.upper");
  }
  std::string Lines(const std::string& ledger) {
    const RunResult result = Dpledger({"ledger", "read", ledger, "--server", server_.address()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }

  ServerProcess server_;
  TemporaryFolder folder_;
};

TEST_F(LedgerEntry, ForkCarriesItsParentsEntries) {
  const std::string root = Ok({"ledger", "show", "parent"}).Text("rootHash");
  const JsonObject made =
      Ok({"ledger", "fork", "parent", "child", "--planned-rounds", "400", "--reason", "from 150",
          "--description", "a second try", "--request-id", "f"});
  EXPECT_EQ(made.Text("name"), "projects/default/ledgers/child");
  EXPECT_EQ(made.Number("size"), 1);
  EXPECT_EQ(made.Text("fork.parent"), kParent);
  EXPECT_EQ(made.Number("fork.parentSize"), 3);
  EXPECT_EQ(made.Text("fork.parentRoot"), root);
  EXPECT_EQ(made.Text("fork.reason"), "from 150");
  EXPECT_EQ(made.Number("declaration.plannedRounds"), 400);
  EXPECT_EQ(made.Text("declaration.description"), "a second try");
  EXPECT_EQ(made.Text("declaration.released"), "final model");
  Append("child", "30");
  EXPECT_EQ(Epsilon("child"), EpsilonOfRounds("180"));
  EXPECT_EQ(Epsilon("parent"), EpsilonOfRounds("150"));

  const RunResult shown = Dpledger({"ledger", "show", "child", "--server", server_.address()});
  EXPECT_THAT(shown.out, HasSubstr("fork of            " + kParent + " at size 3\n"));
  std::string root_bytes;
  ASSERT_TRUE(absl::Base64Unescape(root, &root_bytes));
  EXPECT_THAT(shown.out, HasSubstr(HexEncode(root_bytes)));
  EXPECT_THAT(Lines("child"), HasSubstr("\"fork\":{\"parent\":\"" + kParent + "\""));
  EXPECT_THAT(Lines("parent"),
              HasSubstr("\"fork_notice\":{\"child\":\"projects/default/ledgers/child\",\"size\":"
                        "\"3\"}"));
}

TEST_F(LedgerEntry, ForkOfAPrefixTakesThatPrefix) {
  const JsonObject made = Ok({"ledger", "fork", "parent", "child", "--size", "2"});
  EXPECT_EQ(made.Number("fork.parentSize"), 2);
  EXPECT_EQ(made.Number("declaration.plannedRounds"), 150);
  const JsonObject answer = Ok({"epsilon", "--delta", "1e-5", "--ledger", "child"});
  EXPECT_EQ(answer.Number("epsilon.upper"), EpsilonOfRounds("100"));
  EXPECT_THAT(answer.Texts("details.assumptions"),
              Contains("projects/default/ledgers/child is a fork of " + kParent +
                       " at 2 entries, which are part of this answer"));
  EXPECT_THAT(answer.Texts("details.warnings"),
              Contains(HasSubstr(kParent + ": went on after the 2")));
  ExpectError({"ledger", "fork", "parent", "other", "--size", "99"}, "OUT_OF_RANGE",
              "parent_size: must be at most");
  ExpectError({"ledger", "fork", "nobody", "other"}, "NOT_FOUND", "nobody");
  ExpectError({"ledger", "fork", "parent", "child"}, "ALREADY_EXISTS", "child");
}

TEST_F(LedgerEntry, NotesAndCorrectionsAreEntriesThatCostNothing) {
  const double before = Epsilon("parent");
  const JsonObject note =
      Ok({"ledger", "note", "parent", "--text", "moved house", "--request-id", "n"});
  EXPECT_EQ(note.Number("receipt.firstSequence"), 3);
  EXPECT_EQ(note.Text("receipt.rootHash"), Ok({"ledger", "show", "parent"}).Text("rootHash"));
  EXPECT_EQ(Ok({"ledger", "note", "parent", "--text", "moved house", "--request-id", "n"})
                .Number("receipt.size"),
            4);
  const JsonObject correction = Ok({"ledger", "correct", "parent", "--sequence", "2", "--text",
                                    "these never ran", "--writer", "auditor"});
  EXPECT_EQ(correction.Number("receipt.firstSequence"), 4);
  EXPECT_EQ(Epsilon("parent"), before);
  EXPECT_THAT(Lines("parent"), HasSubstr("\"note\":{\"text\":\"moved house\"}"));
  EXPECT_THAT(Lines("parent"), HasSubstr("\"correction\":{\"corrected_sequence\":\"2\",\"text\":"
                                         "\"these never ran\"}"));
  ExpectError({"ledger", "correct", "parent", "--sequence", "5", "--text", "t"}, "INVALID_ARGUMENT",
              "corrected_sequence: must be an entry before this one");
}

TEST_F(LedgerEntry, MissingOrEmptyTextIsAUsageError) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"ledger", "note", "parent"},
        std::vector<std::string>{"ledger", "note", "parent", "--text", ""},
        std::vector<std::string>{"ledger", "correct", "parent", "--text", "t"},
        std::vector<std::string>{"ledger", "fork", "parent"},
        std::vector<std::string>{"ledger", "fork", "parent", "c", "--size", "0"}}) {
    EXPECT_EQ(OnServer(arguments).exit_code, 2) << arguments[1] << " " << arguments.size();
  }
}

TEST(LedgerOutput, CopiedEntriesAreShownInside) {
  v1::LedgerEntry original;
  original.set_sequence(4);
  original.set_writer("w");
  original.mutable_note()->set_text("there");
  v1::LedgerEntry copied;
  copied.set_sequence(5);
  copied.set_writer("importer");
  copied.mutable_imported()->set_entry(original.SerializeAsString());
  v1::LedgerEntry twice;
  twice.mutable_imported()->set_entry(copied.SerializeAsString());
  const std::string inner = R"({"sequence":"5","writer":"importer",)"
                            R"("imported":{"sequence":"4","writer":"w","note":{"text":"there"}}})";
  EXPECT_EQ(*events::EntryToLine(copied.SerializeAsString()), inner);
  EXPECT_EQ(*events::EntryToLine(twice.SerializeAsString()), R"({"imported":)" + inner + "}");
  // What is no entry stays as its bytes.
  copied.mutable_imported()->set_entry("\xff");
  EXPECT_EQ(*events::EntryToLine(copied.SerializeAsString()),
            R"({"sequence":"5","writer":"importer","imported":{"entry":"/w=="}})");
}

TEST(LedgerOutput, CopiesSayWhatTheyAreOf) {
  v1::Ledger ledger;
  ledger.mutable_import()->set_origin("there.example/x");
  ledger.mutable_import()->set_size(7);
  ledger.mutable_import()->set_root_hash(std::string(32, '\x0f'));
  EXPECT_THAT(cli::ToText(ledger), HasSubstr("copy of            there.example/x at size 7\n"));
  EXPECT_THAT(cli::ToText(ledger), HasSubstr("0f0f0f0f"));
}

}  // namespace
}  // namespace dpledger::testing
