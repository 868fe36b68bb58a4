internal import ArgumentParser
internal import Ferry
internal import FerryTerminal

/// Options for the source of provider tokens: a key that signs them here, or a file of tokens from another program.
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

    /// Checks that both identifiers are given if a key is named.
    func validateIdentifiers() throws { try self.key.validateIdentifiers() }

    /// Reads the key or the token. Returns nil if no option names one.
    ///
    /// - Throws: ``CommandFailure`` with status 2 when a file cannot be used.
    func source() throws -> ProviderTokenSource? {
        guard let providerTokenFile else { return try self.key.source() }
        return try Self.source(OptionFile(Self.fileOption, providerTokenFile))
    }

    private static func source(_ file: OptionFile) throws(CommandFailure) -> ProviderTokenSource {
        let text: String
        do {
            // The file is read here because an error must name the option, which is unknown later.
            text = String(decoding: try file.bytes(), as: UTF8.self)
        } catch {
            throw .usage(error.description)
        }
        file.warnIfOpen(holding: "a provider token")
        // A shell's pipe for `<(…)` can be read only once, so its token is kept.
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
