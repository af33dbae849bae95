// Writes the kept corpus of the fuzzers: small inputs that their parsers accept, from the samples
// of other tests; and some, named not-..., that say the same in a second spelling, which random
// changes seldom hit. Every run writes the same bytes.
//
//   fuzz_corpus FOLDER             writes FOLDER/<fuzzer>/<name>
//   fuzz_corpus --compare FOLDER   ends with 1 if one of the files is not what would be written
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "client/internal/spool_format.h"
#include "client/internal/state_bytes.h"
#include "dpledger/v1/ledger_service.pb.h"
#include "dpledger/v1/stored.pb.h"
#include "ledger/batch_row.h"
#include "ledger_store/bundle/members.h"
#include "ledger_store/embedded/backup_manifest.h"
#include "ledger_store/embedded/keys.h"
#include "merkle/compact_tree.h"
#include "merkle/witness_request.h"
#include "registry/registry_log.h"
#include "tests/ledger_store/bundle_sample.h"
#include "tests/ledger_store/caller_cases.h"
#include "tests/ledger_store/grant_cases.h"

namespace dpledger {
namespace {

using Corpus = std::map<std::string, std::string>;  // by fuzzer/name

std::string RowOf(const std::vector<std::string>& entries) {
  std::string row;
  for (const std::string& entry : entries) {
    row.append(kEntryLengthBytes, '\0');
    const size_t begin = row.size();
    row += entry;
    SetEntryLength(begin, row);
  }
  return row;
}

std::string Replaced(std::string text, const std::string& old, const std::string& with) {
  const size_t at = text.find(old);
  if (at == std::string::npos) std::abort();
  return text.replace(at, old.size(), with);
}

// Each begins with the size of the pieces in which it comes.
void AddHttp(const std::string& body, Corpus& corpus) {
  const std::string host = " HTTP/1.1\r\nHost: witness.example\r\n";
  const std::string get = "GET /" + std::string(64, 'a') + "/checkpoint" + host + "\r\n";
  const std::string post = "POST /add-checkpoint" + host;
  const std::string length = "Content-Length: " + std::to_string(body.size()) + "\r\n";
  const std::string chunked =
      "Transfer-Encoding: chunked\r\n\r\n4;x=y\r\nold \r\n2\r\n3\n\r\n0\r\n";
  corpus["http/get"] = "!" + get;
  corpus["http/post"] = "!" + post + length + "\r\n" + body;
  corpus["http/chunked"] = std::string(1, '\0') + post + chunked + "Trailer: t\r\n\r\n";
  corpus["http/two"] = "\1" + post + chunked + "\r\n" + get;
  corpus["http/close"] = "\1" + post + "Connection: close\r\n" + length + "\r\n" + body;
  corpus["http/not-one-length"] = "!" + post + length + chunked + "\r\n";
  corpus["http/not-a-route"] = "!GET /checkpoint HTTP/1.0\r\n\r\n";
}

bundle::SampleLedger SmallLedger() {
  bundle::SampleLedger ledger;
  ledger.AddRound("trainer-0", 1).AddRound("trainer-1", 1).AddQueries("trainer-0", 1);
  return ledger;
}

bundle::SampleLedger SealedLedger() {
  bundle::SampleLedger ledger;
  ledger.AddRound("trainer-0", 1).Close("trainer-0").Seal();
  return ledger;
}

bundle::SampleLedger OtherEntries() {
  bundle::SampleLedger ledger;
  ledger.Add("trainer-0",
             [](v1::LedgerEntry& entry) { entry.mutable_note()->set_text("started"); });
  ledger.Add("trainer-0", [](v1::LedgerEntry& entry) {
    v1::MechanismEvent& mechanism = *entry.mutable_event()->mutable_mechanism();
    mechanism.mutable_gaussian()->set_noise_multiplier(2);
  });
  ledger.Add("trainer-0", [](v1::LedgerEntry& entry) {
    entry.mutable_correction()->set_corrected_sequence(2);
    entry.mutable_correction()->set_text("the wrong noise");
  });
  ledger.Add("", [](v1::LedgerEntry& entry) {
    entry.mutable_fork_notice()->set_child("projects/default/ledgers/child");
    entry.mutable_fork_notice()->set_size(1);
  });
  return ledger;
}

void AddBundles(Corpus& corpus) {
  const bundle::SampleLedger sealed = SealedLedger();
  corpus["bundle/open"] = bundle::SampleBundle(SmallLedger());
  corpus["bundle/sealed"] = bundle::SampleBundle(sealed);
  corpus["bundle/budget"] = bundle::SampleBundle(bundle::BudgetLedger());
  corpus["bundle/retired_blocks"] = bundle::SampleBundle(bundle::BudgetWithBlocks());
  corpus["bundle/under_budget"] = bundle::SampleBundle(bundle::BudgetedRun());
  bundle::SampleRegistry registry = bundle::RegistryOf(sealed);
  registry.keys = {1, 2};
  registry.earlier = {bundle::RegisteredAt(sealed, 2)};
  corpus["bundle/keys-and-points"] = bundle::SampleBundle(sealed, bundle::EvidenceOf(registry));
  corpus["entries/open"] = RowOf(SmallLedger().entries);
  corpus["entries/sealed"] = RowOf(sealed.entries);
  corpus["entries/other"] = RowOf(OtherEntries().entries);
  corpus["entries/callers"] = RowOf(bundle::LedgerOfCallers().entries);
  std::vector<std::string> entries = SmallLedger().entries;
  entries[1] = Replaced(entries[1], "\x08\x01", std::string("\x08\x81\x00", 3));
  corpus["entries/not-fewest-bytes"] = RowOf(entries);
}

void AddTexts(Corpus& corpus) {
  const bundle::SampleLedger ledger = SmallLedger();
  bundle::SampleRegistry registry = bundle::RegistryOf(ledger);
  registry.earlier = {bundle::RegisteredAt(ledger, 2)};
  const bundle::Evidence evidence = bundle::EvidenceOf(registry);
  corpus["note/registry"] = evidence.registry_checkpoint;
  corpus["note/checkpoint"] = evidence.checkpoint;
  corpus["note/key"] = bundle::SampleVerifierKey(1).ToText();
  merkle::Note note = *merkle::Note::Parse(evidence.checkpoint);
  corpus["note/text"] = note.text;
  note.signatures.push_back(
      *merkle::CosignNote(note.text, "witness.example", 1'700'000'040, bundle::SampleKey(3)));
  corpus["note/cosigned"] = note.ToText();
  corpus["note/lines"] = note.signatures[0].ToLine() + note.signatures[1].ToLine();
  corpus["proof/inclusion"] = evidence.registered_proof;
  merkle::WitnessRequest request;
  request.old_size = 3;
  request.proof = {merkle::Sha256({"a"}), merkle::Sha256({"b"})};
  request.checkpoint = *merkle::Note::Parse(evidence.registry_checkpoint);
  corpus["proof/request"] = merkle::WitnessRequestText(request);
  corpus["proof/not-request"] = Replaced(corpus["proof/request"], "old 3", "old 03");
  corpus["proof/not-inclusion"] = Replaced(evidence.registered_proof, "index ", "index 0");
  corpus["note/not-checkpoint"] = Replaced(evidence.checkpoint, "\n", "\n0");
  request.old_size = 0;
  request.proof.clear();
  corpus["proof/first-request"] = merkle::WitnessRequestText(request);
  AddHttp(corpus["proof/request"], corpus);
  corpus["map/path"] = evidence.map_path;
  corpus["map/points"] = evidence.points;
  merkle::PrefixMap map;
  for (int i = 0; i < 20; ++i) {
    const merkle::Hash key = merkle::Sha256({std::to_string(i)});
    map = map.With({{key, merkle::MapLeafHash(key, "value")}});
  }
  corpus["map/deep-path"] = map.Prove(merkle::Sha256({"7"}))->ToBytes();
}

void AddRegistry(Corpus& corpus) {
  registry::RegistryLog log(bundle::kSampleRegistry);
  std::vector<std::string> entries;
  const auto add = [&](const auto& edit) {
    v1::LedgerEntry entry;
    entry.set_sequence(log.size());
    entry.mutable_recorded_time()->set_seconds(1'700'000'040);
    edit(entry);
    entries.push_back(entry.SerializeAsString());
    return log.Take(entries.back()).ok();
  };
  const auto enter = [&](const std::string& name, uint64_t size, v1::LedgerState state) {
    return add([&](v1::LedgerEntry& entry) {
      v1::Registered& registered = *entry.mutable_registered();
      registered.set_origin(std::string(bundle::kSampleRegistry) + "/" + name);
      registered.set_size(size);
      registered.set_root_hash(std::string(32, 'r'));
      registered.set_state(state);
    });
  };
  const auto say_root = [&](v1::LedgerEntry& entry) {
    entry.mutable_map_root()->set_ledgers(log.map().size());
    entry.mutable_map_root()->set_root_hash(merkle::ToBytes(log.map().Root()));
  };
  bool taken = add([](v1::LedgerEntry& entry) {
    entry.mutable_key_rotate()->set_verifier_key(bundle::SampleVerifierKey(1).ToText());
  });
  taken = taken && enter("projects/p/ledgers/a", 2, v1::OPEN) && add(say_root);
  taken = taken && enter("projects/p/ledgers/b", 1, v1::OPEN);
  taken = taken && enter("projects/p/ledgers/a", 5, v1::SEALED) && add(say_root);
  if (!taken) std::abort();
  corpus["registry/entries"] = std::string(1, '\0') + RowOf(entries);
  entries.back() += "\x98\x06\x01";  // a field that nobody knows
  corpus["registry/not-entries"] = std::string(1, '\0') + RowOf(entries);
  corpus["registry/state"] = "\1" + log.ToState().SerializeAsString();
}

void AddEventLines(Corpus& corpus) {
  corpus["event_json/rounds"] =
      R"({"rounds":{"scheme":{"poisson":{"probability":0.01}},)"
      R"("queries":[{"l2NormBound":1,"noiseStddev":2.5,"noise":"ROUNDED_GAUSSIAN"}],"count":"100"}})";
  corpus["event_json/sampling"] =
      R"({"sampling":{"round":"1","scheme":{"without_replacement":{"sample_size":5},)"
      R"("population_size":100}}})";
  corpus["event_json/sum-query"] =
      R"({"sum_query":{"round":1,"query":{"group":"g","l2_norm_bound":1,"noise_stddev":1.5}}})";
  corpus["event_json/mechanism"] = R"({"mechanism":{"gaussian":{"noiseMultiplier":"Infinity"}}})";
  corpus["event_json/laplace"] = R"({"mechanism":{"laplace":{"epsilon":0.1}}})";
}

// RFC 7515, appendices A.2 and A.3.
void AddIdentity(Corpus& corpus) {
  const std::string payload =
      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl"
      "fQ";
  const std::string signature =
      "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
  const std::string key =
      R"({"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
      R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","use":"sig","kid":"1"})";
  const std::string zero(1, '\0');
  corpus["jwt/es256"] = zero + "eyJhbGciOiJFUzI1NiJ9." + payload + "." + signature;
  corpus["jwt/rs256"] = zero + "eyJhbGciOiJSUzI1NiJ9." + payload + "." + signature;
  corpus["jwt/not-one-spelling"] = Replaced(corpus["jwt/es256"], "NU1Q", "NU1R");
  corpus["jwt/keys"] = "\1{\"keys\":[" + key + R"(,{"kty":"RSA","n":"AQAB","e":"AQAB"}]})";
  corpus["jwt/one-key"] = "\1{\"keys\":[" + key + "]}";
  corpus["jwt/json"] = "\2\"a\\ud83d\\ude00\\n\"";
  corpus["tokens/two"] =
      "dpledger tokens v1\n"
      R"({"name":"a","hash":"0000000000000000000000000000000000000000000000000000000000000001",)"
      R"("created":"2026-11-22T10:00:00Z","grants":["trainer projects/p"]})"
      "\n"
      R"({"name":"b","hash":"0000000000000000000000000000000000000000000000000000000000000002",)"
      R"("created":"2026-11-22T10:00:00Z","expires":"2027-11-22T10:00:00Z",)"
      R"("revoked":"2026-11-23T10:00:00Z","grants":["analyst * data-set=A \"b\"","admin *"]})"
      "\n";
  corpus["filter/words"] = R"(dataset = "adult" AND (epsilon > 1 OR NOT state = SEALED))";
  corpus["filter/times"] =
      "age > 3d AND create_time >= \"2026-11-22T10:00:00Z\" AND name : \"adult\"";
  corpus["filter/order"] = "epsilon desc";
  corpus["policy/lines"] =
      "# who does what\n\ntoken:a*   trainer\tprojects/p/ledgers/l-*\n"
      "spiffe://x/y auditor * data-set=A  b\nanonymous analyst projects/p/ledgers/l\n* admin *\n";
  corpus["policy/spiffe"] = "spiffe://example.org/ns/ml/sa/trainer";
  corpus["policy/host"] = "Trainer-1.example.org";
}

void AddRows(Corpus& corpus) {
  embedded::BackupManifest backup;
  backup.created = absl::FromUnixSeconds(1795341600);
  backup.version = "0.1.0";
  corpus["backup/empty"] = backup.ToText();
  backup.files = {{"000004.log", 0, std::string(64, '0')}, {"CURRENT", 16, std::string(64, 'a')}};
  corpus["backup/two"] = backup.ToText();
  corpus["row/batch"] = std::string(1, '\0') + RowOf({"first", "", "third"});
  embedded::HeadRow row;
  row.writer.set_writer("trainer-0");
  row.writer.set_entry_count(3);
  row.head.set_size(3);
  row.head.set_frontier(std::string(64, 'f'));
  row.head.set_state(v1::OPEN);
  row.head.mutable_last_recorded_time()->set_seconds(1'700'000'040);
  corpus["row/head"] = "\1" + row.Serialize();
  row.head.set_authenticator(std::string(32, 'a'));
  corpus["row/authentic-head"] = "\1" + row.Serialize();

  v1::StoredHistory table;
  table.set_version(1);
  table.set_size(9);
  v1::StoredRounds& closed = *table.add_closed();
  closed.set_writer("trainer-0");
  closed.mutable_scheme()->mutable_poisson()->set_probability(0.01);
  v1::SumQuery& query = *closed.add_queries();
  query.set_group("weights");
  query.set_l2_norm_bound(1);
  query.set_noise_stddev(1.5);
  query.set_noise(v1::GAUSSIAN);
  closed.set_count(4);
  v1::StoredRounds& open = *table.add_open();
  open = closed;
  open.clear_count();
  open.set_number(5);
  corpus["history/rounds"] = table.SerializeAsString();
}

void AddClientFiles(Corpus& corpus) {
  using namespace client::internal;
  SpoolHeader header;
  header.first_position = 1;
  header.entries = 2;
  header.next_round = 3;
  header.ledger = "projects/p/ledgers/a";
  header.writer = "trainer-0";
  header.receipt.size = 2;
  v1::AppendBatchRequest batch;
  batch.set_ledger(header.ledger);
  batch.set_writer(header.writer);
  batch.set_request_id("0");
  batch.add_entries()->mutable_note()->set_text("started");
  Digest chain{};
  std::string file = EncodeRecord(RecordKind::kHeader, EncodeHeader(header), chain);
  file += EncodeRecord(RecordKind::kBatch, batch.SerializeAsString(), chain);
  const std::string acknowledged = EncodeAcknowledgement({2, header.receipt});
  file += EncodeRecord(RecordKind::kAcknowledged, acknowledged, chain);
  corpus["spool/file"] = std::string(1, '\0') + file;
  corpus["spool/torn-file"] = "\1" + file.substr(0, file.size() - 20) + std::string(600, '\0');
  corpus["spool/cut"] = std::string("\2\0\x50\0", 4) + EncodeHeader(header);
  corpus["spool/header"] = "\4" + EncodeHeader(header);
  corpus["spool/acknowledged"] = "\5" + acknowledged;

  StateWriter fields;
  for (const char* text : {"01234567", "projects/p/ledgers/a", "w", "sampler", "first", ""})
    fields.String(text);
  corpus["run_state/file"] =
      "\1" + std::string("dpledger run state 1") + fields.bytes() + std::string(60, 's');
  corpus["run_state/content"] = std::string(1, '\0') + "what a sampler keeps";
  StateWriter numbers;
  numbers.Number(2);
  numbers.String("text");
  numbers.Number(3);
  numbers.Array(absl::Span<const uint64_t>({1, 2, 3}));
  corpus["run_state/fields"] = "\x08" + numbers.bytes();
}

std::string ReadAll(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

int Run(bool compare, const std::filesystem::path& folder) {
  Corpus corpus;
  AddBundles(corpus);
  AddTexts(corpus);
  AddRegistry(corpus);
  AddEventLines(corpus);
  AddIdentity(corpus);
  AddRows(corpus);
  AddClientFiles(corpus);
  for (const auto& [name, bytes] : corpus) {
    const std::filesystem::path path = folder / name;
    if (compare) {
      if (ReadAll(path) == bytes) continue;
      std::fprintf(stderr, "%s: is not what fuzz_corpus writes: run it\n", path.c_str());
      return 1;
    }
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) {
  const bool compare = argc == 3 && std::string(argv[1]) == "--compare";
  // "--help" is no folder.
  if ((argc != 2 && !compare) || argv[argc - 1][0] == '-') {
    std::fprintf(stderr, "usage: fuzz_corpus [--compare] FOLDER\n");
    return 2;
  }
  return dpledger::Run(compare, argv[argc - 1]);
}
