// The former names of the key stream.
#pragma once

#include "client/key_stream.h"
#include "client/root_key.h"

namespace dpledger::client {

using AesCtr = KeyStream;

}  // namespace dpledger::client
