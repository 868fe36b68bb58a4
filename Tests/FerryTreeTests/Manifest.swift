import Foundation

/// `Package.swift`, as far as these tests need it. It is read as text: the form is that of `swift format`.
struct Manifest {
    struct Target {
        /// The word before the parenthesis, such as `testTarget`.
        var kind: String
        var name: String
        /// The names of targets and of products of other packages.
        var dependencies: Set<String>
        /// The folder.
        var path: String

        /// The modules that its files import, each with one of the files.
        func imports() throws -> [String: String] {
            var imports: [String: String] = [:]
            for file in Tree.files(in: self.path) {
                for module in try Self.imports(of: file) { imports[module] = file }
            }
            return imports
        }

        /// The imports of a file. They stand before everything else.
        private static func imports(of file: String) throws -> [String] {
            var imports: [String] = []
            for line in try Tree.lines(file) {
                let words = line.split(separator: " ")
                guard let first = words.first, !first.hasPrefix("//"), !first.hasPrefix("#") else { continue }
                guard let place = words.firstIndex(of: "import"), place + 1 < words.count else { break }
                // `import struct Module.Name` names a declaration.
                imports.append(String(words.last?.split(separator: ".").first ?? ""))
            }
            return imports
        }
    }

    struct Product {
        var name: String
        var targets: [String]
    }

    var targets: [Target]
    var products: [Product]

    /// The targets of `Sources`.
    var sources: [Target] { self.targets.filter { $0.path.hasPrefix("Sources/") } }

    init() throws {
        let text = try Tree.text("Package.swift")
        self.products = (text.parts(from: "\n    products: [", to: "\n    ],").first ?? "")
            .parts(from: "\n        .", to: "]),")
            .map { item in
                Product(
                    name: Self.value("name", in: item) ?? "",
                    targets: Self.literals(item.components(separatedBy: "targets: [").last ?? "")
                )
            }
        self.targets = (text.parts(from: "\n    targets: [", to: "\n    ],").first ?? "")
            .components(separatedBy: "\n        .").dropFirst()
            .map { item in
                let kind = item.components(separatedBy: "(")[0]
                let name = Self.value("name", in: item) ?? ""
                return Target(
                    kind: kind,
                    name: name,
                    dependencies: Set(Self.dependencies(in: item)),
                    path: Self.value("path", in: item) ?? "\(kind == "testTarget" ? "Tests" : "Sources")/\(name)"
                )
            }
    }

    private static func value(_ label: String, in item: String) -> String? {
        item.parts(from: "\(label): \"", to: "\"").first
    }

    private static func dependencies(in item: String) -> [String] {
        guard let list = item.components(separatedBy: "dependencies: [").dropFirst().first else { return [] }
        var depth = 1
        let body = list.prefix { character in
            depth += character == "[" ? 1 : character == "]" ? -1 : 0
            return depth > 0
        }
        // A trait is the condition of a dependency, and none itself.
        let named = String(body).replacingOccurrences(of: #"traits: \[[^\]]*\]"#, with: "", options: .regularExpression)
        let pieces = named.components(separatedBy: "package: \"")
        // Each piece after the first begins with the name of a package, which is no dependency.
        let rest = pieces.dropFirst().map { $0.components(separatedBy: "\"").dropFirst().joined(separator: "\"") }
        return self.literals(pieces[0] + rest.joined())
    }

    /// The texts in quotation marks.
    private static func literals(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }
            .map { String($0.element) }
    }
}
