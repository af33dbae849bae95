# With DPLEDGER_STATIC_LIBRARIES, the folder that cmake/static_libraries.sh prints, libdpledger_accounting.so is
# self-contained: protobuf, Abseil, Highway and libcrypto are in it, and it needs glibc alone. Read after Packages.cmake:
# the packages' headers stay, their libraries are replaced.
set(folder ${DPLEDGER_STATIC_LIBRARIES}/lib)

function(dpledger_replace_library target file)
  if(NOT EXISTS ${file})
    message(FATAL_ERROR "DPLEDGER_STATIC_LIBRARIES: there is no ${file}")
  endif()
  get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${file})
  foreach(configuration ${configurations})
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} ${file})
  endforeach()
endfunction()

file(GLOB archives RELATIVE ${folder} ${folder}/libabsl_*.a)
foreach(archive ${archives})
  string(REGEX REPLACE "libabsl_(.*)\\.a" "absl::\\1" target ${archive})
  if(TARGET ${target})
    dpledger_replace_library(${target} ${folder}/${archive})
  endif()
endforeach()
dpledger_replace_library(protobuf::libprotobuf ${folder}/libprotobuf.a)
find_library(static_crypto libcrypto.a REQUIRED)
dpledger_replace_library(OpenSSL::Crypto ${static_crypto})
# HWY_SHARED_DEFINE is for the shared library alone.
set_target_properties(PkgConfig::HWY PROPERTIES INTERFACE_LINK_LIBRARIES ${folder}/libhwy.a INTERFACE_COMPILE_OPTIONS "")
