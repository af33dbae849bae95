# find_package(dpledger [COMPONENTS accountant client]): without components, both.
#   dpledger::accountant  the privacy mathematics; #include "dpledger/accountant.h"
#   dpledger::client      the trainer's library; #include "dpledger/client.h". A shared library of C++: for programs of
#                         the compiler and the Abseil that it was built with. It needs no gRPC of theirs
#   dpledger::c           the same in plain C; #include "dpledger.h"
#   dpledger::accounting  questions about events, in plain C; #include "dpledger_accounting.h"
if(NOT dpledger_FIND_COMPONENTS)
  set(dpledger_FIND_COMPONENTS accountant client)
endif()
find_package(absl REQUIRED CONFIG)
foreach(component ${dpledger_FIND_COMPONENTS})
  if(component STREQUAL "accountant")
    include(${CMAKE_CURRENT_LIST_DIR}/Packages.cmake)
  endif()
  include(${CMAKE_CURRENT_LIST_DIR}/${component}.cmake OPTIONAL RESULT_VARIABLE dpledger_${component}_FOUND)
  if(NOT dpledger_${component}_FOUND AND dpledger_FIND_REQUIRED_${component})
    set(dpledger_FOUND FALSE)
    set(dpledger_NOT_FOUND_MESSAGE "this dpledger was installed without its component ${component}")
  endif()
endforeach()
