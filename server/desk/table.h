// The table of methods: every call that the server answers is a row here.
#pragma once

#include <vector>

#include "server/desk/method.h"
#include "server/desk/services.h"

namespace dpledger::server {

// `services` must outlive the rows. `append_window`: the most unacknowledged batches
// of one Append stream.
std::vector<Method> MethodTable(const Services& services, size_t append_window);

}  // namespace dpledger::server
