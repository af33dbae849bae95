// Makes the disk of an open file fail, under code that knows nothing of it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace dpledger::testing {

// Puts `replacement` in the place of the descriptor that this process has open on `path`.
inline void ReplaceDescriptor(const std::string& path, int replacement) {
  const std::string target = std::filesystem::canonical(path);
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (std::filesystem::read_symlink(entry.path(), error) != target) continue;
    ASSERT_GE(dup2(replacement, std::stoi(entry.path().filename())), 0);
    return;
  }
  FAIL() << path << " is not open";
}

}  // namespace dpledger::testing
