# SPDX-License-Identifier: MIT
"""Morsel for Conan: conan create ."""
from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class Morsel(ConanFile):
    name = "morsel"
    version = "@version@"
    license = "MIT"
    description = "int8 neural networks in memory that you hand it"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    exports_sources = "CMakeLists.txt", "LICENSE", "cmake/*", "src/*"
    languages = "C"

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeToolchain(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.libs = ["morsel"]
        self.cpp_info.set_property("cmake_target_name", "morsel::morsel")
