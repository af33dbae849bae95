# The same few headers take a third to two thirds of most sources' compile time. They are compiled once for all
# targets that include them. (The dev preset does without, so that a missing include is noticed.)

add_library(precompiled INTERFACE)
# The same macros for all: some libraries ask for threads at compile time, and some do not.
target_compile_options(precompiled INTERFACE -pthread)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(precompiled INTERFACE -fpch-preprocess)  # or ccache keeps nothing of such a file
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13 AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    # Of strings made of literals GCC 12 warns without cause, and does not keep it to itself where headers are
    # precompiled.
    target_compile_options(precompiled INTERFACE -Wno-array-bounds -Wno-stringop-overread -Wno-stringop-overflow)
  endif()
endif()

# The target `name`, which compiles HEADERS of the libraries DEPS.
function(dpledger_headers name)
  cmake_parse_arguments(ARG "" "" "HEADERS;DEPS" ${ARGN})
  add_library(${name} STATIC ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
  target_link_libraries(${name} PRIVATE dpledger_options precompiled ${ARG_DEPS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# Has `target` begin with the headers that `name` compiles.
function(dpledger_precompile target name)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:precompiled>)
  target_precompile_headers(${target} REUSE_FROM ${name})
  # Where a target has other macros, the compiler reads the headers themselves.
  set_target_properties(${target} PROPERTIES PCH_WARN_INVALID OFF)
endfunction()

set(dpledger_plain_headers <functional> <map> <memory> <optional> <string> <string_view> <vector>
    <absl/status/statusor.h> <absl/strings/str_cat.h>)
set(dpledger_message_headers ${dpledger_plain_headers} <absl/synchronization/mutex.h> <absl/time/clock.h>
    <dpledger/v1/accounting_service.pb.h> <dpledger/v1/ledger_service.pb.h>)

# All libraries and programs so far: those that know the ledger's messages, and those that do not. What is for shared
# libraries too is compiled otherwise than what is not.
function(dpledger_precompile_all)
  dpledger_headers(plain_headers HEADERS ${dpledger_plain_headers} DEPS absl::statusor absl::strings)
  dpledger_headers(message_headers HEADERS ${dpledger_message_headers} DEPS dpledger::proto)
  dpledger_headers(shared_message_headers HEADERS ${dpledger_message_headers} DEPS dpledger::proto)
  set_target_properties(plain_headers shared_message_headers PROPERTIES POSITION_INDEPENDENT_CODE ON)
  get_property(targets GLOBAL PROPERTY DPLEDGER_COMPILED)
  foreach(target ${targets})
    get_target_property(shared ${target} POSITION_INDEPENDENT_CODE)
    get_target_property(type ${target} TYPE)
    if(shared AND type STREQUAL "EXECUTABLE")  # -fPIE, for which headers made with -fPIC do not do
      continue()
    endif()
    dpledger_reaches(${target} dpledger::proto reaches)
    if(reaches AND shared)
      dpledger_precompile(${target} shared_message_headers)
    elseif(reaches)
      dpledger_precompile(${target} message_headers)
    elseif(shared)
      dpledger_precompile(${target} plain_headers)
    endif()
  endforeach()
endfunction()
