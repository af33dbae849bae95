// Reads the tree that another's note states, before anybody asks who signed it. Pure; thread safe.
#pragma once

#include <cstdint>
#include <string_view>

namespace dpledger::merkle {

// Whether `note` is a signed note (whoever signed it) whose text is the checkpoint of this origin,
// size and root (32 bytes).
bool StatesTree(std::string_view note, std::string_view origin, uint64_t size,
                std::string_view root);

}  // namespace dpledger::merkle
