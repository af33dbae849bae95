// Files that stand beside a folder.
#include "base/file.h"

#include <gtest/gtest.h>

namespace dpledger {
namespace {

// "--store X/" had tokens of its own inside of the store, and those of "--store X" counted no more.
TEST(Beside, IsOneFileHoweverTheFolderIsWritten) {
  for (const char* folder :
       {"a/store", "a/store/", "a/store//", "./a/store", "a/./store/.", "a/b/../store/"}) {
    EXPECT_EQ(Beside(folder, ".tokens"), "a/store.tokens") << folder;
  }
  EXPECT_EQ(Beside("/var/store/", ".tokens"), "/var/store.tokens");
  EXPECT_EQ(Beside("store", ".tokens"), "store.tokens");
}

}  // namespace
}  // namespace dpledger
