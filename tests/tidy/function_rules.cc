#include "tests/tidy/function_rules.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace dpledger::tidy {
namespace {

// The code alone: comments, directives and what stands in quotes become blanks. Lines stay.
std::string Bare(const std::string& text) {
  std::string bare = text;
  const auto starts = [&](size_t at, const char* word) { return text.compare(at, 2, word) == 0; };
  const auto find_end = [&](const std::string& mark, size_t from) {
    const size_t found = text.find(mark, from);
    return found == std::string::npos ? text.size() : found + mark.size();
  };
  for (size_t at = 0, line = 0; at < text.size();) {
    size_t end = at + 1;
    const char letter = text[at];
    const bool in_word = at > 0 && (absl::ascii_isalnum(text[at - 1]) || text[at - 1] == '_');
    const bool begins_line = text.find_first_not_of(' ', line) == at;
    if (starts(at, "//") || (letter == '#' && begins_line)) {
      end = find_end("\n", at) - 1;
      while (end < text.size() && text[end - 1] == '\\') end = find_end("\n", end + 1) - 1;
    } else if (starts(at, "/*")) {
      end = find_end("*/", at);
    } else if (starts(at, "R\"") && !in_word) {
      const size_t open = text.find('(', at);
      end = find_end(absl::StrCat(")", text.substr(at + 2, open - at - 2), "\""), open);
    } else if (letter == '"' || (letter == '\'' && !in_word)) {  // in a word: 1'000
      while (end < text.size() && text[end] != letter) end += text[end] == '\\' ? 2 : 1;
      ++end;
    } else {
      if (letter == '\n') line = at + 1;
      at = end;
      continue;
    }
    for (; at < std::min(end, text.size()); ++at) {
      if (bare[at] != '\n') bare[at] = ' ';
    }
  }
  return bare;
}

// Where the bracket at `open` is closed.
size_t CloseOf(const std::string& text, size_t open) {
  static const std::map<char, char> closing = {{'(', ')'}, {'[', ']'}, {'{', '}'}, {'<', '>'}};
  const char close = closing.at(text[open]);
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    if (text[at] == text[open]) ++depth;
    if (text[at] == close && text[at - 1] != '-' && --depth == 0) return at;
  }
  return text.size();
}

int ParametersOf(const std::string& list) {
  if (list.find_first_not_of(" \n") == std::string::npos) return 0;
  int count = 1;
  for (size_t at = 0; at < list.size(); ++at) {
    if (absl::StrContains("([{", list[at])) at = CloseOf(list, at);
    if (at < list.size() && list[at] == ',') ++count;
  }
  return count;
}

// Whether `head`, which stands before a brace, is a function's: then its name and parameters.
bool IsFunction(std::string head, Function& function) {
  static const std::regex called(R"((operator\s*(?:\(\)|[^\w\s(]+)|~?\w+(?:::~?\w+)*)\s*\()");
  while (!absl::StrContains(head, "operator") && absl::StrContains(head, '<')) {
    const size_t open = head.find('<');
    head.erase(open, CloseOf(head, open) - open + 1);
  }
  std::smatch match;
  if (!std::regex_search(head, match, called)) return false;
  const std::string before = match.prefix();
  if (absl::StrContains(before, '=') || absl::StrContains(before, '[')) return false;
  const size_t open = match.position() + match.length() - 1;
  function.name = match[1];
  function.parameters = ParametersOf(head.substr(open + 1, CloseOf(head, open) - open - 1));
  return true;
}

// A member that a constructor gives a value in braces, "member_{": no body yet.
bool IsInitializer(const std::string& head) {
  static const std::regex list(R"(\)[\s\w]*:(?!:))");
  const size_t last = head.find_last_not_of(" \n");
  return last != std::string::npos &&
         (absl::ascii_isalnum(head[last]) || head[last] == '_' || head[last] == '>') &&
         std::regex_search(head, list);
}

using SizeOf = int Function::*;

Complaints TooLarge(const std::vector<SourceFile>& files, const std::vector<Bound>& listed,
                    SizeOf size, int most, const char* unit) {
  std::map<std::string, int> bounds;
  for (const Bound& bound : listed) bounds[bound.name] = bound.most;
  std::map<std::string, int> found;
  for (const SourceFile& file : files) {
    if (!IsCode(file) || absl::StartsWith(file.path, "tests/")) continue;
    if (absl::StartsWith(file.path, "bench/")) continue;
    for (const Function& function : FunctionsOf(file)) {
      int& largest = found[function.name];
      largest = std::max(largest, function.*size);
    }
  }
  Complaints complaints;
  for (const auto& [name, largest] : found) {
    const auto bound = bounds.find(name);
    const int allowed = bound == bounds.end() ? most : bound->second;
    if (largest <= allowed) continue;
    complaints.push_back(absl::StrCat(name, ": ", largest, unit, ", at most ", allowed));
  }
  for (const auto& [name, bound] : bounds) {
    const auto at = found.find(name);
    if (at != found.end() && at->second > most) continue;
    complaints.push_back(
        absl::StrCat(name, ": has at most ", most, unit, ": take it off the list"));
  }
  return complaints;
}

// The types that the file defines where other files see them: outside of types, functions, and
// namespaces without a name.
std::set<std::string> TypesOf(const SourceFile& file) {
  static const std::regex space(R"(\bnamespace\s*([\w:]*)\s*$)");
  static const std::regex type(
      R"((?:^|\s)(?:struct|class|union|enum|enum class)\s+(?:[A-Z_]+(?:\([^)]*\))?\s+)?)"
      R"((\w+)(?:\s+final)?\s*(?::[^:][^()]*)?$)");
  std::set<std::string> types;
  std::vector<std::string> names;  // of the scopes around; empty: nothing in there is seen outside
  std::string head;
  for (const char letter : Bare(file.text)) {
    std::smatch match;
    if (letter == '{') {
      const bool is_space = std::regex_search(head, match, space);
      names.push_back(is_space ? match[1].str() : "");
      const auto end = names.end() - 1;
      if (!is_space && std::find(names.begin(), end, "") == end &&
          std::regex_search(head, match, type)) {
        std::vector<std::string> path(names.begin(), end);
        types.insert(absl::StrCat(absl::StrJoin(path, "::"), "::", match[1].str()));
      }
    } else if (letter == '}' && !names.empty()) {
      names.pop_back();
    }
    head = absl::StrContains("{};", letter) ? "" : head + letter;
  }
  return types;
}

}  // namespace

std::vector<Function> FunctionsOf(const SourceFile& file) {
  static const std::regex around(R"(\b(namespace|class|struct|union|enum|extern)\b[^()]*$)");
  const std::string text = Bare(file.text);
  const std::string own_name = file.path.substr(file.path.rfind('/') + 1);
  std::vector<Function> functions;
  std::string head;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '{') {
      head += text[at];
      if (text[at] == ';' || text[at] == '}') head.clear();
      continue;
    }
    if (std::regex_search(head, around)) {
      head.clear();  // what stands inside is looked at
      continue;
    }
    const size_t close = CloseOf(text, at);
    Function function;
    if (IsInitializer(head)) {
      head += "{}";
    } else {
      if (IsFunction(head, function)) {
        const auto lines = [&](size_t from, size_t to) {
          return 1 + static_cast<int>(std::count(text.begin() + from, text.begin() + to, '\n'));
        };
        function.name = absl::StrCat(own_name, ":", function.name);
        function.line = lines(0, at);
        function.lines = lines(at, close);
        functions.push_back(function);
      }
      head.clear();
    }
    at = close;
  }
  return functions;
}

Complaints LongFunctions(const std::vector<SourceFile>& files, const std::vector<Bound>& listed) {
  return TooLarge(files, listed, &Function::lines, kMostLines, " lines");
}
Complaints WideFunctions(const std::vector<SourceFile>& files, const std::vector<Bound>& listed) {
  return TooLarge(files, listed, &Function::parameters, kMostParameters, " parameters");
}

Complaints TwiceDefined(const std::vector<SourceFile>& files,
                        const std::vector<std::string>& listed) {
  std::map<std::string, std::vector<std::string>> places;
  for (const SourceFile& file : files) {
    if (!IsCode(file)) continue;
    for (const std::string& type : TypesOf(file)) places[type].push_back(file.path);
  }
  Complaints complaints;
  for (const auto& [type, paths] : places) {
    const std::string both = absl::StrCat(type, ": ", absl::StrJoin(paths, " "));
    if (paths.size() > 1 && std::find(listed.begin(), listed.end(), both) == listed.end())
      complaints.push_back(both);
  }
  return complaints;
}

}  // namespace dpledger::tidy
