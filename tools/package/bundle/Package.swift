// swift-tools-version:5.5
// SPDX-License-Identifier: MIT
import PackageDescription

let package = Package(
    name: "Morsel",
    products: [.library(name: "Morsel", targets: ["Morsel"])],
    targets: [.target(name: "Morsel", path: "src", publicHeadersPath: ".")],
    cLanguageStandard: .c11
)
