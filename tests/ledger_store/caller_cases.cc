#include "tests/ledger_store/caller_cases.h"

#include "absl/strings/str_cat.h"

namespace dpledger::bundle {
namespace {

SampleLedger::Edit NoteBy(const std::string& caller, const std::string& request_id) {
  return [=](v1::LedgerEntry& entry) {
    entry.set_caller(caller);
    entry.set_request_id(request_id);
    entry.mutable_note()->set_text("x");
  };
}

SampleLedger::Edit ConflictBy(const std::string& caller, const std::string& request_id,
                              const std::string& incarnation) {
  return [=](v1::LedgerEntry& entry) {
    entry.set_caller(caller);
    entry.set_request_id(request_id);
    entry.mutable_conflict()->set_incarnation(incarnation);
    entry.mutable_conflict()->set_reason("FENCED_OFF");
  };
}

SampleLedger::Edit ForkNoticeBy(const std::string& caller) {
  return [=](v1::LedgerEntry& entry) {
    entry.set_caller(caller);
    entry.set_request_id("fork");
    entry.mutable_fork_notice()->set_child("projects/default/ledgers/child");
    entry.mutable_fork_notice()->set_size(1);
  };
}

}  // namespace

SampleLedger LedgerOfCallers() {
  const std::string ci = "oidc:https://login.example#repo:x%20y";
  SampleLedger ledger([](v1::LedgerEntry& entry) {
    entry.set_caller("token:creator");
    v1::Declaration& declaration = *entry.mutable_declaration();
    declaration.set_dataset("mnist");
    declaration.set_unit_of_privacy("example");
    declaration.set_adjacency(v1::ADD_OR_REMOVE_ONE);
    declaration.set_parameters(v1::FIXED);
  });
  // A writer that is older than callers are, and that then gets an owner.
  ledger.Add("old", NoteBy("", "r1")).Add("old", NoteBy(ci, "r2")).Add("old", NoteBy("", "r2"));
  // The same id is another request of another writer.
  ledger.Add("ci", NoteBy(ci, "r3")).Add("ci", NoteBy("", "r3")).Add("old", NoteBy("", "r3"));
  ledger.Add("old", NoteBy(ci, "r4"));
  // Conflicts stand alone, also before a request of the same id.
  ledger.Add("ci", ConflictBy(ci, "r5", "i1")).Add("ci", ConflictBy(ci, "r5", "i2"));
  ledger.Add("ci", NoteBy(ci, "r5"));
  // So do the server's own entries, which are nobody's.
  ledger.Add("", ForkNoticeBy("token:a")).Add("", ForkNoticeBy("token:b"));
  return ledger.Add("longest", NoteBy(std::string(512, '~'), "r6"));
}

std::vector<RuleCase> BadCallers() {
  const std::string place = "caller stands in the first entry of a request alone";
  const std::string owner = "entry 2: writer: t belongs to another caller in this ledger";
  const SampleLedger first = SampleLedger().Add("t", NoteBy("token:a", "r"));
  const auto then = [](SampleLedger ledger, const SampleLedger::Edit& edit) {
    return ledger.Add("t", edit);
  };
  std::vector<RuleCase> cases = {
      {"caller in the midst of a request", then(first, NoteBy("token:a", "r")), place},
      {"caller after the first entry",
       then(SampleLedger().Add("t", NoteBy("", "r")), NoteBy("token:a", "r")), place},
      {"writer of another caller", then(first, NoteBy("token:b", "r2")), owner},
      {"conflict of another caller", then(first, ConflictBy("token:b", "r2", "i")), owner}};
  const std::string rule = "caller must be 1 to 512 bytes";
  for (const char* name : {"a b", "a\n", "a\"", "a\\", "a*", "\xc3\xa4", "a\x7f"}) {
    cases.push_back({absl::StrCat("caller ", name), then({}, NoteBy(name, "r")), rule});
  }
  cases.push_back({"caller of 513 bytes", then({}, NoteBy(std::string(513, 'a'), "r")), rule});
  // The same entry with a field 7 that is there and empty.
  std::string empty = then({}, NoteBy("", "r")).entries.back();
  empty.insert(empty.find("\x6a\x03\x0a\x01x"), std::string("\x3a\x00", 2));
  cases.push_back(
      {"empty caller", SampleLedger().AddBytes(empty), "must be a serialised LedgerEntry"});
  return cases;
}

}  // namespace dpledger::bundle
