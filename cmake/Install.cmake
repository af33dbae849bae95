# What `cmake --install` puts where: the programs, the library of plain C (component `library`), and all that compilers
# need (`development`). Two sets of targets, so that a trainer that links the client needs
# none of the accountant's packages; cmake/dpledgerConfig.cmake reads the sets that are asked for.
include(GNUInstallDirs)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/dpledger)

# The accountant's one public header, and beside it the headers that it is made of.
set(parts include/dpledger/parts)
list(TRANSFORM accountant_rooms PREPEND dpledger_ OUTPUT_VARIABLE accountant_libraries)
install(TARGETS dpledger_accountant dpledger_base ${accountant_libraries}
  EXPORT accountant INCLUDES DESTINATION include ${parts})
install(EXPORT accountant NAMESPACE dpledger:: FILE accountant.cmake DESTINATION ${package_folder})
install(FILES ${PROJECT_SOURCE_DIR}/accountant/include/dpledger/accountant.h DESTINATION include/dpledger)
foreach(header accountant.h interval.h limits.h audit/audit.h calibration/calibration.h filter/filter.h
    mechanism/composition.h mechanism/history.h pair/pair.h mechanism/renyi_bound.h
    mechanism/trials.h pair/two_candidates.h profile/gaussian_fit.h profile/profile.h
    selection/tuning_cost.h)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/accountant/${header} DESTINATION ${parts}/accountant/${folder})
endforeach()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/accountant/event DESTINATION ${parts}/accountant FILES_MATCHING PATTERN *.h)
install(FILES ${PROJECT_SOURCE_DIR}/base/status.h ${PROJECT_SOURCE_DIR}/base/value_rules.h DESTINATION ${parts}/base)

if(DPLEDGER_BUILD_CLIENT)
  install(TARGETS dpledger_c dpledger_accounting EXPORT client INCLUDES DESTINATION include
    LIBRARY COMPONENT library NAMELINK_COMPONENT development)
  if(TARGET dpledger_client_shared)
    install(TARGETS dpledger_client_shared EXPORT client INCLUDES DESTINATION include ${parts}
      LIBRARY COMPONENT library NAMELINK_COMPONENT development)
  endif()
  install(TARGETS dpledger_messages EXPORT client LIBRARY COMPONENT library NAMELINK_SKIP)  # for those three alone
  install(EXPORT client NAMESPACE dpledger:: FILE client.cmake DESTINATION ${package_folder})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/client/include/ ${PROJECT_SOURCE_DIR}/accounting/include/
    DESTINATION include)
  # What dpledger/client.h is made of. They need Abseil alone.
  foreach(header client/clipped_sum.h client/correlated_options.h client/correlated_privatizer.h client/declaration.h
      client/fixed_batches.h client/integer_clip.h client/key_stream.h client/noise_plan.h client/number_format.h
      client/privatizer.h client/privatizer_options.h client/questions.h client/root_key.h client/run_state.h
      client/sampler.h client/internal/aes_kernels.h client/internal/in_use.h client/internal/workers.h
      connection/server_access.h)
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${parts}/${folder})
  endforeach()
  file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)  # wherever it is put
  configure_file(cmake/dpledger.pc.in dpledger.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/dpledger.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
if(DPLEDGER_BUILD_SERVER)
  install(TARGETS dpledger dpledger-server dpledger-witness COMPONENT programs)
  if(TARGET dpledger-certify)  # its library may be missing
    install(TARGETS dpledger-certify COMPONENT programs)
  endif()
  # The page, which a server finds there, and its checks as a file of their own beside the command line. Left out where
  # they could not be built (no Node).
  install(DIRECTORY ${PROJECT_BINARY_DIR}/dashboard/ DESTINATION share/dpledger/page COMPONENT programs OPTIONAL)
  install(FILES ${PROJECT_BINARY_DIR}/dashboard/verifier/dpledger-verifier.html DESTINATION share/dpledger
    COMPONENT programs OPTIONAL)
  include(cmake/Reference.cmake)
endif()

write_basic_package_version_file(${PROJECT_BINARY_DIR}/dpledgerConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/dpledgerConfig.cmake cmake/Packages.cmake ${PROJECT_BINARY_DIR}/dpledgerConfigVersion.cmake
  DESTINATION ${package_folder})

if(DPLEDGER_BUILD_SERVER)
  include(cmake/Debian.cmake)
endif()
