# Man pages and bash completions, printed by the programs themselves into build/<preset>/share, where they stand as
# `cmake --install` puts them.
set(reference_folder ${PROJECT_BINARY_DIR}/share)
set(reference_files)

# dpledger_reference(PROGRAM file arguments...)
function(dpledger_reference program file)
  set(output ${reference_folder}/${file})
  get_filename_component(folder ${file} DIRECTORY)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${reference_folder}/${folder}
    COMMAND $<TARGET_FILE:${program}> ${ARGN} > ${output}.new
    COMMAND ${CMAKE_COMMAND} -E rename ${output}.new ${output}
    DEPENDS ${program} VERBATIM)
  install(FILES ${output} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} COMPONENT programs)
  set(reference_files ${reference_files} ${output} PARENT_SCOPE)
endfunction()

dpledger_reference(dpledger man/man1/dpledger.1 man)
dpledger_reference(dpledger-server man/man8/dpledger-server.8 man)
dpledger_reference(dpledger-witness man/man8/dpledger-witness.8 man)
foreach(program dpledger dpledger-server dpledger-witness)
  dpledger_reference(${program} bash-completion/completions/${program} completion bash)
endforeach()
add_custom_target(reference ALL DEPENDS ${reference_files})
