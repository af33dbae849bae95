// The Debian packages, as cpack makes them of this build: what is in them, what they ask for, and
// whether the programs run from there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/process.h"

namespace dpledger::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::string Shell(const std::string& command) {
  const RunResult result = RunProgram({"/bin/sh", "-c", command}, {{"LC_ALL", "C.UTF-8"}});
  EXPECT_EQ(result.exit_code, 0) << command << '\n' << result.out << result.err;
  return result.out;
}

class Packages : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    const std::string build = fs::path(std::getenv("DPLEDGER_BIN")).parent_path();
    Shell("cd " + build + " && cpack -G DEB -B " + folder_->path());
    for (const auto& file : fs::directory_iterator(folder_->path())) {
      const std::string name = file.path().filename();
      if (!name.ends_with(".deb")) continue;
      Shell("dpkg-deb -x " + file.path().string() + " " + Root(name.substr(0, name.find('_'))));
    }
  }
  static void TearDownTestSuite() { delete folder_; }
  static std::string Deb(const std::string& package) {
    return folder_->path() + "/" + package + "_*.deb";
  }
  // Where a package is unpacked.
  static std::string Root(const std::string& package) { return folder_->File("root-" + package); }
  static std::string Field(const std::string& package, const std::string& field) {
    return Shell("dpkg-deb -f " + Deb(package) + " " + field);
  }

  static TemporaryFolder* folder_;
};
TemporaryFolder* Packages::folder_ = nullptr;

TEST_F(Packages, NameWhatTheyAreLinkedWith) {
  EXPECT_THAT(Field("dpledger", "Depends"),
              AllOf(HasSubstr("librocksdb7.8"), HasSubstr("libgrpc++1.51"), HasSubstr("libpq5"),
                    HasSubstr("libfftw3-double3"), HasSubstr("adduser")));
  EXPECT_THAT(Field("libdpledger1", "Depends"),
              AllOf(HasSubstr("libgrpc++1.51"), HasSubstr("librocksdb7.8"), Not(HasSubstr("libpq")),
                    Not(HasSubstr("prometheus"))))
      << "a ledger without a server needs its store, and no server";
  EXPECT_THAT(Field("libdpledger-dev", "Depends"), HasSubstr("libdpledger1 (= "));
}

TEST_F(Packages, HaveProgramsPagesCompletionsUnitsAndConfiguration) {
  const std::string root = Root("dpledger");
  for (const char* file :
       {"usr/bin/dpledger", "usr/bin/dpledger-server", "usr/bin/dpledger-witness",
        "usr/share/man/man1/dpledger.1.gz", "usr/share/man/man8/dpledger-server.8.gz",
        "usr/share/bash-completion/completions/dpledger-server",
        "lib/systemd/system/dpledger.service", "lib/systemd/system/dpledger-follow.service",
        "etc/default/dpledger", "etc/dpledger/server.toml", "usr/share/doc/dpledger/copyright",
        "usr/share/doc/dpledger/changelog.Debian.gz", "usr/share/doc/dpledger/docs/operating.md",
        "usr/share/doc/dpledger/examples/prometheus/dpledger.rules.yml"}) {
    EXPECT_TRUE(fs::exists(root + "/" + file)) << file;
  }
  // The programs' package has nothing to compile with, and the library's no program.
  EXPECT_THAT(Shell("find " + root + " -name '*.h' -o -name '*.a'"), IsEmpty());
  EXPECT_FALSE(fs::exists(Root("libdpledger1") + "/usr/bin"));
  EXPECT_TRUE(fs::exists(Root("libdpledger-dev") + "/usr/include/dpledger.h"));
  EXPECT_THAT(Shell("find " + Root("libdpledger1") + " -name 'libdpledger.so.1'"), Not(IsEmpty()));
  // What an administrator changes is asked about, and not written over.
  EXPECT_EQ(Shell("dpkg-deb -I " + Deb("dpledger") + " conffiles"),
            Shell("cd " + root +
                  " && find /etc/default/dpledger etc -type f 2>/dev/null | "
                  "grep '^etc' | sed 's,^,/,' | sort"));
}

TEST_F(Packages, ScriptsAreScriptsAndKeepTheLedgers) {
  for (const char* script : {"postinst", "prerm", "postrm"}) {
    const std::string text = Shell("dpkg-deb -I " + Deb("dpledger") + " " + script);
    EXPECT_THAT(text, StartsWith("#!/bin/sh\n"));
    EXPECT_THAT(text, Not(HasSubstr("rm "))) << script;
    Shell("dpkg-deb -I " + Deb("dpledger") + " " + script + " | sh -n");
  }
}

TEST_F(Packages, ProgramsRunFromThereWithTheConfiguration) {
  const std::string root = Root("dpledger");
  EXPECT_THAT(Shell(root + "/usr/bin/dpledger --version"), Not(IsEmpty()));
  const TemporaryFolder folder;
  const pid_t server =
      StartProgram({root + "/usr/bin/dpledger-server", "--config",
                    root + "/etc/dpledger/server.toml", "--listen", "127.0.0.1:0", "--store",
                    folder.File("store"), "--port-file", folder.File("port")},
                   folder.File("log"));
  const std::string address = AwaitFirstLine(server, folder.File("port"), folder.File("log"));
  const RunResult check = RunProgram({root + "/usr/bin/dpledger-server", "--check", address});
  EXPECT_EQ(check.exit_code, 0) << check.err;
  EXPECT_EQ(StopProgram(server, SIGTERM), 0);
}

TEST_F(Packages, ServerShowsTheInstalledPage) {
  const std::string build = fs::path(std::getenv("DPLEDGER_BIN")).parent_path();
  if (!fs::exists(build + "/dashboard/index.html"))
    GTEST_SKIP() << "NOT RUN: the page was not built";
  const std::string root = Root("dpledger") + "/usr";
  const std::string verifier = "/verifier/dpledger-verifier.html";
  EXPECT_EQ(Shell("cat " + root + "/share/dpledger/dpledger-verifier.html"),
            Shell("cat " + build + "/dashboard" + verifier));
  const TemporaryFolder folder;
  const auto get = [&](const std::vector<std::string>& flags, const std::string& path) {
    std::vector<std::string> command = {
        root + "/bin/dpledger-server", "--listen",    "127.0.0.1:0",      "--store",
        folder.File("store"),          "--port-file", folder.File("port")};
    command.insert(command.end(), flags.begin(), flags.end());
    const pid_t server = StartProgram(command, folder.File("log"));
    const std::string address = AwaitFirstLine(server, folder.File("port"), folder.File("log"));
    const std::string answer = Shell("curl -sS -w '%{http_code}' http://" + address + path);
    EXPECT_EQ(StopProgram(server, SIGTERM), 0);
    return answer;
  };
  EXPECT_THAT(get({}, "/"), AllOf(HasSubstr("<div id=\"page\">"), EndsWith("200")));
  EXPECT_THAT(get({}, verifier), AllOf(HasSubstr("content-security-policy"), EndsWith("200")));
  EXPECT_THAT(get({"--http-files", ""}, "/"),
              AllOf(HasSubstr("share/dpledger/page"), EndsWith("404")));
}

TEST_F(Packages, SatisfyLintian) {
  if (!fs::exists("/usr/bin/lintian")) GTEST_SKIP() << "NOT RUN: lintian is not installed";
  // Who maintains a package is for whoever builds it (CPACK_PACKAGE_CONTACT).
  const RunResult result = RunProgram({"/bin/sh", "-c",
                                       "lintian --no-cfg --allow-root --fail-on error "
                                       "--suppress-tags bogus-mail-host,root-in-contact,"
                                       "bogus-mail-host-in-debian-changelog " +
                                           Deb("*")});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

}  // namespace
}  // namespace dpledger::testing
