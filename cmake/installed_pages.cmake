# Writes the pages (PAGES, relative to FROM) below the folder INTO as they are installed: what they show of commands is typed as it stands.
# What is said of the build itself ("the build/verbena of the tree") has other words, and stays.
file(REMOVE_RECURSE ${INTO})
foreach(page ${PAGES})
  file(READ ${FROM}/${page} text)
  string(REGEX REPLACE "build/verbena (exec|explain|check|run|stat|fabric|fault|demo|doctor|init|paper|help|completion)" "verbena \\1" text "${text}")
  file(WRITE ${INTO}/${page} "${text}")
endforeach()
file(TOUCH ${INTO}/stamp)
