// The accountant, usable alone: the privacy cost of a history of events, as intervals that contain
// the true value. It does no I/O and uses no protocol messages.
//
//   History history;                      // what ran
//   auto composition = Resolve(history, Adjacency::kAddOrRemoveOne);
//   auto answer = ComputeEpsilon(*composition, 1e-5, {});
//   answer->value.upper                   // the ε to report
#pragma once

#include "accountant/accountant.h"
#include "accountant/audit/audit.h"
#include "accountant/calibration/calibration.h"
#include "accountant/filter/filter.h"
#include "accountant/mechanism/composition.h"
#include "accountant/mechanism/history.h"
#include "accountant/profile/profile.h"
#include "accountant/selection/tuning_cost.h"
