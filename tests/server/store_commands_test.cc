// fsck and recover as users run them: exit codes, what goes to stdout, what to stderr.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "dpledger/v1/ledger.pb.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "merkle/base64.h"
#include "tests/cli/process.h"
#include "tests/ledger_store/damaged_store.h"

namespace dpledger {
namespace {

using ::testing::AllOf;
using testing::BinaryPath;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RunProgram;
using testing::RunResult;
using ::testing::StartsWith;

using Fields = google::protobuf::Map<std::string, google::protobuf::Value>;

class StoreCommands : public SignedStore {
 protected:
  void SetUp() override {
    Create(kLedger);
    AppendNotes(kLedger, 300);
    MustOpen(Options(), *store_);
    AppendNotes(kLedger, 2);
    AppendNotes(kLedger, 3);
    store_.reset();
  }
  RunResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), BinaryPath("dpledger-server"));
    arguments.insert(arguments.end(), {"--store", StoreFolder()});
    return RunProgram(arguments);
  }
  // The last batch, which is not signed, does not match its checksum any more.
  void FlipInLog() {
    for (auto [path, content] : FilesIn(StoreFolder())) {
      if (!path.ends_with(".log") || content.empty()) continue;
      log_ = path;
      content[content.size() - 5] = static_cast<char>(content[content.size() - 5] ^ 1);
      WriteTo(absl::StrCat(StoreFolder(), "/", path), content);
    }
  }
  static Fields Json(const std::string& text) {
    google::protobuf::Struct object;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(text, &object).ok()) << text;
    return object.fields();
  }

  std::string log_;
};

TEST_F(StoreCommands, FsckSaysCleanOrWhatIsDamagedFirst) {
  const RunResult clean = Run({"fsck"});
  EXPECT_EQ(clean.exit_code, 0) << clean.out << clean.err;
  EXPECT_THAT(clean.out, StartsWith("note: no signing key was given: "));
  EXPECT_THAT(clean.out, HasSubstr("\nclean: 1 ledgers with 306 entries, "));
  EXPECT_THAT(clean.err, IsEmpty());
  FlipInLog();
  const auto before = FilesIn(folder_.path());
  const RunResult damaged = Run({"fsck"});
  EXPECT_EQ(damaged.exit_code, 3);
  EXPECT_THAT(damaged.out,
              StartsWith(absl::StrCat("the logs: ", StoreFolder(), "/", log_, ": bytes ")));
  EXPECT_THAT(damaged.out, HasSubstr("the database: does not open: Corruption: "));
  EXPECT_TRUE(FilesIn(folder_.path()) == before);
}

TEST_F(StoreCommands, FsckPrintsOneJsonObject) {
  Fields clean = Json(Run({"fsck", "--json"}).out);
  EXPECT_TRUE(clean["clean"].bool_value());
  EXPECT_EQ(clean["entries"].number_value(), 306);
  FlipInLog();
  const RunResult damaged = Run({"fsck", "--json"});
  EXPECT_EQ(damaged.exit_code, 3);
  Fields fields = Json(damaged.out);
  EXPECT_FALSE(fields["clean"].bool_value());
  ASSERT_GT(fields["findings"].list_value().values_size(), 0);
  EXPECT_THAT(
      fields["findings"].list_value().values(0).struct_value().fields().at("what").string_value(),
      HasSubstr(log_));
  // Names are UTF-8.
  Fields refused = Json(RunProgram({BinaryPath("dpledger-server"), "fsck", "--json", "--store",
                                    absl::StrCat(folder_.path(), "/größe")})
                            .out);
  EXPECT_THAT(refused["error"].struct_value().fields().at("message").string_value(),
              HasSubstr("/größe"));
}

TEST_F(StoreCommands, RecoverSavesWhatCanBeReadAndSaysWhatCannot) {
  const std::string to = absl::StrCat(folder_.path(), "/saved");
  FlipInLog();
  const auto before = FilesIn(StoreFolder());
  const RunResult damaged = Run({"recover", "--to", to});
  EXPECT_EQ(damaged.exit_code, 3);
  EXPECT_THAT(damaged.err, HasSubstr(absl::StrCat(log_, ": bytes ")));
  EXPECT_EQ(damaged.out,
            absl::StrCat(to, "/store: opens, and holds everything that was signed\n",
                         "1 bundles with 301 entries\n", to, "/entries.jsonl: 2 entries more\n"));
  EXPECT_TRUE(FilesIn(StoreFolder()) == before);
  std::istringstream lines(FilesIn(to).at("entries.jsonl"));
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  Fields fields = Json(line);
  EXPECT_EQ(fields["ledger"].string_value(), kLedger);
  EXPECT_EQ(fields["sequence"].number_value(), 301);
  EXPECT_FALSE(fields["signed"].bool_value());
  EXPECT_TRUE(fields["entry"].struct_value().fields().contains("note"));
  v1::LedgerEntry entry;
  ASSERT_TRUE(
      entry.ParseFromString(merkle::Base64Decode(fields["bytes"].string_value()).value_or("")));
  EXPECT_EQ(entry.sequence(), 301u);
  EXPECT_THAT(Run({"recover", "--to", to}).err, HasSubstr("is there already"));

  std::filesystem::remove_all(StoreFolder());
  std::filesystem::rename(to + "/store", StoreFolder());
  EXPECT_EQ(Run({"fsck"}).exit_code, 0);
  EXPECT_EQ(Run({"recover", "--to", to + "-again"}).exit_code, 0);
  OpenStore();
  EXPECT_EQ(Entries(kLedger).size(), 303u);
}

TEST_F(StoreCommands, RefuseAStoreThatIsOpen) {
  OpenStore();
  const std::string to = absl::StrCat(folder_.path(), "/saved");
  for (const RunResult& refused : {Run({"fsck"}), Run({"recover", "--to", to})}) {
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr("a server has this store open"));
  }
  EXPECT_FALSE(std::filesystem::exists(to));
}

TEST_F(StoreCommands, RefuseFlagsThatAreNone) {
  EXPECT_EQ(Run({"fsck", "--repair"}).exit_code, 2);
  EXPECT_EQ(Run({"recover"}).exit_code, 2);
  EXPECT_EQ(Run({"recover", "--help"}).exit_code, 0);
  const RunResult none = RunProgram(
      {BinaryPath("dpledger-server"), "fsck", "--store", absl::StrCat(folder_.path(), "/none")});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("/none"));
}

}  // namespace
}  // namespace dpledger
