# With DPLEDGER_STATIC_LIBRARIES, the folder that cmake/static_libraries.sh prints, the two libraries with an interface
# in C, and programs, are self-contained: gRPC, protobuf, Abseil, Highway, RocksDB and OpenSSL are in them.
# libdpledger_accounting.so needs glibc alone; the others also the folder's MPFR and GMP, which are looked for beside the
# libraries. Read after Packages.cmake: the packages' headers stay, their libraries are replaced.
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
set_target_properties(re2::re2 PROPERTIES INTERFACE_LINK_LIBRARIES ${folder}/libre2.a)
if(TARGET RocksDB::rocksdb-shared)
  dpledger_replace_library(RocksDB::rocksdb-shared ${folder}/librocksdb.a)
  find_library(static_snappy libsnappy.a REQUIRED)
  set_target_properties(RocksDB::rocksdb-shared PROPERTIES INTERFACE_LINK_LIBRARIES "${static_snappy};Threads::Threads")
endif()
foreach(pair gRPC::grpc++=grpc++ gRPC::grpc=grpc gRPC::gpr=gpr gRPC::upb=upb gRPC::address_sorting=address_sorting
        c-ares::cares=cares OpenSSL::SSL=ssl OpenSSL::Crypto=crypto ZLIB::ZLIB=z)
  string(REPLACE "=" ";" pair ${pair})
  list(GET pair 0 target)
  list(GET pair 1 name)
  find_library(static_${name} lib${name}.a REQUIRED)
  dpledger_replace_library(${target} ${static_${name}})
endforeach()
set_target_properties(PkgConfig::MPFR PROPERTIES INTERFACE_LINK_LIBRARIES
  "${folder}/libdpledger-mpfr.so.6;-Wl,-rpath-link,${folder}")
# HWY_SHARED_DEFINE is for the shared library alone.
set_target_properties(PkgConfig::HWY PROPERTIES INTERFACE_LINK_LIBRARIES ${folder}/libhwy.a INTERFACE_COMPILE_OPTIONS "")
