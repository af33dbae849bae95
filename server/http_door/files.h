// A folder of files that a page is made of, read once into memory: a request names an entry of a
// map, and no path of it reaches the disk. Immutable.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "http/message.h"

namespace dpledger::server {

// The folder of the page that was installed with this program, share/dpledger/page beside its bin;
// empty if there is none.
std::string InstalledPage();

// What is wrong with a path as `prefix` below; empty: nothing.
std::string WrongPrefix(std::string_view prefix);

class StaticFiles {
 public:
  StaticFiles() = default;  // none
  // Every plain file below `folder` whose name begins with no dot, without following links.
  // Browsers find the page at `prefix`, "/" or "/dpledger/", which a proxy takes off: pages say so
  // by their `<base href="/">`. INVALID_ARGUMENT if the folder is none, holds more than 64 MiB or a
  // file of a type without a content type here, or if the prefix is no such path.
  static absl::StatusOr<StaticFiles> Read(const std::string& folder, const std::string& prefix);

  // The answer to a GET of `path`, "/" being "/index.html"; null if there is no such file.
  const http::Response* Find(std::string_view path) const;

 private:
  std::map<std::string, http::Response, std::less<>> files_;
};

}  // namespace dpledger::server
