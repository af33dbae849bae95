// What Prometheus' clients tell of their own process, by the same names.
#pragma once

#include "server/metrics/metrics.h"

namespace dpledger::server {

// Of this process, asked from /proc/self: processor time, memory, descriptors; the time of this
// call as its start.
void PullProcess(Metrics& metrics);

}  // namespace dpledger::server
