#include "tests/tidy/rules.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "re2/re2.h"

namespace dpledger::tidy {
namespace {

namespace fs = std::filesystem;

// What git does not list (.gitignore), and what is no source. Hidden folders are passed over too.
constexpr std::string_view kAtTheTop[] = {"build", "var"};
constexpr std::string_view kAnywhere[] = {"node_modules", "__pycache__"};
constexpr std::string_view kEndings[] = {".h",  ".cc", ".c",   ".proto", ".cmake", ".txt",
                                         ".md", ".ts", ".tsx", ".mjs",   ".css",   ".py"};

// Where a third-party library may be included, by the beginning of the header's name.
struct Home {
  const char* header;
  std::vector<std::string> paths;
};
const std::vector<Home>& Homes() {
  static const auto& homes = *new std::vector<Home>{
      {"fftw3", {"accountant/numeric/fft_fftw.cc"}},
      {"hwy/", {"accountant/", "client/", "tests/", "bench/"}},
      {"rocksdb/", {"ledger_store/", "tests/", "bench/"}},
      {"libpq-fe", {"ledger_store/postgres/", "tests/", "bench/"}},
      {"CLI/", {"flags/"}},
      {"boost/asio",
       {"witness/", "server/signing/witness_call", "tests/witness/", "front/", "tests/front/",
        "http/"}},
      {"boost/beast",
       {"witness/", "server/signing/witness_call", "tests/witness/", "front/", "tests/front/",
        "http/"}},
      {"grpcpp/",
       {"connection/", "registry/server_source.cc", "server/", "client/", "local/", "cli/",
        "examples/", "tests/", "bench/"}},
      {"google/protobuf/",
       {"accounting/", "certify/", "events/", "ledger/", "ledger_store/", "server/", "client/",
        "cli/", "examples/", "tests/", "bench/"}},
  };
  return homes;
}

std::string FolderOf(const std::string& path) { return path.substr(0, path.find('/')); }

std::vector<std::string> Lines(const SourceFile& file) { return absl::StrSplit(file.text, '\n'); }

bool IsTestOrBench(const std::string& path) {
  return absl::StartsWith(path, "tests/") || absl::StartsWith(path, "bench/");
}

bool HomeAllows(const Home& home, const std::string& path) {
  return std::any_of(home.paths.begin(), home.paths.end(),
                     [&](const std::string& prefix) { return absl::StartsWith(path, prefix); });
}

bool HasAnySuffix(const std::string& path, const std::vector<std::string>& suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](const std::string& suffix) { return absl::EndsWith(path, suffix); });
}

}  // namespace

std::vector<SourceFile> ReadSources(const std::string& root) {
  const auto is_any = [](const auto& list, std::string_view name) {
    return std::find(std::begin(list), std::end(list), name) != std::end(list);
  };
  std::vector<SourceFile> files;
  for (fs::recursive_directory_iterator it(root), end; it != end; ++it) {
    const std::string name = it->path().filename().string();
    if (name.front() == '.' || is_any(kAnywhere, name) ||
        (it.depth() == 0 && is_any(kAtTheTop, name))) {
      it.disable_recursion_pending();
    } else if (it->is_regular_file() && is_any(kEndings, it->path().extension().string())) {
      std::ostringstream text;
      text << std::ifstream(it->path(), std::ios::binary).rdbuf();
      files.push_back({fs::relative(it->path(), root).generic_string(), text.str()});
    }
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

bool IsCode(const SourceFile& file) { return HasAnySuffix(file.path, {".h", ".cc", ".c"}); }
bool IsScript(const SourceFile& file) {
  return HasAnySuffix(file.path, {".ts", ".tsx", ".mjs", ".css", ".py"});
}

Complaints IncludeDirections(const SourceFile& file, const Targets& targets) {
  static const std::regex include(R"re(^\s*#\s*include\s*[<"]([^>"]+)[>"].*)re");
  Complaints complaints;
  const bool free = IsTestOrBench(file.path);
  const std::string from = targets.Of(file.path);
  if (!free && from.empty()) {
    complaints.push_back(absl::StrCat(file.path, ": belongs to no target; name it in SRCS"));
  }
  for (const std::string& line : Lines(file)) {
    std::smatch match;
    if (!std::regex_match(line, match, include)) continue;
    const std::string header = match[1];
    const std::string to = targets.Of(header);
    if (!free && IsTestOrBench(header)) {
      complaints.push_back(absl::StrCat(file.path, ": must not include ", header));
    }
    if (!free && !from.empty() && !to.empty() && !targets.Uses(from, to)) {
      complaints.push_back(absl::StrCat(file.path, ": ", from, " must not include ", header,
                                        ": its DEPS have no ", to));
    }
    for (const Home& home : Homes()) {
      if (absl::StartsWith(header, home.header) && !HomeAllows(home, file.path)) {
        complaints.push_back(absl::StrCat(file.path, ": ", header, " does not belong here"));
      }
    }
  }
  return complaints;
}

Complaints BannedWords(const SourceFile& file) {
  struct Ban {
    const RE2* pattern;  // std::regex takes far longer
    const char* why;
    bool libraries_only;
    bool in_scripts;
  };
  // The patterns are split so that this file does not trip over itself.
  static const auto& bans = *new std::vector<Ban>{
      {new RE2(R"(\b(strcpy|strcat|sprintf|gets|strtok)\s*\()"), "no bound on what it writes",
       false, false},
      {new RE2(R"(\b(atoi|atol|atof)\s*\()"), "cannot tell a bad number from 0", false, false},
      {new RE2(R"((\bstd::rand\b|\bsrand\s*\())"), "not a generator to rely on", false, false},
      {new RE2(R"(\bsystem\s*\(|\bshell\s*=\s*True|\bshell: *true)"), "runs a shell", false, true},
      {new RE2(R"((^|[^.\w])(eval|exec)\s*\()"), "runs what it is given", true, true},
      {new RE2(R"(\busing namespace std\b)"), "names collide", false, false},
      {new RE2("\\bTO"
               "DO\\b|\\bFIX"
               "ME\\b|\\bX"
               "XX\\b"),
       "unfinished work", false, true},
      {new RE2(R"(^\s*throw\b|[;{]\s*throw\b)"), "no exception leaves a library", true, false},
      // In texts alone: of what PostgreSQL, CockroachDB and YugabyteDB do not share.
      {new RE2(
           R"re("[^"]*\b(LISTEN|NOTIFY|LOCK TABLE|COPY|RETURNS|TRIGGER|SEQUENCE|DECLARE|VACUUM|)re"
           R"re(TEMPORARY|TEMP|LANGUAGE|nextval|setval|pg_advisory\w*|pg_notify|ctid|xmin|)re"
           R"re(txid_\w+|generate_series|plpgsql)\b)re"),
       "SQL that CockroachDB or YugabyteDB does not have", true, false},
  };
  static const std::set<std::string> programs = {"cli", "flags", "tests", "bench", "examples"};
  const bool library = programs.count(FolderOf(file.path)) == 0;
  const bool script = IsScript(file);
  Complaints complaints;
  int number = 0;
  for (const std::string& line : Lines(file)) {
    ++number;
    for (const Ban& ban : bans) {
      if ((ban.libraries_only && !library) || (script && !ban.in_scripts)) continue;
      re2::StringPiece match;
      if (ban.pattern->Match(line, 0, line.size(), RE2::UNANCHORED, &match, 1)) {
        complaints.push_back(
            absl::StrCat(file.path, ":", number, ": ", match.as_string(), ": ", ban.why));
      }
    }
  }
  return complaints;
}

Complaints Columns(const SourceFile& file) {
  constexpr auto kMost = 100;
  // Prettier puts a blank that ends a line of JSX behind its last column.
  const std::string blank = "{\" \"}";
  Complaints complaints;
  const bool checked = absl::StartsWith(file.path, "dashboard/") ||
                       absl::StartsWith(file.path, "python/") ||
                       absl::StartsWith(file.path, "tests/python/");
  if (!IsScript(file) || !checked) return complaints;
  int number = 0;
  for (std::string line : Lines(file)) {
    ++number;
    if (line.ends_with(blank)) line.resize(line.size() - blank.size());
    // Of a letter in UTF-8, the bytes after the first begin with the bits 10.
    const auto columns =
        std::count_if(line.begin(), line.end(), [](char byte) { return (byte & 0xc0) != 0x80; });
    if (columns > kMost) {
      complaints.push_back(absl::StrCat(file.path, ":", number, ": ", columns, " columns"));
    }
  }
  return complaints;
}

Complaints HeaderShape(const SourceFile& file) {
  Complaints complaints;
  if (!absl::EndsWith(file.path, ".h")) return complaints;
  if (!absl::StartsWith(file.text, "// ")) {
    complaints.push_back(absl::StrCat(file.path, ": must begin by saying what it is for"));
  }
  // (a -inl.h is read once for each vector target, and guards itself)
  if (!absl::EndsWith(file.path, "-inl.h") && !absl::StrContains(file.text, "\n#pragma once\n")) {
    complaints.push_back(absl::StrCat(file.path, ": has no #pragma once"));
  }
  return complaints;
}

Complaints FileSizes(const std::vector<SourceFile>& files) {
  constexpr auto kUsual = 400;
  constexpr auto kGreatest = 800;
  Complaints complaints;
  Complaints long_files;
  int code_files = 0;
  for (const SourceFile& file : files) {
    if (!IsCode(file)) continue;
    ++code_files;
    const auto lines = std::count(file.text.begin(), file.text.end(), '\n');
    const std::string complaint = absl::StrCat(file.path, ": ", lines, " lines");
    if (lines > kGreatest) complaints.push_back(complaint);
    if (lines > kUsual) long_files.push_back(complaint);
  }
  if (static_cast<int>(long_files.size()) * 10 > code_files) {
    complaints.insert(complaints.end(), long_files.begin(), long_files.end());
  }
  return complaints;
}

Complaints MissingClaims(const std::vector<SourceFile>& files) {
  // Values, numerics and the public header answer no question. mechanism/CLAIM.md is of the pairs
  // and of the recursions too.
  static const std::set<std::string> without = {"event",   "mechanism", "pair",
                                                "numeric", "recursion", "include"};
  std::set<std::string> methods;
  std::set<std::string> claimed;
  for (const SourceFile& file : files) {
    const std::vector<std::string> parts = absl::StrSplit(file.path, '/');
    if (parts.size() < 3 || parts[0] != "accountant" || without.count(parts[1]) > 0) continue;
    methods.insert(parts[1]);
    if (parts[2] == "CLAIM.md") claimed.insert(parts[1]);
  }
  Complaints complaints;
  for (const std::string& method : methods) {
    if (claimed.count(method) == 0) {
      complaints.push_back(absl::StrCat("accountant/", method, "/CLAIM.md is missing"));
    }
  }
  return complaints;
}

Complaints StaleClaims(const std::vector<SourceFile>& files) {
  std::set<std::string> words;  // of the code
  for (const SourceFile& file : files) {
    if (!absl::StartsWith(file.path, "accountant/") || !IsCode(file)) continue;
    std::string word;
    for (const char c : file.text) {
      if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_') {
        word += c;
      } else if (!word.empty()) {
        words.insert(std::move(word));
        word.clear();
      }
    }
  }
  static const std::regex name("`([A-Za-z_][A-Za-z0-9_]*)`");
  Complaints complaints;
  for (const SourceFile& file : files) {
    if (!absl::StartsWith(file.path, "accountant/") || !absl::EndsWith(file.path, "CLAIM.md"))
      continue;
    for (std::sregex_iterator match(file.text.begin(), file.text.end(), name), end; match != end;
         ++match) {
      const std::string word = (*match)[1];
      if (words.count(word) == 0) {
        complaints.push_back(absl::StrCat(file.path, ": no ", word, " in the code"));
      }
    }
  }
  return complaints;
}

Complaints WrongPlaces(const SourceFile& doc, const std::vector<SourceFile>& files) {
  static const std::regex mark("<!-- files that match: (.*) -->");
  static const std::regex path("`([a-z_0-9]+(/[A-Za-z_0-9.]+)+)`");
  Complaints complaints;
  std::string pattern;
  std::set<std::string> listed;
  const auto compare = [&] {
    for (const SourceFile& file : files) {
      if (IsTestOrBench(file.path) || absl::StartsWith(file.path, "docs/") ||
          absl::StartsWith(file.path, "examples/") ||
          absl::StrContains(pattern, file.path.substr(0, file.path.rfind('/') + 1))) {
        continue;
      }
      const bool matches = std::regex_search(file.text, std::regex(pattern));
      if (matches != (listed.count(file.path) > 0)) {
        complaints.push_back(absl::StrCat(doc.path, ": ", file.path,
                                          matches ? " matches " : " does not match ", pattern,
                                          matches ? " and is not listed" : ""));
      }
    }
    pattern.clear();
    listed.clear();
  };
  for (const std::string& line : Lines(doc)) {
    std::smatch match;
    if (std::regex_match(line, match, mark)) {
      pattern = match[1];
      continue;
    }
    if (!pattern.empty() && !absl::StartsWith(line, "- ")) compare();
    for (std::sregex_iterator it(line.begin(), line.end(), path), end; it != end; ++it) {
      const std::string name = (*it)[1];
      if (!pattern.empty() && it == std::sregex_iterator(line.begin(), line.end(), path))
        listed.insert(name);
      if (std::none_of(files.begin(), files.end(), [&](const SourceFile& file) {
            return file.path == name || absl::StartsWith(file.path, name + "/");
          })) {
        complaints.push_back(absl::StrCat(doc.path, ": there is no ", name));
      }
    }
  }
  if (!pattern.empty()) compare();
  return complaints;
}

}  // namespace dpledger::tidy
