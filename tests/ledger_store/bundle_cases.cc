#include "tests/ledger_store/bundle_cases.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ledger_store/bundle/members.h"
#include "merkle/compact_tree.h"
#include "registry/head.h"
#include "tests/ledger_store/bundle_sample.h"
#include "tests/ledger_store/caller_cases.h"
#include "tests/ledger_store/grant_cases.h"

namespace dpledger::bundle {
namespace {

using Members = std::vector<SampleMember>;

SampleLedger ThreeEntries() {
  SampleLedger ledger;
  ledger.AddRound("trainer", 7);
  return ledger;
}

// 1 + 2 + 297 entries: two entry bundles, and with them two tiles of level 0 and one of level 1.
SampleLedger LongLedger() {
  SampleLedger ledger = ThreeEntries();
  ledger.AddQueries("worker-2", 297);
  return ledger;
}

SampleLedger SealedLedger() {
  SampleLedger ledger = ThreeEntries();
  ledger.AddRound("silent", 1).Close("trainer").Seal({"silent"});
  return ledger;
}

// Ledgers of so many writers, none of which has closed.
std::vector<std::string> NamesOfMany(int writers) {
  std::vector<std::string> names;
  for (int i = 0; i < writers; ++i) names.push_back(absl::StrCat("w-", 100 + i));
  return names;
}

SampleLedger LedgerOfMany(int writers) {
  SampleLedger ledger;
  std::vector<std::string> names = NamesOfMany(writers);
  std::reverse(names.begin(), names.end());  // a digest is in the order of the names
  for (const std::string& name : names) ledger.AddQueries(name, 1);
  return ledger;
}

v1::Seal MissingOf(int writers) {
  std::string sized;
  for (const std::string& name : NamesOfMany(writers)) {
    sized += static_cast<char>(name.size());
    sized += name;
  }
  v1::Seal seal;
  seal.set_missing_count(static_cast<uint64_t>(writers));
  seal.set_missing_digest(merkle::ToBytes(merkle::Sha256({sized})));
  return seal;
}

// What makes a ledger say more after a writer's end, and after its own.
void AddLate(SampleLedger& ledger) {
  ledger.Add("trainer", [](v1::LedgerEntry& e) {
    e.mutable_conflict()->set_incarnation("first");
    e.mutable_conflict()->set_reason("FENCED_OFF");
  });
  ledger.Add("trainer", [](v1::LedgerEntry& e) {
    e.mutable_late_event()->set_incarnation("first");
    e.mutable_late_event()->mutable_event()->mutable_sum_query()->set_round(9);
  });
  ledger.Add("trainer", [](v1::LedgerEntry& e) {
    e.mutable_spool_imported()->set_incarnation("first");
    e.mutable_spool_imported()->set_events(1);
  });
}

SampleLedger LateLedger() {
  SampleLedger ledger = ThreeEntries();
  AddLate(ledger);
  ledger.Close("trainer", 3);
  AddLate(ledger);
  ledger.Seal();
  AddLate(ledger);
  return ledger;
}

SampleLedger LedgerOfAllKinds() {
  SampleLedger ledger = ThreeEntries();
  ledger.Add("trainer", [](v1::LedgerEntry& e) { e.mutable_resume()->set_reason("restart"); });
  ledger.Add("trainer", [](v1::LedgerEntry& e) { e.mutable_note()->set_text("\u03b5 is small"); });
  ledger.Add("trainer", [](v1::LedgerEntry& e) {
    e.mutable_correction()->set_corrected_sequence(2);
    e.mutable_claimed_time()->set_seconds(0);
  });
  ledger.Add("", [](v1::LedgerEntry& e) {
    e.mutable_fork_notice()->set_child("projects/default/ledgers/child");
    e.mutable_fork_notice()->set_size(3);
  });
  ledger.Add("trainer", [](v1::LedgerEntry& e) {
    e.mutable_opened()->set_incarnation("second");
    e.mutable_opened()->set_previous("first");
    e.mutable_opened()->set_carries_epochs(true);
  });
  ledger.AddRound("trainer", 1);  // rounds are an incarnation's own
  ledger.Add("trainer", [](v1::LedgerEntry& e) {
    e.mutable_event()->mutable_sampling()->set_round(2);
    e.mutable_event()->mutable_sampling()->mutable_scheme()->mutable_random_allocation()->set_epoch(
        3);
  });
  ledger.Add("trainer",
             [](v1::LedgerEntry& e) { e.mutable_event()->mutable_rounds()->set_count(100); });
  ledger.Add("trainer", [](v1::LedgerEntry& e) {
    e.mutable_event()->mutable_mechanism()->mutable_gaussian()->set_noise_multiplier(2);
  });
  return ledger;
}

SampleLedger ForkedLedger() {
  SampleLedger ledger([](v1::LedgerEntry& e) {
    e.mutable_fork()->set_parent("projects/default/ledgers/parent");
    e.mutable_fork()->set_parent_size(3);
    e.mutable_fork()->set_parent_root(merkle::ToBytes(RootOf(ThreeEntries().entries)));
    e.mutable_fork()->mutable_declaration()->set_dataset("mnist");
  });
  ledger.AddRound("trainer", 1);
  return ledger;
}

// A copy of `original`, or of what `edit` makes of its import entry.
SampleLedger CopyOf(
    const SampleLedger& original,
    const std::function<void(v1::Import&)>& edit = [](v1::Import&) {}) {
  SampleLedger ledger([&](v1::LedgerEntry& e) {
    v1::Import& import = *e.mutable_import();
    import.set_origin(kSampleOrigin);
    import.set_size(original.entries.size());
    import.set_root_hash(merkle::ToBytes(RootOf(original.entries)));
    import.set_checkpoint(OlderCheckpoint(original, original.entries.size(), 9));
    v1::LedgerEntry first;
    first.ParseFromString(original.entries[0]);
    *import.mutable_declaration() =
        first.has_import() ? first.import().declaration() : first.declaration();
    edit(import);
  });
  for (const std::string& entry : original.entries) {
    ledger.Add("import", [&](v1::LedgerEntry& e) { e.mutable_imported()->set_entry(entry); });
  }
  return ledger;
}

class CaseList {
 public:
  std::vector<BundleCase> cases;

  BundleCase& Good(const std::string& name, std::string bundle) {
    cases.push_back({name, std::move(bundle), "", "", {}, ""});
    return cases.back();
  }
  BundleCase& Bad(const std::string& name, std::string bundle, const std::string& difference_class,
                  const std::string& message) {
    cases.push_back({name, std::move(bundle), difference_class, message, {}, ""});
    return cases.back();
  }
  BundleCase& BadMembers(const std::string& name, const SampleLedger& ledger,
                         const std::function<void(Members&)>& change,
                         const std::string& difference_class, const std::string& message) {
    Members members = MembersOf(SampleBundle(ledger));
    change(members);
    return Bad(name, TarOf(members), difference_class, message);
  }
  // One member's content changed.
  BundleCase& BadContent(const std::string& name, const SampleLedger& ledger,
                         const std::string& member, const std::function<void(std::string&)>& change,
                         const std::string& difference_class, const std::string& message) {
    return BadMembers(
        name, ledger,
        [&](Members& members) {
          for (SampleMember& m : members) {
            if (m.name == member) change(m.content);
          }
        },
        difference_class, message);
  }
  // Properly signed, and wrong all the same.
  BundleCase& BadEntry(const std::string& name, const SampleLedger& ledger,
                       const std::string& message) {
    return Bad(name, SampleBundle(ledger), "entry", message);
  }
};

void AddGood(CaseList& list) {
  list.Good("three entries", SampleBundle(ThreeEntries()));
  list.Good("one entry", SampleBundle(SampleLedger()));
  list.Good("sealed", SampleBundle(SealedLedger())).trusted = {1};
  list.Good("more writers missing than a seal names",
            SampleBundle(LedgerOfMany(501).Seal(MissingOf(501))));
  list.Good("500 missing writers named", SampleBundle(LedgerOfMany(500).Seal(NamesOfMany(500))));
  list.Good("more than 500 named, as servers did once",
            SampleBundle(LedgerOfMany(501).Seal(NamesOfMany(501))));
  list.Good("all kinds", SampleBundle(LedgerOfAllKinds()));
  list.Good("late", SampleBundle(LateLedger()));
  list.Good("fork", SampleBundle(ForkedLedger()));
  list.Good("budget", SampleBundle(BudgetLedger()));
  list.Good("budget with retired blocks", SampleBundle(BudgetWithBlocks()));
  list.Good("run under a budget", SampleBundle(BudgetedRun()));
  list.Good("long", SampleBundle(LongLedger()));
  for (const uint64_t queries : {253, 254, 509}) {
    list.Good(absl::StrCat(queries, " queries"),
              SampleBundle(ThreeEntries().AddQueries("worker-2", queries)));
  }
  SampleRegistry many = RegistryOf(ThreeEntries());
  many.keys.resize(256);
  std::iota(many.keys.begin(), many.keys.end(), 0);
  list.Good("256 keys", SampleBundle(ThreeEntries(), EvidenceOf(many)));
  list.Good("two levels full", SampleBundle(SampleLedger().AddQueries("t", 65535)));
  list.Good("three levels", SampleBundle(SampleLedger().AddQueries("t", 65536)));
  list.Good("callers", SampleBundle(LedgerOfCallers()));
  list.Good("copy with callers", SampleBundle(CopyOf(LedgerOfCallers())));
  list.Good("copy", SampleBundle(CopyOf(SealedLedger()).Close("import").Seal()));
  list.Good("copy of a copy", SampleBundle(CopyOf(CopyOf(ThreeEntries()))));
  SampleLedger begun = CopyOf(ThreeEntries());
  begun.entries.resize(3);
  list.Good("copy begun", SampleBundle(begun));

  SampleRegistry rotated = RegistryOf(ThreeEntries());
  rotated.keys = {1, 2, 3};
  list.Good("rotated keys", SampleBundle(ThreeEntries(), EvidenceOf(rotated)));
  list.Good("rotated, newest trusted", SampleBundle(ThreeEntries(), EvidenceOf(rotated)))
      .trusted = {3};
  // The ledger has not grown since the key changed: an older key signed its checkpoint.
  Evidence aged = EvidenceOf(rotated);
  aged.checkpoint = OlderCheckpoint(ThreeEntries(), 3, 1);
  list.Good("signed before the rotation", SampleBundle(ThreeEntries(), aged)).trusted = {3};
  list.Good("unknown key beside", SampleBundle(ThreeEntries())).trusted = {1, 5};
  SampleRegistry grown = RegistryOf(LongLedger());
  for (const uint64_t size : {1, 3, 256, 299})
    grown.earlier.push_back(RegisteredAt(LongLedger(), size));
  list.Good("registered five times", SampleBundle(LongLedger(), EvidenceOf(grown)));
  SampleRegistry late = RegistryOf(LateLedger());
  late.earlier = {RegisteredAt(LateLedger(), LateLedger().entries.size() - 2)};
  late.earlier[0].set_state(v1::SEALED);
  list.Good("sealed, then late entries", SampleBundle(LateLedger(), EvidenceOf(late)));
  list.Good("readable events", SampleBundle(ThreeEntries(), EvidenceOf(RegistryOf(ThreeEntries())),
                                            "{\"not\":\"verified\"}\n"));
  for (const uint64_t size : {0, 1, 255, 256, 299, 300}) {
    list.Good(absl::StrCat("older of ", size), SampleBundle(LongLedger())).older =
        OlderCheckpoint(LongLedger(), size);
  }
}

void AddBadEvidence(CaseList& list) {
  const SampleLedger ledger = ThreeEntries();
  const std::string other_key = SampleVerifierKey(5).ToText() + "\n";
  const std::string own_key = SampleVerifierKey(1).ToText() + "\n";
  const auto becomes = [](const std::string& text) { return [text](std::string& c) { c = text; }; };
  const auto flips = [](size_t from_end) {
    return [from_end](std::string& c) {
      char& byte = c[c.size() - from_end];
      byte = byte == 'A' ? 'B' : 'A';
    };
  };
  list.BadContent("no keys", ledger, "keys", becomes(""), "keys", "at least one key");
  list.BadContent(
      "no newline", ledger, "keys", [](std::string& c) { c.pop_back(); }, "keys",
      "end with a newline");
  list.BadContent("damaged key", ledger, "keys", flips(9), "keys", "line 1: must be a C2SP");
  list.BadContent("repeated key", ledger, "keys", becomes(own_key + own_key), "keys",
                  "line 2: repeats");
  merkle::VerifierKey witness = SampleVerifierKey(1);
  witness.type = merkle::SignatureType::kCosignature;
  list.BadContent("witness as key", ledger, "keys", becomes(witness.ToText() + "\n"), "keys",
                  "type 0x01");
  merkle::VerifierKey renamed = SampleVerifierKey(1);
  renamed.name = "other.example";
  list.BadContent("key of another name", ledger, "keys", becomes(own_key + renamed.ToText() + "\n"),
                  "keys", "keys named \"registry.example\"");
  list.BadContent("other key", ledger, "keys", becomes(other_key), "signature",
                  "registry/checkpoint: must be signed by a trusted key");
  list.BadContent("key too many", ledger, "keys", becomes(own_key + other_key), "format",
                  "here must stand registry/keys/1/entry");
  list.Bad("unknown signer", SampleBundle(ledger), "signature", "found registry.example+")
      .trusted = {5};

  list.BadContent("registry's text", ledger, "registry/checkpoint", becomes("registry.example\n"),
                  "registry", "registry/checkpoint: note");
  list.BadContent("registry's signature", ledger, "registry/checkpoint", flips(20), "signature",
                  "does not verify");
  list.BadContent(
      "registry's size", ledger, "registry/checkpoint",
      [](std::string& c) { c[c.find('\n') + 1] = '5'; }, "signature", "does not verify");
  list.BadContent("key's entry", ledger, "registry/keys/0/entry", flips(3), "keys",
                  "registry/keys/0/proof");
  list.BadContent("key's proof", ledger, "registry/keys/0/proof", becomes("c2sp.org"), "keys",
                  "registry/keys/0/proof: tlog-proof");
  list.BadContent("registered entry", ledger, "registry/entry", flips(1), "registry",
                  "registry/proof");
  list.BadMembers(
      "proof of another entry", ledger, [](Members& m) { m[6].content = m[4].content; }, "registry",
      "registry/proof");
  list.BadMembers(
      "key as registered entry", ledger,
      [](Members& m) {
        m[5].content = m[3].content;
        m[6].content = m[4].content;
      },
      "registry", "must register a ledger");
  list.BadContent(
      "proof under another checkpoint", ledger, "registry/proof",
      [&](std::string& c) {
        c = c.substr(0, c.find("\n\n") + 2) +
            SignedCheckpoint(kSampleRegistry, 3, RootOf(ledger.entries), 1);
      },
      "registry", "its checkpoint must be registry/checkpoint");
  SampleRegistry swapped = RegistryOf(ledger);
  swapped.keys = {1, 2};
  Evidence other_order = EvidenceOf(swapped);
  std::swap(other_order.key_entries[0], other_order.key_entries[1]);
  list.Bad("key entries swapped", SampleBundle(ledger, other_order), "keys",
           "registry/keys/0/entry");
  other_order.keys = SampleVerifierKey(2).ToText() + "\n" + SampleVerifierKey(1).ToText() + "\n";
  list.Bad("keys swapped", SampleBundle(ledger, other_order), "keys", "registry's entry 0");

  SampleRegistry many = RegistryOf(ledger);
  many.keys.resize(257);
  std::iota(many.keys.begin(), many.keys.end(), 0);
  list.Bad("257 keys", SampleBundle(ledger, EvidenceOf(many)), "keys", "more than 256 keys");

  list.BadContent("checkpoint's text", ledger, "checkpoint", becomes("text\n"), "checkpoint",
                  "checkpoint: note");
  list.BadContent("checkpoint's signature", ledger, "checkpoint", flips(20), "signature",
                  "checkpoint: note: the signature");
  list.BadContent("checkpoint by another key", ledger, "checkpoint",
                  becomes(OlderCheckpoint(ledger, 3, 5)), "signature", "signed by a trusted key");
  list.BadContent("checkpoint not registered", ledger, "checkpoint",
                  becomes(OlderCheckpoint(ledger, 2)), "registry", "size 3");
  SampleRegistry elsewhere = RegistryOf(ledger);
  elsewhere.checkpoint_origin = "registry.example/projects/default/ledgers/elsewhere";
  list.Bad("checkpoint of another ledger", SampleBundle(ledger, EvidenceOf(elsewhere)), "registry",
           "as registry/entry registers it");
  SampleRegistry foreign = RegistryOf(ledger);
  foreign.registered.set_origin("foreign.example/x");
  foreign.checkpoint_origin = "foreign.example/x";
  list.Bad("ledger of another registry", SampleBundle(ledger, EvidenceOf(foreign)), "registry",
           "a ledger of this registry");
  SampleRegistry stateless = RegistryOf(ledger);
  stateless.registered.clear_state();
  list.Bad("no state", SampleBundle(ledger, EvidenceOf(stateless)), "registry", "state");
  // What one reader skips or merges, and another takes the last of.
  SampleRegistry twice = RegistryOf(ledger);
  twice.after_registered = std::string("\xb2\x01\x00", 3);  // field 22, empty
  list.Bad("registered twice", SampleBundle(ledger, EvidenceOf(twice)), "registry", "one spelling");
  SampleRegistry unknown = RegistryOf(ledger);
  unknown.after_registered = "\xf8\x01\x01";  // field 31
  list.Bad("registered and unknown", SampleBundle(ledger, EvidenceOf(unknown)), "registry",
           "one spelling");
}

// A registry that signs two heads of one ledger, and a bundle of each.
void AddBadHeads(CaseList& list) {
  const SampleLedger ledger = LongLedger();
  const auto with = [&](const std::function<void(SampleRegistry&)>& change) {
    SampleRegistry registry = RegistryOf(ledger);
    change(registry);
    return SampleBundle(ledger, EvidenceOf(registry));
  };
  v1::Registered rewritten = RegisteredAt(ledger, 200);
  rewritten.set_root_hash(std::string(32, 'x'));
  v1::Registered sealed = RegisteredAt(ledger, 200);
  sealed.set_state(v1::SEALED);
  v1::Registered longer = RegisteredAt(ledger, 300);
  longer.set_size(400);
  const auto earlier = [&](const v1::Registered& registered) {
    return with([&](SampleRegistry& r) { r.earlier = {RegisteredAt(ledger, 3), registered}; });
  };
  list.Bad("no map", with([](SampleRegistry& r) { r.with_map = false; }), "map",
           "registry/map/entry: is missing");
  list.Bad("registered later", with([&](SampleRegistry& r) { r.later = {longer}; }), "map",
           "knows a later head");
  list.Bad("map of before the last entry", with([&](SampleRegistry& r) {
             r.later = {longer};
             r.map_before_later = true;
           }),
           "map", "the registry's last, found entry");
  list.Bad("registered again with another root", with([&](SampleRegistry& r) {
             r.later = {r.registered};
             r.later[0].set_root_hash(std::string(32, 'x'));
           }),
           "map", "knows a later head");
  list.Bad("rewritten while it grew", earlier(rewritten), "map",
           "registry/points, point 1 (entry 3 of the registry): must be");
  list.Bad("shrunk", earlier(longer), "map", "point 2: size must be greater than 400");
  list.Bad("unsealed", earlier(sealed), "map", "point 2: state must stay SEALED");

  const auto becomes = [](const std::string& text) { return [text](std::string& c) { c = text; }; };
  list.BadContent("map entry", ledger, "registry/map/entry", becomes("entry"), "map",
                  "registry/map/proof");
  list.BadContent("map proof", ledger, "registry/map/proof", becomes("c2sp.org"), "map",
                  "registry/map/proof: tlog-proof");
  list.BadContent("no path", ledger, "registry/map/path", becomes(""), "map", "registry/map/path");
  list.BadContent(
      "path to elsewhere", ledger, "registry/map/path", [](std::string& c) { c.back() ^= 1; },
      "map", "knows a later head");
  list.BadContent("no points", ledger, "registry/points", becomes(""), "map", "last point: must");
  list.BadContent(
      "point cut", ledger, "registry/points", [](std::string& c) { c.pop_back(); }, "map",
      "points of 49 bytes");
  list.BadContent(
      "another point", ledger, "registry/points", [](std::string& c) { c[20] ^= 1; }, "map",
      "last point: must");
  SampleRegistry twice = RegistryOf(ledger);
  twice.earlier = {RegisteredAt(ledger, 3)};
  Members members = MembersOf(SampleBundle(ledger, EvidenceOf(twice)));
  for (SampleMember& member : members)
    if (member.name == "registry/points") member.content.erase(0, registry::kPointBytes);
  list.Bad("point left out", TarOf(members), "map", "another past");
  // The entry that registers the ledger, as if it were the map's.
  members = MembersOf(SampleBundle(ledger));
  const auto content = [&](const std::string& name) -> std::string& {
    for (SampleMember& member : members)
      if (member.name == name) return member.content;
    return members[0].content;
  };
  content("registry/map/entry") = content("registry/entry");
  content("registry/map/proof") = content("registry/proof");
  list.Bad("no root of a map", TarOf(members), "map", "must have the root of a map");
}

void AddBadTrees(CaseList& list) {
  const SampleLedger ledger = LongLedger();
  const auto flip = [](size_t at) { return [at](std::string& c) { c.at(at) ^= 1; }; };
  list.BadContent("entry flipped", ledger, "tile/entries/000", flip(40), "tile", "(entry 0)");
  list.BadContent(
      "last entry flipped", ledger, "tile/entries/001.p/44", [](std::string& c) { c.back() ^= 1; },
      "tile", "tile/0/001.p/44, hash 43 (entry 299)");
  list.BadContent("length flipped", ledger, "tile/entries/000", flip(0), "tile",
                  "tile/entries/000");
  list.BadContent("hash flipped", ledger, "tile/0/000", flip(32 * 17), "tile",
                  "tile/0/000, hash 17 (entry 17)");
  list.BadContent("upper hash flipped", ledger, "tile/1/000.p/1", flip(31), "tile",
                  "tile/1/000.p/1, hash 0: must be");
  list.BadContent(
      "tile cut", ledger, "tile/0/000", [](std::string& c) { c.resize(32); }, "tile",
      "must be 8192 bytes");
  list.BadContent(
      "entries with more behind", ledger, "tile/entries/001.p/44",
      [](std::string& c) { c += "more"; }, "tile", "tile/entries/001.p/44: ");
  list.BadMembers(
      "entries of another bundle", ledger, [](Members& m) { m[12].content = m[14].content; },
      "tile", "tile/entries/000");
  // All of it another ledger's, consistent in itself.
  SampleLedger other = LongLedger();
  other.entries.back() = other.entries.front();
  const Members others = MembersOf(SampleBundle(other));
  list.BadMembers(
      "another tree", ledger,
      [&](Members& m) { std::copy(others.begin() + 12, others.end(), m.begin() + 12); }, "entry",
      "entry 299");
  SampleLedger same_rules = ThreeEntries();
  same_rules.AddQueries("worker-3", 297);
  const Members plausible = MembersOf(SampleBundle(same_rules));
  list.BadMembers(
      "another tree that keeps the rules", ledger,
      [&](Members& m) { std::copy(plausible.begin() + 12, plausible.end(), m.begin() + 12); },
      "root", "root of 300 entries: must be");

  SampleRegistry open = RegistryOf(SealedLedger());
  open.registered.set_state(v1::OPEN);
  list.Bad("sealed, registered open", SampleBundle(SealedLedger(), EvidenceOf(open)), "seal",
           "no SEAL");
  SampleRegistry sealed = RegistryOf(ThreeEntries());
  sealed.registered.set_state(v1::SEALED);
  list.Bad("open, registered sealed", SampleBundle(ThreeEntries(), EvidenceOf(sealed)), "seal",
           "must be SEAL");

  SampleLedger past = LongLedger();
  past.entries[100] = past.entries[101];
  list.Bad("older of another past", SampleBundle(ledger), "older", "root of the first 200").older =
      OlderCheckpoint(past, 200);
  list.Bad("older is larger", SampleBundle(ThreeEntries()), "older", "at most 3").older =
      OlderCheckpoint(ledger, 4);
  list.Bad("older by another key", SampleBundle(ledger), "older", "no known key").older =
      OlderCheckpoint(ledger, 200, 5);
  list.Bad("older of another ledger", SampleBundle(ledger), "older", "origin").older =
      SignedCheckpoint(kSampleRegistry, 200, RootOf(past.entries), 1);
}

void AddBadEntries(CaseList& list) {
  using Entry = v1::LedgerEntry;
  const auto bad = [&](const std::string& name, const std::string& writer,
                       const SampleLedger::Edit& edit, const std::string& message) {
    list.BadEntry(name, ThreeEntries().Add(writer, edit), message);
  };
  const auto note = [](Entry& e) { e.mutable_note()->set_text("x"); };
  list.BadEntry("begins with an event", SampleLedger([](Entry& e) {
                  e.set_writer("t");
                  e.mutable_event()->mutable_rounds();
                }),
                "entry 0: a ledger must begin");
  list.BadEntry("fork without root", SampleLedger([](Entry& e) {
                  e.mutable_fork()->set_parent("p");
                  e.mutable_fork()->set_parent_size(1);
                  e.mutable_fork()->mutable_declaration();
                }),
                "entry 0: its body must be well-formed");
  list.BadEntry("not an entry", ThreeEntries().AddBytes("entry"), "entry 3: must be");
  list.BadEntry("empty entry", ThreeEntries().AddBytes(""), "entry 3: must have a body");
  list.BadEntry("field twice", ThreeEntries().AddBytes(ThreeEntries().entries[2] + "\x08\x03"),
                "entry 3: must be a serialised LedgerEntry");
  bad(
      "gap", "t", [&](Entry& e) { note(e), e.set_sequence(4); }, "sequence: must be 3, found 4");
  bad(
      "sequence again", "t", [&](Entry& e) { note(e), e.set_sequence(2); }, "must be 3, found 2");
  bad(
      "counter", "trainer", [&](Entry& e) { note(e), e.set_writer_counter(3); },
      "writer_counter: must be 2, found 3");
  bad(
      "time goes back", "t",
      [&](Entry& e) { note(e), e.mutable_recorded_time()->set_seconds(1'700'000'040 - 60); },
      "must not go back");
  bad(
      "second", "t",
      [&](Entry& e) { note(e), e.mutable_recorded_time()->set_seconds(1'800'000'001); },
      "whole minutes");
  bad(
      "nanosecond", "t", [&](Entry& e) { note(e), e.mutable_claimed_time()->set_nanos(1); },
      "whole minutes");
  bad(
      "no time", "t", [&](Entry& e) { note(e), e.clear_recorded_time(); }, "recorded_time");
  bad(
      "no body", "t", [](Entry&) {}, "must have a body");
  bad("writer's name", "a b", note, "[A-Za-z0-9._-]");
  bad("nobody's note", "", note, "the server's own");
  bad(
      "writer's seal", "t", [](Entry& e) { e.mutable_seal(); }, "the server's own");
  bad(
      "second declaration", "", [](Entry& e) { e.mutable_declaration(); }, "stands at 0 only");
  bad(
      "registry's entry", "t", [](Entry& e) { e.mutable_key_rotate(); }, "in the registry");
  bad(
      "event of no kind", "trainer", [](Entry& e) { e.mutable_event(); },
      "Event of one known kind");
  bad(
      "round goes back", "trainer",
      [](Entry& e) { e.mutable_event()->mutable_sum_query()->set_round(6); },
      "must be at least 7, the last round of writer trainer, got 6");
  bad(
      "round begins twice", "trainer",
      [](Entry& e) { e.mutable_event()->mutable_sampling()->set_round(7); },
      "round 7 of writer trainer has begun already");
  bad(
      "opened without a token", "trainer", [](Entry& e) { e.mutable_opened(); },
      "opened.incarnation: must be 1 to 64 bytes");
  bad(
      "opened by a token that is none", "trainer",
      [](Entry& e) { e.mutable_opened()->set_incarnation("a/b"); }, "opened.incarnation: must be");
  bad(
      "late event of nobody", "t",
      [](Entry& e) { e.mutable_late_event()->mutable_event()->mutable_rounds(); },
      "late entries are of a writer that has written");
  bad(
      "late event without an event", "trainer", [](Entry& e) { e.mutable_late_event(); },
      "its late_event must be well-formed");
  bad(
      "conflict of nobody", "", [](Entry& e) { e.mutable_conflict(); }, "the server's own");
  bad(
      "correction of itself", "t",
      [](Entry& e) { e.mutable_correction()->set_corrected_sequence(3); }, "of an earlier entry");
  bad(
      "fork of what is not there", "",
      [](Entry& e) {
        e.mutable_fork_notice()->set_child("c");
        e.mutable_fork_notice()->set_size(4);
      },
      "1..3 entries, found 4");
  bad(
      "wrong count", "trainer", [](Entry& e) { e.mutable_writer_closed()->set_entry_count(4); },
      "entry_count: must be 3, the entries of writer trainer with this one, got 4");
  for (const auto& cases : {BadCallers(), BadGrants()}) {
    for (const RuleCase& one : cases) list.BadEntry(one.name, one.ledger, one.message);
  }
  list.BadEntry("after closing", ThreeEntries().Close("trainer").AddRound("trainer", 8),
                "entry 4: its writer has closed");
  list.BadEntry("after the seal", ThreeEntries().Close("trainer").Seal().AddRound("t", 1),
                "entry 5: nothing but conflicts and late entries may follow SEAL");
  list.BadEntry("seal without a writer", ThreeEntries().Seal(), "no other: \"trainer\"");
  list.BadEntry("seal names a closed writer", ThreeEntries().Close("trainer").Seal({"trainer"}),
                "no other: \"trainer\"");
  list.BadEntry("seal counts 500 writers", LedgerOfMany(500).Seal(MissingOf(500)),
                "a seal must name up to 500 missing writers, and not count them");
  const auto counted = [&](const char* name, const std::function<void(v1::Seal&)>& edit,
                           const std::string& message) {
    v1::Seal seal = MissingOf(501);
    edit(seal);
    list.BadEntry(name, LedgerOfMany(501).Seal(seal), message);
  };
  counted(
      "seal counts too few", [](v1::Seal& s) { s.set_missing_count(500); },
      "missing_count must be the number of writers that have not closed, 501, found 500");
  counted(
      "seal with a digest alone", [](v1::Seal& s) { s.clear_missing_count(); }, "501, found 0");
  counted(
      "seal with another digest", [](v1::Seal& s) { (*s.mutable_missing_digest())[31] ^= 1; },
      "missing_digest must be that of the writers");
  counted(
      "seal without a digest", [](v1::Seal& s) { s.clear_missing_digest(); },
      "missing_digest must be that of the writers");
  counted(
      "seal names and counts", [](v1::Seal& s) { s.add_missing_writers("w-100"); }, "not both");
  list.BadEntry("seal counts a closed writer",
                LedgerOfMany(501).AddRound("closed", 1).Close("closed").Seal(MissingOf(502)),
                "501, found 502");
  bad(
      "copied entry in an original", "t",
      [](Entry& e) { e.mutable_imported()->set_entry(ThreeEntries().entries[0]); },
      "stand in a copy");

  list.BadEntry("event in a copy", CopyOf(ThreeEntries()).AddRound("t", 1), "stand in a copy");
  SampleLedger wrong_inside = ThreeEntries();
  wrong_inside.entries[2] = wrong_inside.entries[1];
  list.BadEntry("original breaks a rule", CopyOf(wrong_inside), "original entry 2, sequence");
  list.BadEntry(
      "too many copied",
      CopyOf(ThreeEntries())
          .Add("import",
               [](Entry& e) { e.mutable_imported()->set_entry(ThreeEntries().entries[0]); }),
      "no more than the 3 entries");
  const auto other_root = [](v1::Import& import) {
    import.set_root_hash(merkle::ToBytes(RootOf({"other"})));
    import.set_checkpoint(SignedCheckpoint(kSampleOrigin, 3, RootOf({"other"}), 9));
  };
  list.Bad("copies with another root", SampleBundle(CopyOf(ThreeEntries(), other_root)), "import",
           "entry 3: the copied entries");
  const auto other_adjacency = [](v1::Import& import) {
    import.mutable_declaration()->set_adjacency(v1::ZERO_OUT);
  };
  list.Bad("copy declares something else", SampleBundle(CopyOf(ThreeEntries(), other_adjacency)),
           "import", "entry 1: the original must declare");
  list.Bad("copy with another checkpoint",
           SampleBundle(CopyOf(ThreeEntries(), [](v1::Import& i) { i.set_size(2); })), "import",
           "a signed note of its origin");
}

void AddBadFiles(CaseList& list) {
  const SampleLedger ledger = ThreeEntries();
  const std::string good = SampleBundle(ledger);
  list.Bad("empty file", "", "format", "start of the file");
  list.Bad("text", std::string(600, 'x'), "format", "header of a tar member");
  list.Bad("only the end", std::string(1024, '\0'), "format", "README is missing");
  list.Bad("more behind", good + '\0', "format", "nothing after them");
  list.Bad("end cut", good.substr(0, good.size() - 512), "format", "end of the file");
  list.BadMembers(
      "without README", ledger, [](Members& m) { m.erase(m.begin()); }, "format",
      "here must stand README");
  list.BadMembers(
      "without a proof", ledger, [](Members& m) { m.erase(m.begin() + 6); }, "format",
      "here must stand registry/proof");
  list.BadMembers(
      "without the last tile", ledger, [](Members& m) { m.pop_back(); }, "format",
      "tile/0/000.p/3 is missing");
  list.BadMembers(
      "twice", ledger, [](Members& m) { m.insert(m.begin() + 1, m[1]); }, "format",
      "here must stand registry/checkpoint");
  list.BadMembers(
      "order", ledger, [](Members& m) { std::swap(m[5], m[7]); }, "format",
      "here must stand registry/entry");
  list.BadMembers(
      "tile before its entries", ledger, [](Members& m) { std::swap(m[12], m[13]); }, "format",
      "here must stand tile/entries/000.p/3");
  list.BadMembers(
      "another file", ledger,
      [](Members& m) {
        m.push_back({"extra", "x"});
      },
      "format", "here must stand events.jsonl");
  list.BadMembers(
      "statement twice", ledger,
      [](Members& m) {
        m.push_back({"statement.json", "{}"});
        m.push_back({"statement.json", "{}"});
      },
      "format", "nothing may stand here");
  list.BadMembers(
      "path to elsewhere", ledger, [](Members& m) { m[0].name = "../README"; }, "format",
      "\"../README\"");
  list.BadMembers(
      "absolute path", ledger, [](Members& m) { m[0].name = "/etc/passwd"; }, "format",
      "here must stand README");
  list.BadMembers(
      "too large", ledger, [](Members& m) { m[1].content.resize((1 << 20) + 1, 'k'); }, "format",
      "keys: must be at most 1048576 bytes");
  list.BadMembers(
      "tile too large", ledger, [](Members& m) { m[13].content.resize(97); }, "format",
      "must be at most 96 bytes");
  // Headers that other programs write: a link, a folder, another owner, a time, an extension.
  const auto header = [&](const std::string& name, size_t at, const std::string& bytes) {
    std::string tar = good;
    tar.replace(at, bytes.size(), bytes);
    unsigned sum = 8 * ' ';
    for (size_t i = 0; i < 512; ++i) {
      if (i < 148 || i >= 156) sum += static_cast<unsigned char>(tar[i]);
    }
    std::string octal(6, '0');
    for (int i = 5; i >= 0; --i, sum /= 8)
      octal[static_cast<size_t>(i)] = static_cast<char>('0' + sum % 8);
    list.Bad(name, tar.replace(148, 6, octal), "format", "its tar header must be");
  };
  header("symbolic link", 156, "2");
  header("hard link", 156, "1");
  header("folder", 156, "5");
  header("extended header", 156, "x");
  header("long name", 156, "L");
  header("owner", 108, "0001750");
  header("time", 136, "14000000000");
  header("link name", 157, "/etc/passwd");
  header("prefix", 345, "../..");
  header("executable", 100, "0000755");
  std::string huge = good;
  huge.replace(124, 11, "77777777777");
  list.Bad("size without end", huge, "format", "its tar header must be");
  header("size in another base", 124, std::string("\x80\0\0\0\0\0\0\0\0\0\xff", 11));
  list.cases.back().message = "header of a tar member with a name and a size";
  std::string dirty = good;
  dirty[dirty.rfind("tile/entries/000") - 1] = 'x';
  list.Bad("padding", dirty, "format", "followed by zeros");
}

}  // namespace

std::vector<BundleCase> BundleCases() {
  CaseList list;
  AddGood(list);
  AddBadEvidence(list);
  AddBadHeads(list);
  AddBadTrees(list);
  AddBadEntries(list);
  AddBadFiles(list);
  return std::move(list.cases);
}

}  // namespace dpledger::bundle
