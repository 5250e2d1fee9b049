# SPDX-License-Identifier: MIT
# morsel_add_model(TARGET MODEL.onnx [NAME name] [OPTIONS option...] [DEPENDS file...])
#
# The quantized network becomes a constant of TARGET when it is built: name.c is compiled with it, and "name.h" says MODEL_BLOB and
# MODEL_ARENA_BYTES, and NAME_BLOB and NAME_ARENA_BYTES. NAME is the file's own name unless given. OPTIONS are those of `morsel convert`, such
# as --picture RULE.json; files that they name come as DEPENDS, too.
function(morsel_add_model target model)
  cmake_parse_arguments(PARSE_ARGV 2 A "" "NAME" "OPTIONS;DEPENDS")
  if(A_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "morsel_add_model: what is \"${A_UNPARSED_ARGUMENTS}\"?")
  endif()
  if(NOT MORSEL_EXECUTABLE)
    message(FATAL_ERROR "morsel_add_model: there is no program morsel; set MORSEL_EXECUTABLE")
  endif()
  get_filename_component(model "${model}" ABSOLUTE)
  if(NOT A_NAME)
    get_filename_component(A_NAME "${model}" NAME_WE)
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/morsel_models)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${folder}/${A_NAME}.c ${folder}/${A_NAME}.h BYPRODUCTS ${folder}/${A_NAME}.morsel
    COMMAND ${MORSEL_EXECUTABLE} convert "${model}" -o ${folder}/${A_NAME}.morsel --c ${folder}/${A_NAME}.c ${A_OPTIONS}
    DEPENDS "${model}" ${A_DEPENDS} ${MORSEL_EXECUTABLE_TARGET} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    COMMENT "Converting ${A_NAME}" VERBATIM)
  target_sources(${target} PRIVATE ${folder}/${A_NAME}.c ${folder}/${A_NAME}.h)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
