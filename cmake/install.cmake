# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where.  Included last, when the targets exist.
foreach(target gind gin-perf)
  if(TARGET ${target})
    install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
if(TARGET ginclient)
  install(TARGETS ginclient LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY libginclient/include/gin queues/include/gin
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.cuh")
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/config/gind.toml)
  # gind reads /etc whatever the prefix is.  A file that is there has its owner's settings.
  install(CODE "
    set(to \"/etc/gind/gind.toml\")
    if(EXISTS \"\$ENV{DESTDIR}\${to}\")
      message(STATUS \"Kept: \$ENV{DESTDIR}\${to}\")
    else()
      file(INSTALL \"${PROJECT_SOURCE_DIR}/config/gind.toml\" DESTINATION \"/etc/gind\")
    endif()")
endif()

# systemd looks below PREFIX/lib on every distribution, never in lib64 or lib/TRIPLET, for the prefixes
# /usr and /usr/local.
configure_file(systemd/gind.service.in systemd/gind.service @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/systemd/gind.service DESTINATION lib/systemd/system)
install(FILES systemd/sysusers.d/gind.conf DESTINATION lib/sysusers.d)
install(FILES systemd/tmpfiles.d/gind.conf DESTINATION lib/tmpfiles.d)
