// Somebody who writes to a store, and has not its key: changes of what is stored of a ledger that
// would pass for the server's own.
#pragma once

#include <memory>
#include <string>

#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/stored.pb.h"
#include "ledger/stored_head.h"
#include "tests/simulation/chance.h"

namespace dpledger::simulation {

// The servers' keys.
HeadKeys ServerKeys();

// Changes something of a writer, or of the head.
void Forge(Chance& chance, v1::WriterStatus& writer, v1::StoredHead& head);

// The batch of an entry 0, with another declaration.
std::string WithOtherDeclaration(std::string batch);

}  // namespace dpledger::simulation
