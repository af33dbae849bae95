// What it costs to know a caller, one thread.
//
//   identity_benchmark [--seconds S]
//
// identity/rs256_first and identity/es256_first: a JWT that was not shown before; _again: one that
// was. identity/token: one of the server's own, among 1,000. identity/rights: a decision by the
// last of 100 lines. The limit of all is one SHA-256 of a JWT of RS256. They take turns, so that
// they meet the same load; the least of each counts. Prints one JSON object.
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/program.h"
#include "bench/turns.h"
#include "identity/authenticator.h"
#include "identity/rights.h"
#include "identity/token.h"
#include "identity/tokens.h"
#include "tests/identity/samples.h"

namespace dpledger {
namespace {

using namespace identity;

constexpr int kTokens = 1000, kPerTurn = 20;  // a turn ends before others get the processor

// A Kubernetes token is about 900 bytes.
std::string LongPayload(int id) {
  return Payload(
      {{"jti", absl::StrCat("\"", id, "\"")}, {"x", "\"" + std::string(400, 'x') + "\""}});
}

// Signed tokens of one algorithm, and what checks them.
struct Tokens {
  Tokens(const std::string& algorithm, SigningKey with, const std::string& folder, Clock* clock)
      : name(algorithm), key(std::move(with)), file(folder + "/" + name) {
    WriteOwnersFile(file, Jwks({key.Jwk("k")}));
    issuer = bench::Must(JwtIssuer::Open({kIssuer, kAudience, file}, clock, nullptr));
    authenticator =
        std::make_unique<Authenticator>(nullptr, std::vector<JwtIssuer*>{issuer.get()}, clock);
    const std::string header =
        absl::StrCat(R"({"kid":"k","alg":")", name == "rs256" ? "RS256" : "ES256", "\"}");
    for (int i = 0; i < kTokens; ++i)
      tokens.push_back("Bearer " + key.Token(header, LongPayload(i)));
  }
  const std::string name;
  const SigningKey key;
  const std::string file;
  std::unique_ptr<JwtIssuer> issuer;
  std::unique_ptr<Authenticator> authenticator;
  std::vector<std::string> tokens;
};

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const bench::ScratchFolder folder;
  SetClock clock;
  Tokens rs256("rs256", SigningKey::Rsa(), folder.path(), &clock);
  Tokens es256("es256", SigningKey::Ec(), folder.path(), &clock);

  auto file = bench::Must(identity::Tokens::OpenFile(folder.path() + "/tokens", &clock, nullptr));
  std::vector<std::string> own;
  bench::Check(file->Change([&](TokenTable& table) {
    for (int i = 0; i < kTokens; ++i) {
      own.push_back("Bearer " + MakeToken());
      TokenRecord record;
      record.name = absl::StrCat("t", i);
      record.hash = HashOf(own.back().substr(7));
      record.grants = {*Grant::Parse("trainer projects/p")};
      table.tokens.push_back(std::move(record));
    }
    return absl::OkStatus();
  }));
  Authenticator tokens(file.get(), {}, &clock);
  std::string policy;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&policy, "token:t", i, " trainer projects/p\n");
  WriteOwnersFile(folder.path() + "/policy", policy);
  const auto rights = Rights::Open(folder.path() + "/policy", nullptr);
  bench::Check(rights.status());
  Caller last;
  last.name = "token:t99";
  last.kind = CallerKind::kToken;
  const Resource ledger = Resource::Of("projects/p/ledgers/x");

  bench::Turns turns;
  size_t good = 0, wanted = 0;
  const auto time = [&](const std::string& name, const std::function<void(int)>& action) {
    turns.Time(name, kPerTurn, 1, [&] {
      for (int i = 0; i < kPerTurn; ++i) action(i);
    });
    wanted += kPerTurn;
  };
  const absl::Time end = absl::Now() + absl::Seconds(seconds * 0.8);
  for (int turn = 0; turn * kPerTurn < kTokens || absl::Now() < end; ++turn) {
    const int from = turn * kPerTurn % kTokens;
    for (Tokens* jwts : {&rs256, &es256}) {
      // The keys are read anew, so that nothing is remembered.
      if (from == 0 && turn > 0) {
        clock.now += absl::Seconds(5);
        WriteOwnersFile(jwts->file,
                        Jwks({jwts->key.Jwk("k")}) + std::string(static_cast<size_t>(turn), ' '));
        jwts->authenticator->Refresh();
      }
      const auto check = [&](int i) {
        good +=
            jwts->authenticator->Authenticate({jwts->tokens[static_cast<size_t>(from + i)]}).ok();
      };
      time(jwts->name + "_first", check);
      time(jwts->name + "_again", check);
    }
    time("token",
         [&](int i) { good += tokens.Authenticate({own[static_cast<size_t>(from + i)]}).ok(); });
    time("rights", [&](int) { good += (*rights)->Allows(last, Permission::kAppend, ledger); });
    time("hash", [&](int i) {
      good += HashOf(rs256.tokens[static_cast<size_t>(from + i)]) != Sha256Hash();
    });
  }
  if (good != wanted) bench::Die("a check failed");

  bench::Report report("identity/");
  for (const char* name :
       {"rs256_first", "rs256_again", "es256_first", "es256_again", "token", "rights"}) {
    report.Add(name, 1e-3 * turns.least(name), "us", 1e-3 * turns.least("hash"));
  }
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
