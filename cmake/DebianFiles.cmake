# Run by cpack in the packages' trees before they are packed: what Debian wants compressed is, and modes are plain.
file(GLOB_RECURSE texts ${CPACK_TEMPORARY_DIRECTORY}/*.1 ${CPACK_TEMPORARY_DIRECTORY}/*.8
  ${CPACK_TEMPORARY_DIRECTORY}/changelog ${CPACK_TEMPORARY_DIRECTORY}/changelog.Debian)
foreach(text ${texts})
  if(NOT IS_SYMLINK ${text} AND text MATCHES "/share/(man|doc)/")
    execute_process(COMMAND gzip --best --no-name --force ${text} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
execute_process(COMMAND chmod -R u=rwX,go=rX ${CPACK_TEMPORARY_DIRECTORY} COMMAND_ERROR_IS_FATAL ANY)
