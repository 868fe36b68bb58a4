internal import ArgumentParser
internal import Ferry
internal import FerryOptions
internal import FerryTerminal

enum TokenFileSection: OptionSection {
    static let arguments = OptionArgument.of(ProviderOption.tokenFile)
}

/// Options for the source of provider tokens: a key that signs them here, or a file of tokens from another program.
struct ProviderTokenOptions: ParsableArguments {
    @OptionGroup
    var key: TokenKeyOptions

    @OptionGroup
    var file: OptionArguments<TokenFileSection>

    private var providerTokenFile: String? { self.file.text("provider-token-file") }

    func validate() throws {
        if self.providerTokenFile != nil, !self.key.given.isEmpty {
            throw ValidationError("--provider-token-file excludes \(self.key.given.listed).")
        }
    }

    /// Whether a key or a file is named.
    var areGiven: Bool { self.key.areGiven || self.providerTokenFile != nil }

    /// The options that were given.
    var given: [String] { self.key.given + (self.providerTokenFile == nil ? [] : [Self.fileOption]) }

    /// Checks that a token and a certificate are not both given, and that a key has both identifiers.
    ///
    /// - Parameters:
    ///   - certificate: the options that name a certificate.
    ///   - user: the service that wants credentials, for the message.
    func validate(hasCertificate: Bool, of certificate: String = "--cert and --p12", for user: String) throws {
        if self.areGiven, hasCertificate {
            throw ValidationError(
                "\(self.given.first ?? "--p8") excludes \(certificate): \(user) takes a provider token or a certificate."
            )
        }
        try self.key.validateIdentifiers()
    }

    /// Checks that a token or a certificate is given.
    func require(hasCertificate: Bool, for user: String) throws {
        guard self.areGiven || hasCertificate else {
            throw ValidationError(
                "\(user) wants credentials: give --p8, --key-id and --team-id, or --provider-token-file, or --cert and "
                    + "--key, or --p12."
            )
        }
    }

    /// Reads the key or the token, or else the certificate: that of the options, else that of `file`.
    func credentials(
        or certificate: CredentialOptions,
        of file: NodeAPNSettings = NodeAPNSettings()
    ) throws -> HTTP2Configuration.Credentials {
        if let source = try self.source() { return .token(source) }
        guard let identity = try certificate.identity(or: file)?.usedWhenExpired() else {
            throw CommandFailure.usage("There are no credentials.")
        }
        return .certificate(identity)
    }

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
