// A whole bundle: the tar file and, member by member, the evidence and the tree. Signatures stop
// what was changed behind them; fuzz_entries, fuzz_note, fuzz_proof and fuzz_map try those parts by
// themselves.
#include <algorithm>

#include "ledger_store/bundle/verifier.h"
#include "tests/fuzz/target.h"

namespace dpledger::fuzz {
namespace {

class TextSource : public bundle::ByteSource {
 public:
  explicit TextSource(std::string_view text) : rest_(text) {}
  absl::StatusOr<size_t> Read(char* into, size_t max_bytes) override {
    const size_t n = std::min(max_bytes, rest_.size());
    std::copy_n(rest_.data(), n, into);
    rest_.remove_prefix(n);
    return n;
  }

 private:
  std::string_view rest_;
};

// The tar file has one spelling: what the reader accepts is what a writer of these members writes.
void CheckContainer(std::string_view input) {
  if (input.size() % bundle::kBlockBytes != 0) return;  // is refused: saves the reader's buffer
  TextSource source(input);
  bundle::UstarReader reader(&source);
  std::string again;
  while (true) {
    const auto member = reader.Next();
    if (!member.ok()) return;
    if (!member->has_value()) break;
    if ((*member)->size > input.size()) return;  // its content is missing, and would take memory
    const auto content = reader.Content();
    if (!content.ok()) return;
    const auto header = bundle::UstarHeader((*member)->name, content->size());
    again.append(header.data(), header.size());
    again += *content;
    again.append(bundle::PaddingOf(content->size()), '\0');
  }
  FUZZ_CHECK(again.append(2 * bundle::kBlockBytes, '\0') == input);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  KeepProtobufQuiet();
  const std::string_view input = Text(data, size);
  CheckContainer(input);
  TextSource source(input);
  uint64_t entries = 0;
  bundle::VerifierOptions options;
  options.root_sizes = {1, 2};
  options.entries = [&entries](std::string_view) {
    ++entries;
    return absl::OkStatus();
  };
  bundle::Verifier verifier(std::move(options));
  if (bundle::VerifyBundle(source, verifier).ok()) {
    FUZZ_CHECK(verifier.rules().size() == verifier.evidence().checkpoint().size);
    FUZZ_CHECK(entries <= verifier.rules().size());
    FUZZ_CHECK(verifier.RootAt(1).has_value());
  }
  return 0;
}

}  // namespace dpledger::fuzz
