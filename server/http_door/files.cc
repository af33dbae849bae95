#include "server/http_door/files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::server {
namespace {

constexpr size_t kMaxBytes = size_t{64} << 20;
// Only what comes from here runs, and nobody shows it in a frame. Text becomes a script's address
// through one policy alone, which the page's worker needs (dashboard/src/verify/in_worker.ts). The
// hash is of a statement's style (server/statement/html.cc), so that the page can print one.
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; "
    "style-src 'self' 'sha256-qhwP3M+bG18wbz/u3vkafNlmc87yMlFbqwc97i38ntc='; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'self'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types dpledger-worker";

// The worker alone runs WebAssembly: the accountant (dashboard/src/verify/cost_check.ts).
constexpr char kWorker[] = "/assets/worker.js";
std::string PolicyOf(std::string_view path) {
  std::string policy = kPolicy;
  if (path == kWorker) policy.insert(policy.find("'self';") + 6, " 'wasm-unsafe-eval'");
  return policy;
}

const std::map<std::string, std::string>& Types() {
  static const auto& types =
      *new std::map<std::string, std::string>{{".html", "text/html; charset=utf-8"},
                                              {".js", "text/javascript; charset=utf-8"},
                                              {".css", "text/css; charset=utf-8"},
                                              {".json", "application/json"},
                                              {".svg", "image/svg+xml"},
                                              {".png", "image/png"},
                                              {".ico", "image/x-icon"},
                                              {".woff2", "font/woff2"},
                                              {".txt", "text/plain; charset=utf-8"},
                                              {".wasm", "application/wasm"},
                                              {".gz", "application/gzip"},
                                              {".map", "application/json"}};
  return types;
}

constexpr std::string_view kBase = "<base href=\"/\">";

}  // namespace

std::string WrongPrefix(std::string_view prefix) {
  const auto has = [&](std::string_view part) { return prefix.find(part) != prefix.npos; };
  const bool is_plain = std::all_of(prefix.begin(), prefix.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("/._~-").find(c) != std::string_view::npos;
  });
  const bool is_path = prefix.starts_with('/') && prefix.ends_with('/');
  if (is_plain && is_path && !has("//") && !has("/./") && !has("/../")) return "";
  return "must begin and end with /, of letters, digits, . _ ~ - and / alone, without the parts . "
         "and ..";
}

std::string InstalledPage() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto page = program.parent_path().parent_path() / "share/dpledger/page";
  return !error && std::filesystem::exists(page / "index.html", error) ? page.string() : "";
}

absl::StatusOr<StaticFiles> StaticFiles::Read(const std::string& folder,
                                              const std::string& prefix) {
  namespace fs = std::filesystem;
  StaticFiles files;
  if (const std::string wrong = WrongPrefix(prefix); !wrong.empty()) {
    return FieldError("http_prefix", wrong);
  }
  if (folder.empty()) return files;
  std::error_code error;
  size_t bytes = 0;
  auto entry = fs::recursive_directory_iterator(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.filename().string().starts_with('.')) {
      entry.disable_recursion_pending();
      continue;
    }
    if (!fs::is_regular_file(entry->symlink_status())) continue;
    const auto type = Types().find(path.extension().string());
    if (type == Types().end()) {
      return FieldError("http_files", absl::StrCat("no content type for ", path.string()));
    }
    std::ifstream in(path, std::ios::binary);
    std::string content((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    bytes += content.size();
    if (bytes > kMaxBytes) return FieldError("http_files", "must hold at most 64 MiB");
    if (const size_t base = content.find(kBase); type->first == ".html" && base != content.npos)
      content.replace(base, kBase.size(), absl::StrCat("<base href=\"", prefix, "\">"));
    const std::string address = absl::StrCat("/", path.lexically_relative(folder).generic_string());
    files.files_[address] = {.headers = {{"content-type", type->second},
                                         {"cache-control", "no-cache"},
                                         {"content-security-policy", PolicyOf(address)},
                                         {"cross-origin-opener-policy", "same-origin"},
                                         {"cross-origin-resource-policy", "same-origin"}},
                             .body = std::move(content)};
  }
  if (error) return FieldError("http_files", absl::StrCat(folder, ": ", error.message()));
  return files;
}

const http::Response* StaticFiles::Find(std::string_view path) const {
  const auto found = files_.find(path == "/" ? "/index.html" : path);
  return found == files_.end() ? nullptr : &found->second;
}

}  // namespace dpledger::server
