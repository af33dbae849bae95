// Ctrl-C. The program keeps no state of its own, so it may end at any point: it prints a note that
// says what remains and exits with 130.
#pragma once

#include <string>

namespace dpledger::cli {

// From now on SIGINT and SIGTERM write the note to stderr and end the program with exit code 130.
void EndOnInterrupt();

// Sets the note. Call from one thread only.
void SetInterruptNote(std::string note);

// Sets an unfinished file to remove on an interrupt; empty: none. Call from one thread only.
void RemoveOnInterrupt(std::string path);

}  // namespace dpledger::cli
