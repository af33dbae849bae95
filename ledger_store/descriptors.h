// What an engine takes of the descriptors that a process may have.
#pragma once

#include <cstddef>

namespace dpledger {

// The most files and connections that an engine keeps open.
inline constexpr size_t kStoreDescriptors = 512;

}  // namespace dpledger
