internal import ArgumentParser
internal import Ferry
internal import FerryOptions
internal import FerryTerminal

/// Options of a migration from the binary protocol to HTTP/2.
enum MigrationSection: OptionSection {
    static let arguments: [OptionArgument] =
        OptionArgument.of(ProviderOption.migration) + Self.ofSide(.binary) + Self.ofSide(.http2)

    /// The options that exist for each side, as options for this side alone.
    private static func ofSide(_ side: ProviderSide) -> [OptionArgument] {
        ProviderOption.all.filter(\.isOfEachSide).map { option in
            let like = "Like --\(option.name(in: .commandLine) ?? ""), for "
            let help =
                switch (side, option.kind) {
                case (.binary, .address): "The gateway of the binary protocol."
                case (.http2, .address): "The server of HTTP/2, if not Apple's."
                case (.binary, _): "\(like)the gateway alone."
                case (.http2, _): "\(like)HTTP/2 alone."
                }
            return OptionArgument(option, of: side.rawValue, help: help)
        }
    }

    static func validate(_ migration: OptionArguments<MigrationSection>) throws {
        if migration.isGiven("share"), migration.isGiven("share-file") {
            throw ValidationError("--share and --share-file exclude each other.")
        }
        if migration.isGiven("down-after"), !migration.isGiven("fallback") {
            throw ValidationError("--down-after needs --fallback.")
        }
        for side in ProviderSide.allCases.map(\.rawValue) {
            let (cert, p12) = (migration.isGiven("\(side)-cert"), migration.isGiven("\(side)-p12"))
            if migration.isGiven("\(side)-passphrase-file"), !cert, !p12 {
                throw ValidationError("--\(side)-passphrase-file needs --\(side)-p12 or --\(side)-cert.")
            }
            if cert, p12 { throw ValidationError("--\(side)-cert and --\(side)-p12 exclude each other.") }
            if migration.isGiven("\(side)-key"), !cert { throw ValidationError("--\(side)-key needs --\(side)-cert.") }
        }
    }
}

extension OptionArguments where Section == MigrationSection {
    /// Whether a side has a certificate of its own.
    func hasIdentity(of side: ProviderSide) -> Bool {
        self.isGiven("\(side.rawValue)-cert") || self.isGiven("\(side.rawValue)-p12")
    }

    /// The server of a side.
    func endpoint(of side: ProviderSide) -> Endpoint? { self.endpoint("\(side.rawValue)-to") }

    /// Puts the options of one side in place of those for both.
    func put(optionsOf side: ProviderSide, into command: inout PushCommand) {
        func own(_ name: String) -> String? { self.text("\(side.rawValue)-\(name)") }
        command.server.replace("to", by: own("to"))
        if side == .binary {
            // --production and --sandbox name Apple's servers, which are for HTTP/2.
            command.server.replace("production", by: nil)
            command.server.replace("sandbox", by: nil)
        }
        for name in ["ca", "server-name"] {
            if let text = own(name) { command.server.replace(name, by: text) }
        }
        guard self.hasIdentity(of: side) else { return }
        for name in ["cert", "key", "p12"] { command.credentials.replace(name, by: own(name)) }
        if let file = own("passphrase-file") { command.credentials.replace("passphrase-file", by: file) }
    }
}
