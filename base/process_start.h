// What each of our programs does before anything else.
#pragma once

namespace dpledger {

// Opens /dev/null for standard input, output and error where they are closed: the next file would
// get their numbers, and messages meant for people would go into it. And a limit of a file's size
// (RLIMIT_FSIZE) is an error of the write from then on, as a full disk is, and not the end of the
// process.
void BeginProcess();

}  // namespace dpledger
