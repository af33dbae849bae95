// Acknowledgements that a key of the server must have signed.
#include "connection/log_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/file.h"
#include "base/status.h"
#include "client/recorder.h"
#include "merkle/receipt_text.h"
#include "server/signing/receipt_signer.h"
#include "tests/cli/process.h"
#include "tests/client/open_recorder.h"
#include "tests/fault/crashing_server.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::CrashingServer;
using ::dpledger::testing::TemporaryFolder;
using ::testing::HasSubstr;

class LogKeysTest : public ::testing::Test {
 protected:
  LogKeysTest() : key_(NewKey()), signer_(key_, "example.org/log") {
    batch_.set_ledger("projects/p/ledgers/l");
    batch_.set_request_id("r");
    receipt_.set_first_sequence(7);
    receipt_.set_count(2);
    receipt_.set_size(9);
    receipt_.set_root_hash(std::string(32, 'x'));
  }
  static std::shared_ptr<const merkle::Ed25519PrivateKey> NewKey() {
    return std::make_shared<const merkle::Ed25519PrivateKey>(
        *merkle::Ed25519PrivateKey::Generate());
  }
  static std::string Text(const std::string& name, const merkle::Ed25519PrivateKey& key) {
    return merkle::VerifierKey{name, merkle::SignatureType::kEd25519, key.public_key()}.ToText();
  }

  const std::shared_ptr<const merkle::Ed25519PrivateKey> key_;
  const server::ReceiptSigner signer_;
  v1::AppendBatchRequest batch_;
  v1::Receipt receipt_;
};

TEST_F(LogKeysTest, TakesWhatOneOfThemSigned) {
  const connection::LogKeys keys =
      *connection::LogKeys::Parse(Text("other", *NewKey()) + "  " + Text("example.org/log", *key_));
  const merkle::Hash asked = keys.AskFor(batch_);
  EXPECT_TRUE(batch_.signed_receipt());
  EXPECT_EQ(asked, merkle::Sha256({batch_.SerializeAsString()}));
  signer_.Sign(asked, receipt_);
  EXPECT_EQ(keys.Check(asked, receipt_), absl::OkStatus());
}

TEST_F(LogKeysTest, EveryPartIsSigned) {
  const connection::LogKeys keys = *connection::LogKeys::Parse(Text("example.org/log", *key_));
  const merkle::Hash asked = keys.AskFor(batch_);
  signer_.Sign(asked, receipt_);
  const auto refused = [&](const merkle::Hash& request, const v1::Receipt& receipt) {
    return ReasonOf(keys.Check(request, receipt)).reason == "RECEIPT_NOT_SIGNED";
  };
  EXPECT_FALSE(refused(asked, receipt_));
  merkle::Hash other = asked;
  other[31] ^= 1;
  EXPECT_TRUE(refused(other, receipt_));
  const auto changed = [&](auto change) {
    v1::Receipt copy = receipt_;
    change(copy);
    return copy;
  };
  EXPECT_TRUE(refused(asked, changed([](v1::Receipt& r) { r.set_first_sequence(8); })));
  EXPECT_TRUE(refused(asked, changed([](v1::Receipt& r) { r.set_count(3); })));
  EXPECT_TRUE(refused(asked, changed([](v1::Receipt& r) { r.set_size(10); })));
  EXPECT_TRUE(refused(asked, changed([](v1::Receipt& r) { (*r.mutable_root_hash())[0] = 'y'; })));
  EXPECT_TRUE(refused(asked, changed([](v1::Receipt& r) { r.set_root_hash("short"); })));
  EXPECT_TRUE(refused(asked, changed([](v1::Receipt& r) { r.clear_signature(); })));
  EXPECT_TRUE(refused(asked, changed([](v1::Receipt& r) { r.mutable_signature()->push_back(0); })));
  // The same key under another name is another log.
  EXPECT_FALSE(
      connection::LogKeys::Parse(Text("example.org/copy", *key_))->Check(asked, receipt_).ok());
}

TEST_F(LogKeysTest, WithoutKeysAnythingIsTaken) {
  EXPECT_TRUE(connection::LogKeys().empty());
  EXPECT_EQ(connection::LogKeys().Check({}, receipt_), absl::OkStatus());
}

TEST_F(LogKeysTest, RefusesWhatIsNoKey) {
  const absl::Status bad = connection::LogKeys::Parse("example.org/log+12345678+AAAA").status();
  EXPECT_EQ(bad.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(bad.message()), HasSubstr("log_key: must be the verifier key"));
}

// A real server, and a recorder that knows its key or another one.
TEST(SignedReceipts, ARecorderReleasesOnTheKeysWordAlone) {
  const std::string origin = "example.org/log";
  CrashingServer server({.flags = {"--log-origin", origin}});
  TemporaryFolder folder;
  const auto key =
      merkle::Ed25519PrivateKey::FromPem(*ReadFile(server.files() + "/store.signing-key"));
  ASSERT_TRUE(key.ok()) << key.status();
  const auto text = [&](const merkle::Ed25519PrivateKey& of, const std::string& name) {
    return merkle::VerifierKey{name, merkle::SignatureType::kEd25519, of.public_key()}.ToText();
  };
  const auto release = [&](const std::string& writer, const std::string& log_key) {
    RecorderOptions options = OptionsFor(server.address(), folder.File(writer));
    options.writer = writer;
    options.policy = v1::FAIL_CLOSED;
    options.server.log_key = log_key;
    const auto recorder = PrivacyRecorder::Open(options);
    if (!recorder.ok()) return recorder.status();
    v1::MechanismEvent mechanism;
    mechanism.mutable_gaussian()->set_noise_multiplier(2);
    absl::Status released;
    for (int i = 0; i < 100 && released.ok(); ++i) {
      const auto number = (*recorder)->RecordMechanism(mechanism);
      released = number.ok() ? (*recorder)->AwaitReleasable(*number) : number.status();
    }
    return released;
  };
  EXPECT_EQ(release("knows", text(*key, origin)), absl::OkStatus());
  const absl::Status stranger =
      release("does-not", text(*merkle::Ed25519PrivateKey::Generate(), origin));
  EXPECT_EQ(ReasonOf(stranger).reason, "RECEIPT_NOT_SIGNED") << stranger;
}

}  // namespace
}  // namespace dpledger::client
