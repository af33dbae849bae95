// Nothing: what tests include most is compiled with this file (tests/CMakeLists.txt).
