internal import ArgumentParser
internal import Ferry

/// Options that say where provider tokens come from: a key that signs them here, or a file of tokens made elsewhere.
struct ProviderTokenOptions: ParsableArguments {
    @OptionGroup
    var key: TokenKeyOptions

    @Option(
        help: ArgumentHelp(
            "A file with a provider token that is made elsewhere; it is read again when it changes.",
            valueName: "file"
        )
    )
    var providerTokenFile: String?

    func validate() throws {
        if self.providerTokenFile != nil, !self.key.given.isEmpty {
            throw ValidationError("--provider-token-file excludes \(self.key.given.listed).")
        }
    }

    /// Whether a key or a file is named.
    var areGiven: Bool { self.key.areGiven || self.providerTokenFile != nil }

    /// The options that were given.
    var given: [String] { self.key.given + (self.providerTokenFile == nil ? [] : [Self.fileOption]) }

    /// Checks that everything is there that a token needs, if a key is named.
    func validateIdentifiers() throws { try self.key.validateIdentifiers() }

    /// Reads the key, or the token; nil when none was named.
    ///
    /// - Throws: ``CommandFailure`` with status 2 when a file is of no use.
    func source() throws -> ProviderTokenSource? {
        guard let providerTokenFile else { return try self.key.source() }
        return try Self.source(OptionFile(Self.fileOption, providerTokenFile))
    }

    private static func source(_ file: OptionFile) throws(CommandFailure) -> ProviderTokenSource {
        let text: String
        do {
            // Here the option is known, which an error names in place of the file.
            text = String(decoding: try file.bytes(), as: UTF8.self)
        } catch {
            throw .usage(error.description)
        }
        file.warnIfOpen(holding: "a provider token")
        // What a shell makes for `<(…)` can be read once.
        let source = file.isRegular ? ProviderTokenSource(tokenFile: file.path) : ProviderTokenSource { text }
        do {
            _ = try source.token()
        } catch {
            throw .usage("\(error)")
        }
        return source
    }

    private static let fileOption = "--provider-token-file"
}
