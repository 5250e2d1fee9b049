# SPDX-License-Identifier: MIT
# morsel_add_model(TARGET MODEL.onnx [NAME name] [ONLY_USED] [OPTIONS option...] [DEPENDS file...])
#
# The quantized network becomes a constant of TARGET when it is built: name.c is compiled with it, and "name.h" says MODEL_BLOB and
# MODEL_ARENA_BYTES, and name_blob and NAME_ARENA_BYTES. NAME is the file's own name unless given. OPTIONS are those of `morsel convert`, such
# as --picture RULE.json; files that they name come as DEPENDS, too. C is one of the project's languages.
function(morsel_add_model target model)
  cmake_parse_arguments(PARSE_ARGV 2 A "ONLY_USED" "NAME" "OPTIONS;DEPENDS")
  if(A_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "morsel_add_model: what is \"${A_UNPARSED_ARGUMENTS}\"?")
  endif()
  if(NOT MORSEL_EXECUTABLE)
    message(FATAL_ERROR "morsel_add_model: there is no program morsel; set MORSEL_EXECUTABLE")
  endif()
  if(MORSEL_EXECUTABLE_TARGET AND MORSEL_EXECUTABLE MATCHES " ")
    message(FATAL_ERROR "morsel_add_model: make cannot build the tool in a folder with blanks in its name, ${MORSEL_EXECUTABLE}. Choose a "
      "build folder without them, or a tool that is there: -DMORSEL_EXECUTABLE=/path/morsel")
  endif()
  if(NOT CMAKE_C_COMPILE_OBJECT) # a function cannot enable it for the folder that calls
    message(FATAL_ERROR "morsel_add_model: a network becomes a file of C. Name C in project(), or say enable_language(C) before")
  endif()
  get_filename_component(model "${model}" ABSOLUTE)
  if(NOT A_NAME)
    get_filename_component(A_NAME "${model}" NAME_WE)
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/morsel_models)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${folder}/${A_NAME}.c ${folder}/${A_NAME}.h ${folder}/${A_NAME}_use.h
    BYPRODUCTS ${folder}/${A_NAME}.morsel ${folder}/${A_NAME}_use.c
    COMMAND ${MORSEL_EXECUTABLE} convert "${model}" -o ${folder}/${A_NAME}.morsel --c ${folder}/${A_NAME}.c ${A_OPTIONS}
    DEPENDS "${model}" ${A_DEPENDS} ${MORSEL_EXECUTABLE_TARGET} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    COMMENT "Converting ${A_NAME}" VERBATIM)
  target_sources(${target} PRIVATE ${folder}/${A_NAME}.c ${folder}/${A_NAME}.h)
  target_include_directories(${target} PRIVATE ${folder})
  if(A_ONLY_USED)
    # One table of the kinds of all: the others' macros, then one network's file.
    get_target_property(headers ${target} MORSEL_USE_HEADERS)
    if(NOT headers)
      set(headers)
      target_sources(${target} PRIVATE ${folder}/${target}_uses.c)
      target_link_options(${target} PRIVATE $<IF:$<PLATFORM_ID:Darwin>,-Wl$<COMMA>-dead_strip,-Wl$<COMMA>--gc-sections>)
    endif()
    string(APPEND headers "#include \"${A_NAME}_use.h\"\n")
    set_target_properties(${target} PROPERTIES MORSEL_USE_HEADERS "${headers}")
    target_sources(${target} PRIVATE ${folder}/${A_NAME}_use.h)
    file(CONFIGURE OUTPUT ${folder}/${target}_uses.c CONTENT "${headers}#include \"${A_NAME}_use.c\"\n" @ONLY)
  endif()
endfunction()
