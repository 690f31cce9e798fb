# SPDX-License-Identifier: Apache-2.0
# cmake -DOUT=FILE.c -DFOLDER=DIR -DNAMES=a.html,b.js -P embed_files.cmake
# Writes the files of FOLDER as the table glint_page_files (src/server/page_files.h): name, media
# type, entity tag (of the content, so it changes with it), bytes. Run at build, by CMake alone.
set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")

string(REPLACE "," ";" names "${NAMES}")
set(arrays "")
set(rows "")
set(i 0)
foreach(name ${names})
    file(READ "${FOLDER}/${name}" hex HEX)
    file(SHA256 "${FOLDER}/${name}" hash)
    string(SUBSTRING "${hash}" 0 16 hash)
    string(REGEX REPLACE ".*\\." "" ending "${name}")
    if(NOT type_${ending})
        message(FATAL_ERROR "${name}: found no media type for .${ending} in embed_files.cmake")
    endif()
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(APPEND arrays "static const unsigned char file_${i}[] = {${bytes}};\n")
    string(APPEND rows "    {\"${name}\", \"${type_${ending}}\", \"\\\"${hash}\\\"\", file_${i}, "
        "sizeof file_${i}},\n")
    math(EXPR i "${i} + 1")
endforeach()
file(WRITE "${OUT}" "// Written by cmake/embed_files.cmake from the files of the chat page.\n"
    "#include \"server/page_files.h\"\n\n${arrays}\n"
    "const struct glint_page_file glint_page_files[] = {\n${rows}};\n"
    "const size_t glint_page_n_files = ${i};\n")
