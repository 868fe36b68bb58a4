import FerryBinary
import FerryHTTP2
import Foundation
import Testing

@testable import FerryOptions

@Suite struct ProviderOptionTests {
    @Test(arguments: OptionLanguage.allCases)
    func `each name exists once in a language`(language: OptionLanguage) {
        let names = ProviderOption.all.compactMap { $0.name(in: language) }
        #expect(Set(names).count == names.count)
        #expect(Set(ProviderOption.all.map(\.name)).count == ProviderOption.all.count)
    }

    @Test(arguments: OptionLanguage.allCases)
    func `an option exists, or its row says why not`(language: OptionLanguage) {
        for option in ProviderOption.all {
            #expect((option.name(in: language) == nil) == (option.absence(in: language) != nil), "\(option.name)")
            #expect(option.absence(in: language) != "", "\(option.name)")
        }
    }

    @Test func `the command line has a help for each of its options`() {
        for option in ProviderOption.all where option.name(in: .commandLine) != nil {
            #expect(option.help.hasSuffix("."), "\(option.name)")
        }
    }

    /// Values of each kind. At least one differs from the default.
    private static func values(_ kind: OptionKind) -> [OptionValue] {
        switch kind {
        case .flag: [.boolean(true), .boolean(false)]
        case .count, .limit, .number, .seconds, .timeLimit: [.number(77)]
        case .choice(let words): words.map { .text($0) }
        case .text, .file, .secret, .address, .object, .list: [.text("x")]
        }
    }

    @Test func `each option of behaviour changes the options of its protocols, and of no other`() {
        let names = [ProviderOption.connections, ProviderOption.binaryProtocol, ProviderOption.http2Protocol]
            .flatMap { $0 }.map(\.name).filter { !["loops", "proof"].contains($0) }
        for option in ProviderOption.all {
            let values = Self.values(option.kind)
            let changesBinary = values.contains { value in
                var options = BinaryOptions()
                options.set { $0.name == option.name ? value : nil }
                return options != BinaryOptions()
            }
            let changesHTTP2 = values.contains { value in
                var options = HTTP2Options()
                options.set { $0.name == option.name ? value : nil }
                return options != HTTP2Options()
            }
            let isOfBehaviour = names.contains(option.name)
            #expect(changesBinary == (isOfBehaviour && option.owners.contains(.binary)), "\(option.name)")
            #expect(changesHTTP2 == (isOfBehaviour && option.owners.contains(.http2)), "\(option.name)")
        }
    }

    private static func page(_ name: String) throws -> String {
        let package = URL(filePath: #filePath).appending(path: "../../../../").standardizedFileURL
        return try String(contentsOf: package.appending(path: name), encoding: .utf8)
    }

    @Test func `the page for C lists the options of the table, and no other`() throws {
        let page = try Self.page("Docs/begin/c.md")
        let section = try #require(page.split(separator: "\n## ").first { $0.hasPrefix("Options\n") })
        let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }
        let names = rows.flatMap { row in
            row.split(separator: "|")[0].split(separator: "`").map(String.init).filter {
                $0.allSatisfy { !" ,".contains($0) }
            }
        }
        #expect(Set(names) == ProviderOption.names(in: .c) { _ in true })
    }

    @Test func `the page of the gateway lists the options of an upstream`() throws {
        let page = try Self.page("Docs/commands/gateway.md")
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `upstreams.NAME.") }
        for name in ProviderOption.names(in: .gateway, where: { _ in true }) {
            #expect(rows.contains { $0.contains("`\(name)`") || $0.contains(".\(name)`") }, "\(name)")
        }
    }

    @Test func `the page of ferry push names each of its options`() throws {
        let page = try Self.page("Docs/commands/push.md")
        for option in ProviderOption.all {
            guard let name = option.name(in: .commandLine) else { continue }
            #expect(page.contains("--\(name)"), "\(name)")
        }
    }
}
