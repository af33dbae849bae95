// What each of our programs does before anything else.
#pragma once

namespace dpledger {

// Takes the places of standard input, output and error where they are closed: the next file would
// get their numbers, and messages meant for people would go into it. Reading and writing there stay
// errors, as they were. And a limit of a file's size (RLIMIT_FSIZE) is an error of the write from
// then on, as a full disk is, and not the end of the process. Abseil stops looking for orders of
// locks that could deadlock: as distributions build it, it looks on each lock.
void BeginProcess();

}  // namespace dpledger
