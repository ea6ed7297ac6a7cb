# Has the command (VERBENA) write its man pages and completions below the folder INTO, as they lie below a prefix.
function(write file)
  execute_process(COMMAND ${VERBENA} ${ARGN} OUTPUT_FILE ${INTO}/share/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${INTO})
set(completions bash-completion/completions zsh/vendor-completions fish/vendor_completions.d)
foreach(folder man/man1 man/man7 ${completions})
  file(MAKE_DIRECTORY ${INTO}/share/${folder})
endforeach()

execute_process(COMMAND ${VERBENA} help --man OUTPUT_VARIABLE pages COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" pages "${pages}")
foreach(page ${pages})
  string(REGEX REPLACE "\\.([0-9])$" "" name ${page})
  string(REGEX REPLACE "^.*\\." "" section ${page})
  write(man/man${section}/${page} help --man ${name})
endforeach()

write(bash-completion/completions/verbena completion bash)
write(zsh/vendor-completions/_verbena completion zsh)
write(fish/vendor_completions.d/verbena.fish completion fish)
file(TOUCH ${INTO}/stamp)
