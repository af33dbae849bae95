// The table of methods: every call that the server answers is a row here.
#pragma once

#include <string>
#include <vector>

#include "server/desk/health.h"
#include "server/desk/method.h"
#include "server/desk/services.h"
#include "server/desk/worker_pool.h"

namespace dpledger::server {

// Full names of the services whose health is told: those of dpledger.v1.
std::vector<std::string> ServedServices();

// `services`, `health` and `list_pool` must outlive the rows. `append_window`: the most
// unacknowledged batches of one Append stream. `list_pool`: where watches look for what is new.
std::vector<Method> MethodTable(const Services& services, size_t append_window, Health* health,
                                WorkerPool* list_pool);

}  // namespace dpledger::server
