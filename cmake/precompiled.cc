// Nothing: the headers that most sources include are compiled with this file
// (cmake/Precompiled.cmake).
