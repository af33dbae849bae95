# `cpack -G DEB` in the build folder makes three packages: dpledger (the programs and their units), libdpledger1 (the
# library of plain C) and libdpledger-dev (headers and static libraries). Their dependencies are what dpkg-shlibdeps
# finds that the files are linked with.
set(debian ${PROJECT_SOURCE_DIR}/deploy/debian)

# Only for packages: `cmake --install` must not write to /etc.
install(FILES ${debian}/default DESTINATION /etc/default RENAME dpledger COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES ${debian}/server.toml DESTINATION /etc/dpledger COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES deploy/dpledger.service deploy/dpledger-follow.service DESTINATION /lib/systemd/system
  COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES deploy/prometheus/dpledger.rules.yml deploy/prometheus/prometheus.yml
  DESTINATION share/doc/dpledger/examples/prometheus COMPONENT debian EXCLUDE_FROM_ALL)
install(PROGRAMS deploy/dpledger-notify DESTINATION share/doc/dpledger/examples COMPONENT debian EXCLUDE_FROM_ALL)
install(DIRECTORY docs/ DESTINATION share/doc/dpledger/docs COMPONENT debian EXCLUDE_FROM_ALL FILES_MATCHING PATTERN *.md)
foreach(package_and_component dpledger=debian libdpledger1=library_doc libdpledger-dev=development_doc)
  string(REGEX MATCH "^(.*)=(.*)$" matched ${package_and_component})
  install(FILES ${debian}/copyright DESTINATION share/doc/${CMAKE_MATCH_1}
    COMPONENT ${CMAKE_MATCH_2} EXCLUDE_FROM_ALL)
  install(FILES CHANGELOG.md DESTINATION share/doc/${CMAKE_MATCH_1} RENAME changelog
    COMPONENT ${CMAKE_MATCH_2} EXCLUDE_FROM_ALL)
  install(FILES ${debian}/changelog DESTINATION share/doc/${CMAKE_MATCH_1} RENAME changelog.Debian
    COMPONENT ${CMAKE_MATCH_2} EXCLUDE_FROM_ALL)
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME dpledger)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "dpledger <root@localhost>" CACHE STRING "The maintainer that the Debian packages name")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/DebianFiles.cmake)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENTS_ALL programs debian library library_doc development development_doc)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME dpledger)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_DEPENDS "adduser, ca-certificates")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SUGGESTS "prometheus, postgresql")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_CONTROL_EXTRA
  ${debian}/postinst ${debian}/prerm ${debian}/postrm ${debian}/conffiles)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libdpledger1)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${debian}/shlibs ${debian}/triggers)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libdpledger-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libdpledger1 (= ${PROJECT_VERSION}-1), libabsl-dev, libboost-dev, libfftw3-dev, libhwy-dev")
set(CPACK_COMPONENT_PROGRAMS_GROUP programs)
set(CPACK_COMPONENT_DEBIAN_GROUP programs)
set(CPACK_COMPONENT_LIBRARY_GROUP library)
set(CPACK_COMPONENT_LIBRARY_DOC_GROUP library)
set(CPACK_COMPONENT_DEVELOPMENT_GROUP development)
set(CPACK_COMPONENT_DEVELOPMENT_DOC_GROUP development)
set(CPACK_DEBIAN_PROGRAMS_DESCRIPTION
 "privacy accounting for machine learning with differential privacy
Trainers stream a record of every access to the data to dpledger-server, which
keeps it as an append-only, tamper-evident ledger. The server and the command
line answer what it cost: epsilon for a delta, the noise that a target needs.
.
With a witness, systemd units, alert rules for Prometheus, man pages and
completions of bash.")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION
 "privacy accounting: recorder and samplers for trainers in plain C or by ctypes
Records a trainer's rounds with a dpledger server, or in a folder of the
trainer's own, before their noise is released, draws samples, clips and adds
exact noise; answers questions about events without a server.")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
 "privacy accounting: headers and static libraries
The trainer's library in C++ and C, and the accountant's mathematics, with
their CMake package and pkg-config file.")
include(CPack)
