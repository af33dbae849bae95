# One shape for every target, so that the arrows between rooms can be read in the build.
#
#   dpledger_library(NAME x SRCS ... DEPS ...)     a static library dpledger_x, alias dpledger::x
#   dpledger_c_library(NAME x OUTPUT_NAME name EXPORTS map SRCS ... DEPS ...)     libname.so
#   dpledger_program(NAME x SRCS ... DEPS ...)     a program in build/<preset>/bin
#   dpledger_test(NAME x SRCS ... DEPS ... [LABELS slow] [ARGS ...] [TIMEOUT seconds])
#
# DEPS is the one list of what a target may include: tests/tidy reads it from build/<preset>/targets.txt
# and fails on an include of a target that is not in it. A header belongs to the target of the source
# beside it with the same name, or of the only target in its folder; any other header stands in SRCS.
# A test without LABELS is in `./test --quick`; LABELS slow marks those that kill processes or run
# long.

add_library(dpledger_options INTERFACE)
target_include_directories(dpledger_options INTERFACE ${PROJECT_SOURCE_DIR})
# -ffp-contract=off: sums must be the same bits on every machine (docs/formats.md), and the error
# bounds of accountant/ count one rounding for each written operation.
target_compile_options(dpledger_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers -ffp-contract=off
  $<$<BOOL:${DPLEDGER_QUICK_BUILD}>:-Wno-subobject-linkage>  # joined sources are read as headers are
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
if(DPLEDGER_BUILD_SERVER AND NOT DPLEDGER_SANITIZER)  # sanitizers bring their own
  target_link_libraries(dpledger_allocator INTERFACE PkgConfig::JEMALLOC)
endif()

# One line for targets.txt: "name | sources from the root | dependencies".
function(dpledger_record name srcs deps)
  set(paths)
  foreach(src ${srcs})
    get_filename_component(path ${src} ABSOLUTE)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${path})
    list(APPEND paths ${path})
  endforeach()
  list(JOIN paths " " paths)
  list(JOIN deps " " deps)
  set_property(GLOBAL APPEND PROPERTY DPLEDGER_TARGETS "${name} | ${paths} | ${deps}")
endfunction()

function(dpledger_write_targets)
  get_property(targets GLOBAL PROPERTY DPLEDGER_TARGETS)
  list(JOIN targets "\n" targets)
  file(WRITE ${PROJECT_BINARY_DIR}/targets.txt "${targets}\n")
endfunction()

# Joins a target's sources into few, which then name the list `sources`, with those that are generated or in C.
function(dpledger_join name sources)
  set(wanted)
  set(others)
  foreach(source ${${sources}})
    get_filename_component(path ${source} ABSOLUTE)
    if(path MATCHES "\\.cc$" AND EXISTS ${path})
      list(APPEND wanted ${path})
    else()
      list(APPEND others ${source})
    endif()
  endforeach()
  list(LENGTH wanted count)
  if(count LESS 2)
    return()
  endif()
  get_property(known DIRECTORY PROPERTY CMAKE_CONFIGURE_DEPENDS)
  list(APPEND known ${wanted} ${PROJECT_SOURCE_DIR}/cmake/join_sources.py)
  list(REMOVE_DUPLICATES known)  # sources of several targets
  set_property(DIRECTORY PROPERTY CMAKE_CONFIGURE_DEPENDS ${known})
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/join_sources.py
    ${CMAKE_CURRENT_BINARY_DIR}/joined_${name} ${wanted} OUTPUT_VARIABLE joined COMMAND_ERROR_IS_FATAL ANY)
  set(${sources} ${joined} ${others} PARENT_SCOPE)
endfunction()

function(dpledger_library)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS" ${ARGN})
  dpledger_record(${ARG_NAME} "${ARG_SRCS}" "${ARG_DEPS}")
  if(DPLEDGER_QUICK_BUILD)
    dpledger_join(${ARG_NAME} ARG_SRCS)
  endif()
  add_library(dpledger_${ARG_NAME} STATIC ${ARG_SRCS})
  add_library(dpledger::${ARG_NAME} ALIAS dpledger_${ARG_NAME})
  set_target_properties(dpledger_${ARG_NAME} PROPERTIES EXPORT_NAME ${ARG_NAME})
  target_compile_features(dpledger_${ARG_NAME} PUBLIC cxx_std_20)
  # Our warnings are not for the code of another project that links this.
  target_link_libraries(dpledger_${ARG_NAME} PRIVATE $<BUILD_INTERFACE:dpledger_options> PUBLIC ${ARG_DEPS})
  set_property(GLOBAL APPEND PROPERTY DPLEDGER_COMPILED dpledger_${ARG_NAME})
endfunction()

# Of wasm/module, another compiler's project:
set(module ${PROJECT_SOURCE_DIR}/wasm/module)
dpledger_record(wasm_module "${module}/ledger.cc;${module}/libcxx13.h;${module}/system.c"
  "dpledger::accounting_call;dpledger::base;dpledger::events;dpledger::merkle;dpledger::questions;absl::strings;absl::time")

dpledger_record(old_glibc "${PROJECT_SOURCE_DIR}/cmake/old_glibc.c" "")  # of self-contained libraries alone

# A shared library with an interface in C, of sources as for dpledger_library: exports.map says what it shows. Of one
# build, such libraries share protobuf's messages, each of which registers in one table of the whole process, and which
# ends the process if two libraries bring the same: dpledger::messages is named first, so that nothing is taken of
# dpledger::proto. A self-contained library (cmake/StaticLibraries.cmake) has its own protobuf, and its own table.
function(dpledger_c_library)
  cmake_parse_arguments(ARG "" "NAME;OUTPUT_NAME;EXPORTS" "SRCS;DEPS" ${ARGN})
  dpledger_record(${ARG_NAME} "${ARG_SRCS}" "${ARG_DEPS}")
  if(DPLEDGER_QUICK_BUILD)
    dpledger_join(${ARG_NAME} ARG_SRCS)
  endif()
  add_library(dpledger_${ARG_NAME} SHARED ${ARG_SRCS})
  add_library(dpledger::${ARG_NAME} ALIAS dpledger_${ARG_NAME})
  set(messages dpledger::messages)
  set(self_contained)
  if(DPLEDGER_STATIC_LIBRARIES)
    set(messages)
    set(self_contained -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -Wl,--gc-sections)
    target_sources(dpledger_${ARG_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/old_glibc.c)
  endif()
  target_link_libraries(dpledger_${ARG_NAME} PRIVATE ${messages} dpledger_options ${ARG_DEPS})
  target_include_directories(dpledger_${ARG_NAME} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
  set_target_properties(dpledger_${ARG_NAME} PROPERTIES
    EXPORT_NAME ${ARG_NAME}
    OUTPUT_NAME ${ARG_OUTPUT_NAME}
    VERSION 1.0
    SOVERSION 1  # the ABI's major version, which the header states
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
    BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "$ORIGIN"
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS ${ARG_EXPORTS})
  target_link_options(dpledger_${ARG_NAME} PRIVATE ${self_contained} -Wl,--version-script=${ARG_EXPORTS}
    $<$<NOT:$<BOOL:${DPLEDGER_SANITIZER}>>:-Wl,--no-undefined>)
endfunction()

function(dpledger_program)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS" ${ARGN})
  dpledger_record(${ARG_NAME} "${ARG_SRCS}" "${ARG_DEPS}")
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_link_libraries(${ARG_NAME} PRIVATE dpledger_options ${ARG_DEPS})
  if(DPLEDGER_STATIC_LIBRARIES)  # a wheel's, in a folder beside its libraries
    target_sources(${ARG_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/old_glibc.c)
    target_link_options(${ARG_NAME} PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections)
    set_target_properties(${ARG_NAME} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/..")
  endif()
  set_property(GLOBAL APPEND PROPERTY DPLEDGER_COMPILED ${ARG_NAME})
endfunction()

# For tests, and for code that reads flags and prints: optimising it would take a quarter to almost half of its compile
# time, and what it does itself is soon done.
function(dpledger_little_optimised target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# For a build whose own time counts: everything but the accountant and the trainer's sums.
function(dpledger_optimise_numeric_alone)
  set(numeric ${accountant_rooms} client_privacy)
  list(TRANSFORM numeric PREPEND dpledger_)
  get_property(targets GLOBAL PROPERTY DPLEDGER_COMPILED)
  list(REMOVE_ITEM targets ${numeric})
  foreach(target ${targets} dpledger_proto dpledger_grpc)
    dpledger_little_optimised(${target})
  endforeach()
endfunction()

# Whether a target comes, by way of others, to the target `wanted`.
function(dpledger_reaches target wanted result)
  set(next ${target})
  set(seen)
  set(${result} FALSE PARENT_SCOPE)
  while(next)
    list(POP_FRONT next one)
    get_target_property(libraries ${one} LINK_LIBRARIES)
    if(NOT libraries)
      get_target_property(libraries ${one} INTERFACE_LINK_LIBRARIES)
    endif()
    list(FILTER libraries INCLUDE REGEX "^dpledger::")
    if(wanted IN_LIST libraries)
      set(${result} TRUE PARENT_SCOPE)
      return()
    endif()
    list(REMOVE_ITEM libraries ${seen})
    list(APPEND seen ${libraries})
    list(APPEND next ${libraries})
  endwhile()
endfunction()

function(dpledger_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "SRCS;DEPS;LABELS;ARGS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)  # against hanging alone: a busy machine takes three times as long as a quiet one
  endif()
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)  # most of a build's time is that of tests
    dpledger_join(${ARG_NAME} ARG_SRCS)
  endif()
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_compile_options(${ARG_NAME} PRIVATE -Wno-subobject-linkage)  # joined sources are read as headers are
  set_property(GLOBAL APPEND PROPERTY DPLEDGER_TESTS ${ARG_NAME})
  target_link_libraries(${ARG_NAME} PRIVATE dpledger_options GTest::gmock GTest::gtest_main ${ARG_DEPS})
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME} ${ARG_ARGS})
  set_tests_properties(${ARG_NAME} PROPERTIES
    TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
    ENVIRONMENT "DPLEDGER_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};DPLEDGER_SOURCE=${PROJECT_SOURCE_DIR};DPLEDGER_TARGETS=${PROJECT_BINARY_DIR}/targets.txt")
endfunction()
