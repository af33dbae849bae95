#include "cli/difference_advice.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger_store/bundle/difference.h"

namespace dpledger::cli {
namespace {

struct Advice {
  const char* means;
  const char* to_do;
};

const std::map<std::string, Advice>& Advices() {
  using namespace bundle;  // NOLINT: the classes
  static constexpr char kAskAgain[] =
      "Get the file again from where it came. If it is the same there, tell whoever runs the "
      "server, "
      "and believe nothing that it says";
  static const auto& advices = *new std::map<std::string, Advice>{
      {kFormatClass,
       {"The file is no bundle, or was cut or changed on its way.",
        "Get it again, or make it with `dpledger ledger export`"}},
      {kKeysClass, {"The keys in it are not those that the registry names as its own.", kAskAgain}},
      {kSignatureClass,
       {"The registry's checkpoint, or the ledger's, is not signed by whom you believe: it is of "
        "another server, of a key that was changed since, or made up.",
        "Compare the key that you gave with the one that the server's owner shows "
        "(it is in the "
        "server's log at each start); a witness's key is asked for only if you gave one"}},
      {kRegistryClass,
       {"The registry that was signed does not have this ledger as the file shows it.", kAskAgain}},
      {kMapClass,
       {"Nothing shows that this is the registry's latest record of the ledger, or the registry "
        "has "
        "signed another one: somebody may be shown another history than you.",
        "Ask for a bundle that is exported now. If that says the same, keep both files: they are "
        "the evidence"}},
      {kCheckpointClass,
       {"The ledger's checkpoint cannot be read, or is another ledger's.", kAskAgain}},
      {kTileClass, {"Entries or hashes were changed after they were signed.", kAskAgain}},
      {kRootClass, {"Entries were changed, added or taken out after they were signed.", kAskAgain}},
      {kEntryClass,
       {"What was signed breaks the rules of ledgers: no server that keeps them can have written "
        "it.",
        "Do not rely on any number about this ledger; tell whoever runs the server"}},
      {kImportClass,
       {"The copy in it is not the ledger that it claims to be a copy of.",
        "Ask for a bundle of the original"}},
      {kSealClass,
       {"The registry and the entries do not agree on whether the ledger is closed.", kAskAgain}},
      {kOlderClass,
       {"What you kept from an earlier verification is not the beginning of this ledger: its past "
        "was "
        "rewritten, or it is another ledger.",
        "Keep both: together they show it to anybody who knows the server's key"}},
      {kBudgetClass,
       {"The budget and the run tell of different grants, or the run is under another budget.",
        "Export both anew from one server. If they still differ, keep the files: they show it to "
        "anybody who knows the server's key"}},
      {kForkClass,
       {"The ledger's parent is not the one that it carries on from.",
        "Give the bundle of the parent that the ledger names"}},
      {kEventsClass,
       {"The readable text in the file does not say what was signed. Who reads it is misled.",
        "Read the entries with `dpledger ledger read` or export the ledger anew"}},
      {kStatementClass,
       {"The epsilon that is claimed in the file is not what the signed entries come to.",
        "Use the epsilon that `dpledger ledger verify --delta` computes from the entries"}},
      {kDocumentClass,
       {"Nobody answers for this document, or not any more.",
        "Ask whoever gave it to you for one that stands: `dpledger statements list` has them"}},
      {kTrustClass,
       {"Without a key from elsewhere, a ledger that somebody made up looks the same.",
        "Get the key from the server's owner, not with the file, and give it with --key or "
        "--key-file "
        "(or --pin FILE, to keep it). --self-signed does without"}},
  };
  return advices;
}

}  // namespace

absl::Status WithAdvice(const absl::Status& status) {
  const auto found = Advices().find(bundle::ClassOf(status));
  if (found == Advices().end()) return status;
  return WithReason(
      absl::Status(status.code(),
                   absl::StrCat(status.message(), "\n  This means: ", found->second.means,
                                "\n  What to do: ", found->second.to_do, ".")),
      ReasonOf(status));
}

}  // namespace dpledger::cli
