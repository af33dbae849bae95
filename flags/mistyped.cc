#include "flags/mistyped.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace dpledger::flags {
namespace {

// A word that would have been understood, and how it is spelled in full.
struct Known {
  std::string word;
  std::string spelled;
};

// How many letters to add, drop, change, or swap with their neighbour (optimal string alignment).
size_t TypingErrors(const std::string& a, const std::string& b) {
  // Rows of the table of errors between the first i letters of `a` and the first j of `b`.
  std::vector<size_t> before_last, last, row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, std::exchange(row, std::vector<size_t>(b.size() + 1, i)));
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// "; did you mean X?" for the known word with the fewest typing errors, the first of several. At
// most a third of its letters may be wrong: else the guess would be a random one.
std::string DidYouMean(const std::string& word, const std::vector<Known>& known) {
  const Known* nearest = nullptr;
  size_t least = 0;
  for (const Known& one : known) {
    const size_t errors = TypingErrors(word, one.word);
    if (errors > std::max<size_t>(1, one.word.size() / 3)) continue;
    if (nearest != nullptr && errors >= least) continue;
    nearest = &one;
    least = errors;
  }
  return nearest == nullptr ? "" : absl::StrCat("; did you mean ", nearest->spelled, "?");
}

// What other libraries call the same, and what it is here.
constexpr std::pair<absl::string_view, absl::string_view> kElsewhere[] = {
    {"--target-delta", "--delta"},
    {"--target_delta", "--delta"},
    {"--target-epsilon", "--epsilon"},
    {"--target_epsilon", "--epsilon"},
    {"--sigma", "--noise-multiplier"},
    {"--noise", "--noise-multiplier"},
    {"--noise_multiplier", "--noise-multiplier"},
    {"--sample-rate", "--sampling-probability"},
    {"--sample_rate", "--sampling-probability"},
    {"--q", "--sampling-probability"},
    {"-q", "--sampling-probability"},
    {"--sampling_probability", "--sampling-probability"},
    {"--batch_size", "--batch-size"},
    {"--n", "--population"},
    {"-n", "--population"},
    {"--N", "--population"},
    {"--num-examples", "--population"},
    {"--number-of-examples", "--population"},
    {"--number_of_examples", "--population"},
    {"--num-epochs", "--epochs"},
    {"--num_epochs", "--epochs"},
    {"--num-steps", "--steps"},
    {"--num_steps", "--steps"},
    {"--iterations", "--steps"},
    {"--max-num-examples-per-user", "--group-size"},
    {"--max_num_examples_per_user", "--group-size"},
    {"--path", "--store"},
};

// "; it is --delta here" for such a word whose meaning `flags` have.
std::string CalledHere(absl::string_view word, const std::vector<Known>& flags) {
  for (const auto& [elsewhere, here] : kElsewhere) {
    if (word != elsewhere) continue;
    for (const Known& flag : flags) {
      if (flag.word == here) return absl::StrCat("; it is ", here, " here");
    }
  }
  return "";
}

// "ledger show"; empty for the program itself.
std::string PathOf(const CLI::App& app) {
  if (app.get_parent() == nullptr) return "";
  const std::string above = PathOf(*app.get_parent());
  return absl::StrCat(above, above.empty() ? "" : " ", app.get_name());
}

void AddCommands(const CLI::App& app, std::vector<Known>& known) {
  const std::vector<const CLI::App*> commands = app.get_subcommands({});
  for (const CLI::App* command : commands) known.push_back({command->get_name(), PathOf(*command)});
  for (const CLI::App* command : commands) AddCommands(*command, known);
}

std::vector<Known> FlagsOf(const CLI::App& app) {
  std::vector<Known> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames())
      known.push_back({"--" + name, "--" + name});
  }
  return known;
}

std::string Complaint(const CLI::App& app, const std::string& word) {
  const std::string path = PathOf(app);
  const std::string help = absl::StrCat("dpledger ", path, path.empty() ? "" : " ", "--help");
  if (absl::StartsWith(word, "-")) {
    const std::string flag = word.substr(0, word.find('='));
    const std::vector<Known> flags = FlagsOf(app);
    const std::string called = CalledHere(flag, flags);
    return absl::StrCat("no flag ", flag, path.empty() ? "" : " of ", path,
                        called.empty() ? DidYouMean(flag, flags) : called, "\n", help,
                        " lists them");
  }
  const bool has_commands = !app.get_subcommands({}).empty();
  if (!has_commands)
    return absl::StrCat("one word too many: ", word, "\n", help, " shows what it takes");
  // Those of this level first, then any: `dpledger show` is meant to be `dpledger ledger show`.
  std::vector<Known> known;
  AddCommands(app, known);
  if (!path.empty()) AddCommands(*app.get_parent(), known);
  return absl::StrCat("no command ", path, path.empty() ? "" : " ", word, DidYouMean(word, known),
                      "\n", help, " lists them");
}

std::string MistypedIn(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  if (!words.empty()) return Complaint(app, words.front());
  for (const CLI::App* command : app.get_subcommands()) {
    const std::string complaint = MistypedIn(*command);
    if (!complaint.empty()) return complaint;
  }
  return "";
}

}  // namespace

std::string Mistyped(const App& app) { return MistypedIn(app.cli()); }

}  // namespace dpledger::flags
