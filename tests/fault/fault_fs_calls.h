// The calls of the kernel (libfuse's low-level interface), answered from a FaultDisk.
#pragma once

#ifndef FUSE_USE_VERSION
#define FUSE_USE_VERSION 35
#endif
#include <fuse_lowlevel.h>

#include "tests/fault/fault_fs_disk.h"

namespace dpledger::testing {

struct FaultCalls {
  FaultDisk disk;
  // Files go through the kernel's page cache (written through, not back), as MAP_SHARED needs.
  // Without it every read and write comes here.
  bool page_cache = false;
};

// For fuse_session_new, with a FaultCalls as user data.
fuse_lowlevel_ops FaultOperations();

}  // namespace dpledger::testing
