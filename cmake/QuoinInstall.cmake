# QuoinInstall.cmake: what `cmake --install` puts where. Programs and plugins install themselves beside their targets.
#
#   bin/quoin                          the program                  (host/cli)
#   lib/libquoin.so                    quoin::host                  <quoin/engine.h>
#   lib/libquoin_*.a                   quoin::formats               <quoin/p64.h> <quoin/q42.h> <quoin/gguf.h> <quoin/ntriples.h> …
#   include/quoin/                     quoin::abi and the headers above
#   lib/quoin/plugins/*.quoin.so       backends                     (abi/cmake/QuoinAddPlugin.cmake)
#   lib/cmake/quoin/                   find_package(quoin [COMPONENTS abi formats host])
#   lib/pkgconfig/                     quoin.pc quoin-formats.pc quoin-abi.pc
#   share/man, share/bash-completion, share/doc/quoin
#
# The three exported targets live in three export sets, because only quoin::formats needs other packages (libcrypto, jansson, liblz4): who
# writes a plugin or embeds the host needs neither of them installed.
include(CMakePackageConfigHelpers)

set(quoin_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/quoin")
set(quoin_static_formats quoin_gguf quoin_p64 quoin_q42 quoin_safetensors quoin_ntriples quoin_lora quoin_blocks quoin_fmt_common)

# Inside the package the parts are quoin::gguf, quoin::p64, …; quoin::formats is all of them.
foreach(library ${quoin_static_formats})
  string(REPLACE "quoin_" "" exported ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${exported})
endforeach()
set_target_properties(quoin_formats PROPERTIES EXPORT_NAME formats)

install(TARGETS quoin_abi EXPORT quoin_abi)
install(TARGETS quoin_formats ${quoin_static_formats} EXPORT quoin_formats ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(TARGETS quoin_host EXPORT quoin_host LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
foreach(part abi formats host)
  install(EXPORT quoin_${part} FILE quoin-${part}.cmake NAMESPACE quoin:: DESTINATION "${quoin_cmake_dir}")
endforeach()

install(DIRECTORY abi/include/quoin formats/include/quoin host/include/quoin DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(DIRECTORY abi/doc/ DESTINATION "${CMAKE_INSTALL_DOCDIR}/abi")
install(DIRECTORY formats/doc/ DESTINATION "${CMAKE_INSTALL_DOCDIR}/formats")
install(FILES README.md CHANGELOG.md SECURITY.md LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(FILES examples/generate.c examples/q42_lookup.c DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")
install(DIRECTORY examples/minimal-plugin examples/rust-plugin DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")

configure_package_config_file(cmake/quoinConfig.cmake.in "${CMAKE_BINARY_DIR}/package/quoinConfig.cmake"
  INSTALL_DESTINATION "${quoin_cmake_dir}" PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/package/quoinConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/package/quoinConfig.cmake" "${CMAKE_BINARY_DIR}/package/quoinConfigVersion.cmake"
  abi/cmake/QuoinAddPlugin.cmake abi/exports.map DESTINATION "${quoin_cmake_dir}")

# pkg-config files find the prefix from where they lie, so that an installation may be moved or staged.
set(quoin_pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH quoin_prefix_from_pc "/prefix/${quoin_pc_dir}" "/prefix")
foreach(package quoin quoin-formats quoin-abi)
  configure_file(cmake/${package}.pc.in "${CMAKE_BINARY_DIR}/package/${package}.pc" @ONLY)
  install(FILES "${CMAKE_BINARY_DIR}/package/${package}.pc" DESTINATION "${quoin_pc_dir}")
endforeach()

if(QUOIN_MAN)
  install(DIRECTORY host/cli/man/ DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" FILES_MATCHING PATTERN "*.1")
  install(DIRECTORY host/cli/man/ DESTINATION "${CMAKE_INSTALL_MANDIR}/man5" FILES_MATCHING PATTERN "*.5")
  install(FILES host/cli/completion/quoin.bash DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME quoin)
endif()
