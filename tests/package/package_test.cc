// Builds a foreign project with what `cmake --install` installs, and with the sources as a part of
// its own, and runs its programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "tests/cli/process.h"
#include "tests/support/sampled_cases.h"

namespace dpledger::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string Source() { return std::getenv("DPLEDGER_SOURCE"); }
// The folder of this build: its programs stand in bin/.
std::string Build() { return std::filesystem::path(std::getenv("DPLEDGER_BIN")).parent_path(); }

std::string Shell(const std::string& command) {
  const RunResult result = RunProgram({"/bin/sh", "-c", command});
  EXPECT_EQ(result.exit_code, 0) << command << '\n' << result.out << result.err;
  return result.out;
}

std::string Foreign() { return Source() + "/tests/package/foreign"; }

// Configures the foreign project in `folder`/build; returns that.
std::string Configure(const TemporaryFolder& folder, const std::string& option) {
  const std::string build = folder.File("build");
  Shell("cmake -G Ninja -S " + Foreign() + " -B " + build + " " + option);
  return build;
}

class Installed : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    Shell("cmake --install " + Build() + " --prefix " + Prefix());
  }
  static void TearDownTestSuite() { delete folder_; }
  static std::string Prefix() { return folder_->File("prefix"); }

  static TemporaryFolder* folder_;
};
TemporaryFolder* Installed::folder_ = nullptr;

TEST_F(Installed, IsFoundAndLinkedByAForeignProject) {
  TemporaryFolder folder;
  const std::string build = Configure(folder, "-DCMAKE_PREFIX_PATH=" + Prefix());
  Shell("cmake --build " + build);
  EXPECT_THAT(Shell(build + "/accountant_user"), StartsWith("epsilon 4.3"));
  EXPECT_THAT(Shell(build + "/client_user"), HasSubstr("adjacency"));
  EXPECT_EQ(Shell(build + "/c_user"), "INVALID_ARGUMENT\n");
}

TEST_F(Installed, IsFoundByPkgConfig) {
  TemporaryFolder folder;
  const std::string program = folder.File("c_user");
  const std::string libraries = "$(dirname $(find " + Prefix() + " -name libdpledger.so))";
  Shell("export PKG_CONFIG_PATH=" + libraries + "/pkgconfig; cc " + Foreign() + "/c_user.c -o " +
        program + " $(pkg-config --cflags --libs dpledger) -Wl,-rpath," + libraries);
  EXPECT_EQ(Shell(program), "INVALID_ARGUMENT\n");
}

// A public header that needs what a foreign project does not have breaks it.
TEST_F(Installed, ShowsNoWireInItsHeaders) {
  EXPECT_EQ(Shell("find " + Prefix() + "/include -name '*.h' | wc -l"), "75\n");
  EXPECT_THAT(
      Shell("grep -rnE 'include.*(grpc|protobuf|\\.pb\\.h)' " + Prefix() + "/include || true"),
      IsEmpty());
}

TEST(Sources, AreAPartOfAForeignProject) {
  TemporaryFolder folder;
  // In few, joined sources, which nothing else of ./test compiles: a sixth of the accountant's
  // libraries, and in tests/long all of them and a program. The trainer's library would take
  // minutes.
  const std::string build =
      Configure(folder, "-DDPLEDGER_QUICK_BUILD=ON -DDPLEDGER_SOURCE=" + Source());
  // One target after another: on a busy machine all would take longer than a command may.
  const auto make = [&](const std::string& target) {
    Shell("cmake --build " + build + " --target " + target);
  };
  make("client_user_compiles");
  const std::string joined = "joined_";
  std::set<std::string> libraries;
  for (const auto& entry : std::filesystem::directory_iterator(build + "/dpledger/accountant")) {
    const std::string name = entry.path().filename();
    if (name.starts_with(joined)) libraries.insert(name.substr(joined.size()));
  }
  EXPECT_GT(libraries.size(), 12u);
  SampledCases sampled(6);
  for (const std::string& library : libraries) {
    if (sampled.Next()) make("dpledger_" + library);
  }
  if (sampled.one_in() > 1) return;
  make("accountant_user");
  EXPECT_THAT(Shell(build + "/accountant_user"), StartsWith("epsilon 4.3"));
}

}  // namespace
}  // namespace dpledger::testing
