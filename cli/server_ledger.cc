#include "cli/server_ledger.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cli/progress.h"
#include "ledger_store/bundle/members.h"
#include "ledger_store/bundle/served_ledger.h"

namespace dpledger::cli {

absl::Status VerifyLedger(const std::string& ledger, ServerCalls& server,
                          bundle::Verifier& verifier) {
  ASSIGN_OR_RETURN(bundle::Evidence evidence, bundle::ReadEvidence(ledger, server));
  const auto give = [&verifier](const std::string& name, std::string content) -> absl::Status {
    ASSIGN_OR_RETURN(const bool wanted, verifier.Begin(name, content.size()));
    return wanted ? verifier.Content(std::move(content)) : absl::OkStatus();
  };
  RETURN_IF_ERROR(give(bundle::kReadmeMember, ""));
  RETURN_IF_ERROR(give(bundle::kKeysMember, std::move(evidence.keys)));
  RETURN_IF_ERROR(give(bundle::kRegistryCheckpointMember, std::move(evidence.registry_checkpoint)));
  for (size_t i = 0; i < evidence.key_entries.size(); ++i) {
    RETURN_IF_ERROR(give(bundle::KeyEntryMember(i), std::move(evidence.key_entries[i].entry)));
    RETURN_IF_ERROR(give(bundle::KeyProofMember(i), std::move(evidence.key_entries[i].proof)));
  }
  RETURN_IF_ERROR(give(bundle::kRegisteredMember, std::move(evidence.registered)));
  RETURN_IF_ERROR(give(bundle::kRegisteredProofMember, std::move(evidence.registered_proof)));
  if (evidence.has_map()) {
    RETURN_IF_ERROR(give(bundle::kMapEntryMember, std::move(evidence.map_entry)));
    RETURN_IF_ERROR(give(bundle::kMapProofMember, std::move(evidence.map_proof)));
    RETURN_IF_ERROR(give(bundle::kMapPathMember, std::move(evidence.map_path)));
    RETURN_IF_ERROR(give(bundle::kPointsMember, std::move(evidence.points)));
  }
  RETURN_IF_ERROR(give(bundle::kCheckpointMember, std::move(evidence.checkpoint)));

  Progress progress("verified");
  bundle::EntryStream stream(ledger, &server);
  while (const std::optional<std::string> path = verifier.Next()) {
    ASSIGN_OR_RETURN(const merkle::ParsedTilePath tile, merkle::ParseTilePath(*path));
    std::string content;
    if (tile.entries) {
      std::vector<std::string> entries(static_cast<size_t>(tile.tile.width));
      for (std::string& entry : entries) {
        ASSIGN_OR_RETURN(entry, stream.Next());
      }
      ASSIGN_OR_RETURN(content, merkle::EncodeEntryBundle(entries));
      progress.Show(verifier.rules().size(), verifier.evidence().checkpoint().size);
    } else {
      v1::GetTileRequest request;
      request.set_log(ledger);
      request.set_path(*path);
      ASSIGN_OR_RETURN(v1::GetTileResponse answer, server.Ask(request));
      content = std::move(*answer.mutable_content());
    }
    RETURN_IF_ERROR(give(*path, std::move(content)));
  }
  return verifier.End();
}

}  // namespace dpledger::cli
