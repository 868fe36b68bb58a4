import Testing

/// Tests that pages and tools know every product.
@Suite struct ProductTests {
    /// The products that promise nothing: they are for the nested packages in `Tests`.
    private static let scaffolding: Set<String> = ["FerryC", "FerryCommand", "FerryWorlds"]

    private let products: [Manifest.Product]

    init() throws {
        self.products = try Manifest().products.filter { !Self.scaffolding.contains($0.name) }
    }

    @Test func `the glossary has every product`() throws {
        let path = try #require(Tree.files(in: "Docs", ending: "glossary.md").first)
        let section = try #require(try Tree.text(path).section("## Products"))
        for product in self.products {
            #expect(section.contains("| `\(product.name)` |"), "\(product.name) has no row in \(path) under Products.")
        }
    }

    @Test func `each library of Swift has a catalogue, which is built and published`() throws {
        let list = try Tree.text(".spi.yml").parts(from: "documentation_targets: [", to: "]").first ?? ""
        let published = list.split { $0 == "," || $0 == " " }.map(String.init)
        let built = try Tree.lines(".ci/docs").filter { $0.hasPrefix("convert ") }.map { $0.split(separator: " ")[1] }
        // The product for C and the command have the names of no target.
        for product in self.products where product.targets == [product.name] {
            let catalogue = "Sources/\(product.name)/\(product.name).docc"
            #expect(Tree.exists(catalogue), "\(product.name) has no catalogue: make \(catalogue).")
            #expect(published.contains(product.name), "Add \(product.name) to the documentation_targets of .spi.yml.")
            #expect(built.contains { $0 == product.name }, "Add `convert \(product.name)` to .ci/docs.")
        }
    }
}
