// Ctrl-C. The program keeps no state of its own, so it may end at any point: it says what remains
// and exits with 130.
#pragma once

#include <string>

namespace dpledger::cli {

// From now on SIGINT and SIGTERM write the note to stderr and end the program with exit code 130.
void EndOnInterrupt();

// What to say then. Call from one thread only.
void SetInterruptNote(std::string note);

// A file that is not finished, to be removed then; empty: none. Call from one thread only.
void RemoveOnInterrupt(std::string path);

}  // namespace dpledger::cli
