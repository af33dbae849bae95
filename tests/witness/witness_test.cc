// The witness without its transport: what it cosigns, what it refuses and how, and what it still
// knows when it is opened again.
#include "witness/witness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"
#include "merkle/proof.h"
#include "merkle/tile_tree.h"
#include "tests/cli/process.h"
#include "tests/registry/signed_registry.h"
#include "tests/witness/signed_log.h"

namespace dpledger::witness {
namespace {

using ::dpledger::testing::TemporaryFolder;
using ::testing::HasSubstr;

constexpr char kOrigin[] = "example.com/log";
constexpr char kName[] = "example.org/witness";
constexpr int64_t kNow = 1'700'000'000;

class SetClock : public Clock {
 public:
  absl::Time Now() override { return absl::FromUnixSeconds(seconds); }
  int64_t seconds = kNow;
};

class WitnessTest : public ::testing::Test {
 protected:
  WitnessOptions Options() {
    return {.name = kName,
            .state_folder = folder_.File("state"),
            .log_keys = {log_.key(), other_.key()},
            .clock = &clock_,
            .log = &quiet_};
  }
  std::unique_ptr<Witness> Open() {
    auto witness = Witness::Open(Options(), KeyOf('w'));
    EXPECT_TRUE(witness.ok()) << witness.status();
    return *std::move(witness);
  }
  // The time of our cosignature over the note's text in an answer, after it is verified.
  static uint64_t CosignedAt(const Answer& answer, const merkle::Note& note) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    auto lines = merkle::ParseSignatureLines(answer.body);
    if (!lines.ok()) return 0;
    const std::vector<merkle::VerifierKey> known = {
        {kName, merkle::SignatureType::kCosignature, KeyOf('w').public_key()}};
    const auto verified = merkle::VerifyNote({note.text, *std::move(lines)}, known);
    EXPECT_TRUE(verified.ok()) << verified.status();
    return verified.ok() ? verified->at(0).unix_seconds.value_or(0) : 0;
  }
  static void ExpectAnswer(const Answer& answer, int status, const std::string& body) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(answer.body, body);
    EXPECT_EQ(answer.content_type,
              status == 409 ? "text/x.tlog.size" : "text/plain; charset=utf-8");
  }

  TemporaryFolder folder_;
  SetClock clock_;
  const Log quiet_{LogLevel::kError, -1};
  SignedLog log_{kOrigin};
  SignedLog fork_{kOrigin, 5};  // another history from leaf 5 on
  SignedLog other_{"example.com/other"};
};

TEST_F(WitnessTest, CosignsALogThatGrows) {
  const auto witness = Open();
  EXPECT_EQ(CosignedAt(witness->AddCheckpoint(log_.Request(0, 3)), log_.Checkpoint(3)), kNow);
  clock_.seconds += 5;
  EXPECT_EQ(CosignedAt(witness->AddCheckpoint(log_.Request(3, 7)), log_.Checkpoint(7)), kNow + 5);
  EXPECT_EQ(CosignedAt(witness->AddCheckpoint(log_.Request(7, 300)), log_.Checkpoint(300)),
            kNow + 5);
  // The same again: another cosignature of it, for it may have been lost on the way.
  clock_.seconds += 5;
  EXPECT_EQ(CosignedAt(witness->AddCheckpoint(log_.Request(300, 300)), log_.Checkpoint(300)),
            kNow + 10);
}

TEST_F(WitnessTest, CosignsEveryLogByItself) {
  const auto witness = Open();
  EXPECT_EQ(witness->AddCheckpoint(log_.Request(0, 3)).status, 200);
  EXPECT_EQ(witness->AddCheckpoint(other_.Request(0, 9)).status, 200);
  EXPECT_EQ(witness->AddCheckpoint(log_.Request(3, 4)).status, 200);
}

TEST_F(WitnessTest, CosignsTheEmptyLog) {
  const auto witness = Open();
  EXPECT_EQ(witness->AddCheckpoint(log_.Request(0, 0)).status, 200);
  EXPECT_EQ(witness->AddCheckpoint(log_.Request(0, 4)).status, 200);
}

TEST_F(WitnessTest, RefusesASplitView) {
  const auto witness = Open();
  ASSERT_EQ(witness->AddCheckpoint(log_.Request(0, 7)).status, 200);
  // The fork proves its own history; it is another one than what was cosigned.
  const Answer refused = witness->AddCheckpoint(fork_.Request(7, 9));
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, HasSubstr("old_root: the proof leads to "));
  ExpectAnswer(witness->AddCheckpoint(fork_.Request(7, 7)), 422,
               "new_root: two trees of 7 leaves have different roots\n");
  ExpectAnswer(witness->AddCheckpoint(fork_.Request(5, 9)), 409, "7\n");
  ExpectAnswer(witness->AddCheckpoint(fork_.Request(0, 9)), 409, "7\n");
  // Control: the fork is a log like any other for a witness that has not seen the first history.
  WitnessOptions options = Options();
  options.state_folder = folder_.File("another");
  const auto another = Witness::Open(options, KeyOf('w'));
  ASSERT_TRUE(another.ok()) << another.status();
  EXPECT_EQ((*another)->AddCheckpoint(fork_.Request(0, 7)).status, 200);
  EXPECT_EQ((*another)->AddCheckpoint(fork_.Request(7, 9)).status, 200);
  // And the first is cosigned further after all that.
  EXPECT_EQ(witness->AddCheckpoint(log_.Request(7, 9)).status, 200);
}

TEST_F(WitnessTest, RefusesAsTheDocumentSays) {
  const auto witness = Open();
  ASSERT_EQ(witness->AddCheckpoint(log_.Request(0, 7)).status, 200);
  const auto ask = [&](uint64_t old_size, std::vector<merkle::Hash> proof,
                       const merkle::Note& note) {
    return witness->AddCheckpoint(merkle::WitnessRequestText({old_size, std::move(proof), note}));
  };
  // 400
  ExpectAnswer(witness->AddCheckpoint(""), 400, "request: must begin with a line \"old <size>\"\n");
  ExpectAnswer(ask(8, {}, log_.Checkpoint(7)), 400,
               "request: old size must not be above the checkpoint's\n");
  // 404, before any signature is looked at
  SignedLog unknown("example.com/unknown");
  ExpectAnswer(ask(0, {}, unknown.Checkpoint(3)), 404, "origin: no log of this witness\n");
  // 403
  merkle::Note note = log_.Checkpoint(9);
  merkle::Note stranger = SignedLog(kOrigin, 1000, 's').Checkpoint(9);
  ExpectAnswer(ask(7, log_.Proof(7, 9), stranger), 403, "note: no known key signed it\n");
  merkle::Note broken = note;
  broken.signatures[0].signature[3] ^= 1;
  EXPECT_EQ(ask(7, log_.Proof(7, 9), broken).status, 403);
  // A good signature does not help a false one under a known key.
  broken.signatures.push_back(note.signatures[0]);
  EXPECT_EQ(ask(7, log_.Proof(7, 9), broken).status, 403);
  // Another log's key signs for its own origin only.
  const std::string text = log_.Text(9, log_.Root(9));
  const merkle::Note foreign{text, other_.Sign(text).signatures};
  ExpectAnswer(ask(7, log_.Proof(7, 9), foreign), 403, "note: no known key signed it\n");
  // 409
  ExpectAnswer(ask(6, log_.Proof(6, 9), note), 409, "7\n");
  ExpectAnswer(ask(9, {}, note), 409, "7\n");
  ExpectAnswer(ask(0, {}, log_.Checkpoint(3)), 409, "7\n");
  // 422
  std::vector<merkle::Hash> proof = log_.Proof(7, 9);
  for (size_t i = 0; i < proof.size(); ++i) {
    std::vector<merkle::Hash> changed = proof;
    changed[i][31] ^= 1;
    EXPECT_EQ(ask(7, changed, note).status, 422) << i;
  }
  EXPECT_EQ(ask(7, {}, note).status, 422);
  proof.push_back(proof.back());
  EXPECT_EQ(ask(7, proof, note).status, 422);
  EXPECT_EQ(ask(7, {merkle::Hash{}}, log_.Checkpoint(7)).status, 422);
  // From nothing nothing is to be proved, and nothing has one root.
  EXPECT_EQ(
      witness
          ->AddCheckpoint(merkle::WitnessRequestText({0, {merkle::Hash{}}, other_.Checkpoint(4)}))
          .status,
      422);
  const std::string empty = other_.Text(0, other_.Root(1));
  EXPECT_EQ(ask(0, {}, other_.Sign(empty)).status, 422);
  // None of this changed anything.
  EXPECT_EQ(witness->AddCheckpoint(log_.Request(7, 9)).status, 200);
  EXPECT_EQ(witness->AddCheckpoint(other_.Request(0, 4)).status, 200);
}

TEST_F(WitnessTest, TakesEveryKeyOfALogAndIgnoresStrangers) {
  SignedLog renewed(kOrigin, 1000, 'n');
  WitnessOptions options = Options();
  options.log_keys.push_back(renewed.key());
  const auto witness = Witness::Open(options, KeyOf('w'));
  ASSERT_TRUE(witness.ok()) << witness.status();
  EXPECT_EQ((*witness)->AddCheckpoint(log_.Request(0, 3)).status, 200);
  EXPECT_EQ((*witness)->AddCheckpoint(renewed.Request(3, 4)).status, 200);
  merkle::Note note = renewed.Checkpoint(6);
  note.signatures.insert(note.signatures.begin(),
                         SignedLog(kOrigin, 1000, 's').Checkpoint(6).signatures[0]);
  const std::string body = merkle::WitnessRequestText({4, renewed.Proof(4, 6), note});
  ASSERT_EQ((*witness)->AddCheckpoint(body).status, 200);
  // What it hands out has no signature that it did not verify.
  const Answer latest = (*witness)->LatestCheckpoint(OriginHash(kOrigin));
  const merkle::Note kept = merkle::Note::Parse(latest.body).value();
  ASSERT_EQ(kept.signatures.size(), 2u);
  EXPECT_EQ(kept.signatures[0], note.signatures[1]);
  EXPECT_EQ(kept.signatures[1].name, kName);
}

TEST_F(WitnessTest, ShowsTheLatestCheckpoint) {
  const auto witness = Open();
  const std::string hash = OriginHash(kOrigin);
  // FIPS 180-2, appendix B.1.
  EXPECT_EQ(OriginHash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  ExpectAnswer(witness->LatestCheckpoint(hash), 404, "nothing of this log was cosigned yet\n");
  ExpectAnswer(witness->LatestCheckpoint("x"), 404, "no log of this witness\n");
  ASSERT_EQ(witness->AddCheckpoint(log_.Request(0, 7)).status, 200);
  EXPECT_EQ(witness->AddCheckpoint(fork_.Request(7, 9)).status, 422);
  const Answer latest = witness->LatestCheckpoint(hash);
  ASSERT_EQ(latest.status, 200);
  const merkle::Note note = merkle::Note::Parse(latest.body).value();
  EXPECT_EQ(note.text, log_.Checkpoint(7).text);
  const std::vector<merkle::VerifierKey> known = {log_.key(), witness->verifier_key()};
  EXPECT_EQ(merkle::VerifyNote(note, known)->size(), 2u);
}

TEST_F(WitnessTest, KnowsAfterARestartWhatItCosigned) {
  ASSERT_EQ(Open()->AddCheckpoint(log_.Request(0, 7)).status, 200);
  const auto witness = Open();
  ExpectAnswer(witness->AddCheckpoint(log_.Request(0, 9)), 409, "7\n");
  EXPECT_EQ(witness->AddCheckpoint(fork_.Request(7, 9)).status, 422);
  EXPECT_EQ(witness->AddCheckpoint(log_.Request(7, 9)).status, 200);
}

TEST_F(WitnessTest, KnowsWhatItCosignedUnderAKeyThatTheLogNoLongerHas) {
  ASSERT_EQ(Open()->AddCheckpoint(log_.Request(0, 7)).status, 200);
  SignedLog renewed(kOrigin, 1000, 'n');
  WitnessOptions options = Options();
  options.log_keys = {renewed.key()};
  const auto witness = Witness::Open(options, KeyOf('w'));
  ASSERT_TRUE(witness.ok()) << witness.status();
  EXPECT_EQ((*witness)->AddCheckpoint(log_.Request(7, 9)).status, 403);
  EXPECT_EQ((*witness)->AddCheckpoint(renewed.Request(7, 9)).status, 200);
}

TEST_F(WitnessTest, RefusesAStateThatIsNotItsOwn) {
  ASSERT_EQ(Open()->AddCheckpoint(log_.Request(0, 7)).status, 200);
  const auto refusal = [&](const WitnessOptions& options, char key) {
    return Witness::Open(options, KeyOf(key)).status();
  };
  absl::Status status = refusal(Options(), 'x');
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(status).reason, "KEY_MISMATCH");
  EXPECT_THAT(std::string(status.message()), HasSubstr("not cosigned with this signing key"));
  WitnessOptions renamed = Options();
  renamed.name = "example.org/renamed";
  EXPECT_EQ(ReasonOf(refusal(renamed, 'w')).reason, "KEY_MISMATCH");

  const std::string path =
      absl::StrCat(folder_.File("state"), "/", OriginHash(kOrigin), ".checkpoint");
  const std::string content = ReadFile(path).value();
  const auto write = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  };
  for (size_t i = 0; i < content.size(); ++i) {
    std::string flipped = content;
    flipped[i] ^= 1 << (i % 8);
    write(flipped);
    const auto opened = Witness::Open(Options(), KeyOf('w'));
    if (opened.ok()) {
      // Only what the log's own signature says is not covered by ours.
      EXPECT_EQ((*opened)->AddCheckpoint(log_.Request(7, 7)).status, 200) << i;
      continue;
    }
    EXPECT_TRUE(absl::IsDataLoss(opened.status()) || absl::IsFailedPrecondition(opened.status()))
        << opened.status();
  }
  for (size_t length = 0; length < content.size(); ++length) {
    write(content.substr(0, length));
    EXPECT_FALSE(Witness::Open(Options(), KeyOf('w')).ok()) << length;
  }
  // The file of one log in the place of another.
  write(content);
  std::filesystem::rename(
      path, absl::StrCat(folder_.File("state"), "/", OriginHash(other_.origin()), ".checkpoint"));
  status = refusal(Options(), 'w');
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("origin: must be example.com/other, got example.com/log"));
}

TEST_F(WitnessTest, IsAloneInItsFolder) {
  auto first = Open();
  const absl::Status second = Witness::Open(Options(), KeyOf('w')).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(second).reason, "STATE_IN_USE");
  first.reset();
  EXPECT_TRUE(Witness::Open(Options(), KeyOf('w')).ok());
}

TEST_F(WitnessTest, TellsWhichOptionIsBad) {
  const auto expect = [&](const WitnessOptions& options, const std::string& message) {
    const absl::Status status = Witness::Open(options, KeyOf('w')).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  };
  WitnessOptions options = Options();
  options.name = "a witness";
  expect(options, "name: must be UTF-8, not empty, without spaces");
  options = Options();
  options.log_keys.clear();
  expect(options, "log_key: must name at least one log");
  options = Options();
  options.log_keys.push_back(log_.key());
  expect(options, "log_key: is given twice: example.com/log+");
  options = Options();
  options.log_keys[0].type = merkle::SignatureType::kCosignature;
  expect(options, "log_key: must be an Ed25519 key of a log");
  EXPECT_FALSE(std::filesystem::exists(folder_.File("state")));
}

TEST_F(WitnessTest, SaysNothingWithoutAClock) {
  const auto witness = Open();
  clock_.seconds = 0;
  ExpectAnswer(witness->AddCheckpoint(log_.Request(0, 3)), 500, "the clock is before 1970\n");
  EXPECT_FALSE(witness->failed());
  clock_.seconds = kNow;
  EXPECT_EQ(witness->AddCheckpoint(log_.Request(0, 3)).status, 200);
}

TEST_F(WitnessTest, CosignsNothingMoreAfterTheDiskFailed) {
  const auto witness = Open();
  ASSERT_EQ(witness->AddCheckpoint(log_.Request(0, 3)).status, 200);
  // A folder in the place of the temporary file: it cannot be written.
  const std::string blocked =
      absl::StrCat(folder_.File("state"), "/", OriginHash(kOrigin), ".checkpoint.tmp");
  std::filesystem::create_directory(blocked);
  ExpectAnswer(witness->AddCheckpoint(log_.Request(3, 7)), 500,
               "the disk has failed; nothing more is cosigned\n");
  EXPECT_TRUE(witness->failed());
  std::filesystem::remove(blocked);
  EXPECT_EQ(witness->AddCheckpoint(log_.Request(3, 7)).status, 500);
  EXPECT_EQ(witness->AddCheckpoint(other_.Request(0, 7)).status, 500);
}

TEST_F(WitnessTest, LetsOneOfSeveralWinARace) {
  for (int round = 0; round < 20; ++round) {
    WitnessOptions options = Options();
    options.state_folder = folder_.File(absl::StrCat("race ", round));
    const auto witness = Witness::Open(options, KeyOf('w'));
    ASSERT_TRUE(witness.ok()) << witness.status();
    ASSERT_EQ((*witness)->AddCheckpoint(log_.Request(0, 5)).status, 200);
    // All from one size, to two histories and several sizes.
    const std::vector<std::string> bodies = {log_.Request(5, 6), log_.Request(5, 9),
                                             fork_.Request(5, 6), fork_.Request(5, 9)};
    std::atomic<int> cosigned = 0;
    std::atomic<int> conflicts = 0;
    std::vector<std::thread> threads;
    for (const std::string& body : bodies) {
      threads.emplace_back([&] {
        const int status = (*witness)->AddCheckpoint(body).status;
        cosigned += status == 200;
        conflicts += status == 409;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(cosigned, 1);
    EXPECT_EQ(conflicts, 3);
  }
}

TEST_F(WitnessTest, SurvivesEveryMutationOfARequest) {
  const auto witness = Open();
  ASSERT_EQ(witness->AddCheckpoint(log_.Request(0, 7)).status, 200);
  const std::string valid = log_.Request(7, 9);
  std::mt19937_64 random(11);
  int beyond_the_parser = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string body = valid;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t place = random() % body.size();
      if (random() % 2 == 0) {
        body[place] = static_cast<char>(random());
      } else {
        body.erase(place, 1 + random() % 4);
      }
      if (body.empty()) break;
    }
    if (body == valid) continue;
    const Answer answer = witness->AddCheckpoint(body);
    EXPECT_THAT(answer.status, ::testing::AnyOf(400, 403, 404, 409, 422)) << body;
    beyond_the_parser += answer.status != 400;
  }
  EXPECT_GT(beyond_the_parser, 100);
  EXPECT_EQ(witness->AddCheckpoint(valid).status, 200);
}

// A registry whose entries are read before it is cosigned.
class RegistryWitness : public WitnessTest {
 protected:
  using Registry = registry::SignedRegistry;

  std::unique_ptr<Witness> OpenFor(const std::shared_ptr<registry::MapSource>& source) {
    WitnessOptions options = Options();
    options.log_keys = {registry::TestVerifierKey(1)};
    options.sources[registry::kTestOrigin] = source;
    auto witness = Witness::Open(options, KeyOf('w'));
    EXPECT_TRUE(witness.ok()) << witness.status();
    return *std::move(witness);
  }
  // From the registry as it was at `old_size`.
  static std::string Request(const Registry& registry, uint64_t old_size) {
    registry::MapSource source(registry);
    registry::SourceTiles tiles(&source, registry.size());
    const auto proof = merkle::ConsistencyProof(old_size, registry.size(),
                                                merkle::NodesOf(tiles, registry.size()));
    EXPECT_TRUE(proof.ok()) << proof.status();
    return merkle::WitnessRequestText({old_size, *proof, registry.Checkpoint()});
  }
  std::shared_ptr<registry::MapSource> source_ = std::make_shared<registry::MapSource>();
};

TEST_F(RegistryWitness, CosignsWhatItHasRead) {
  Registry registry;
  registry.Key(1).Register("a", 5).MapRoot();
  source_->files = registry.Files();
  auto witness = OpenFor(source_);
  EXPECT_EQ(witness->AddCheckpoint(Request(registry, 0)).status, 200);
  EXPECT_EQ(source_->reads, 1);
  EXPECT_EQ(witness->AddCheckpoint(Request(registry, 3)).status, 200);  // again: nothing is read
  EXPECT_EQ(source_->reads, 1);
  witness.reset();
  witness = OpenFor(source_);
  const uint64_t before = registry.size();
  registry.Register("a", 6).MapRoot();
  source_->files = registry.Files();
  EXPECT_EQ(witness->AddCheckpoint(Request(registry, before)).status, 200);
}

TEST_F(RegistryWitness, RefusesARegistryThatContradictsItself) {
  Registry registry;
  registry.Key(1).Register("a", 5, v1::SEALED).MapRoot();
  source_->files = registry.Files();
  const auto witness = OpenFor(source_);
  ASSERT_EQ(witness->AddCheckpoint(Request(registry, 0)).status, 200);
  // Consistent as a log, and signed: who looks at the tree alone cosigns it.
  Registry bent = registry;
  bent.Register("a", 2).MapRoot();
  const std::string request = Request(bent, registry.size());
  source_->files = bent.Files();
  const Answer refused = witness->AddCheckpoint(request);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, HasSubstr("entry 3 contradicts entry 1"));
  const std::string evidence =
      folder_.File("state/" + OriginHash(registry::kTestOrigin) + ".contradiction");
  for (const char* name : {"checkpoint", "earlier-checkpoint", "entry-1", "entry-1.tlog-proof",
                           "entry-3", "entry-3.tlog-proof"}) {
    EXPECT_TRUE(std::filesystem::exists(evidence + "/" + name)) << name;
  }
  // It goes on with the honest history.
  registry.Register("b", 1).MapRoot();
  source_->files = registry.Files();
  EXPECT_EQ(witness->AddCheckpoint(Request(registry, 3)).status, 200);
  // The control: for its consistency alone it would have been cosigned.
  WitnessOptions blind = Options();
  blind.state_folder = folder_.File("blind");
  blind.log_keys = {registry::TestVerifierKey(1)};
  const auto other = Witness::Open(blind, KeyOf('w'));
  ASSERT_TRUE(other.ok());
  EXPECT_EQ((*other)->AddCheckpoint(Request(bent, 0)).status, 200);
}

TEST_F(RegistryWitness, AsksAgainWhereTheEntriesDoNotCome) {
  Registry registry;
  registry.Key(1).Register("a", 5).MapRoot();
  const auto witness = OpenFor(source_);
  const Answer away = witness->AddCheckpoint(Request(registry, 0));
  EXPECT_EQ(away.status, 503);
  source_->files = registry.Files();
  source_->files["tile/entries/000.p/3"][30] ^= 1;  // another's words, not the log's
  EXPECT_EQ(witness->AddCheckpoint(Request(registry, 0)).status, 503);
  EXPECT_FALSE(std::filesystem::exists(
      folder_.File("state/" + OriginHash(registry::kTestOrigin) + ".contradiction")));
  source_->files = registry.Files();
  EXPECT_EQ(witness->AddCheckpoint(Request(registry, 0)).status, 200);
}

}  // namespace
}  // namespace dpledger::witness
