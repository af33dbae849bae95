# One shape for every target, so that the arrows between folders can be read in the build.
#
#   dpledger_library(NAME x SRCS ... DEPS ...)     a static library dpledger_x, alias dpledger::x
#   dpledger_program(NAME x SRCS ... DEPS ...)     a program in build/<preset>/bin
#   dpledger_test(NAME x SRCS ... DEPS ... [LABELS slow] [ARGS ...] [TIMEOUT seconds])
#
# Every dependency is spelled out in DEPS. A test without LABELS is in `./test --quick`; LABELS slow
# marks those that kill processes or run long.

add_library(dpledger_options INTERFACE)
target_include_directories(dpledger_options INTERFACE ${CMAKE_SOURCE_DIR})
# -ffp-contract=off: sums must be the same bits on every machine (docs/formats.md), and the error
# bounds of accountant/ count one rounding for each written operation.
target_compile_options(dpledger_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers -ffp-contract=off
  $<$<BOOL:${DPLEDGER_WARNINGS_AS_ERRORS}>:-Werror>)
if(DPLEDGER_SANITIZER)
  target_compile_options(dpledger_options INTERFACE
    -fsanitize=${DPLEDGER_SANITIZER} -fno-omit-frame-pointer
    $<$<STREQUAL:${DPLEDGER_SANITIZER},undefined>:-fno-sanitize-recover=all>)
  target_link_options(dpledger_options INTERFACE -fsanitize=${DPLEDGER_SANITIZER})
endif()

# For programs that hold a store. Requests are made on one thread and freed on another, hundreds of
# small objects each: glibc's allocator took a third of the store's time for that, jemalloc half as
# much (64 writers of one event each: 45 k/s and 52 k/s).
add_library(dpledger_allocator INTERFACE)
add_library(dpledger::allocator ALIAS dpledger_allocator)
if(NOT DPLEDGER_SANITIZER)  # sanitizers bring their own
  target_link_libraries(dpledger_allocator INTERFACE PkgConfig::JEMALLOC)
endif()

function(dpledger_library)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS" ${ARGN})
  add_library(dpledger_${ARG_NAME} STATIC ${ARG_SRCS})
  add_library(dpledger::${ARG_NAME} ALIAS dpledger_${ARG_NAME})
  target_link_libraries(dpledger_${ARG_NAME} PUBLIC dpledger_options ${ARG_DEPS})
endfunction()

function(dpledger_program)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_link_libraries(${ARG_NAME} PRIVATE dpledger_options ${ARG_DEPS})
endfunction()

function(dpledger_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "SRCS;DEPS;LABELS;ARGS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_link_libraries(${ARG_NAME} PRIVATE dpledger_options GTest::gmock GTest::gtest_main ${ARG_DEPS})
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME} ${ARG_ARGS})
  set_tests_properties(${ARG_NAME} PROPERTIES
    TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
    ENVIRONMENT "DPLEDGER_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};DPLEDGER_SOURCE=${CMAKE_SOURCE_DIR}")
endfunction()
