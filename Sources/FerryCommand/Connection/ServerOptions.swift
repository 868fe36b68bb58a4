internal import ArgumentParser
internal import Ferry
internal import FerryOpenSSL
internal import FerryOptions
internal import FerryTerminal

/// Options for the certificate of a server: `ca`, `serverName`, `tlsProfile`, or some of them.
protocol TLSSection: OptionSection {}

extension TLSSection {
    static func validate(_ server: OptionArguments<Self>) throws {
        try HostName.require(server.serverName, "--server-name")
    }
}

extension OptionArguments where Section: TLSSection {
    var serverName: String? { self.text("server-name") }
    var tlsProfile: TLSProfile { self.text("tls-profile") == "legacy" ? .legacy : .modern }

    /// Reads the authorities of --ca. Returns nil without the option.
    ///
    /// - Throws: ``CommandFailure`` with status 2 when its file cannot be read.
    func trustRoots() throws(CommandFailure) -> TrustRoots? {
        guard let ca = self.text("ca") else { return nil }
        return try .ofOption("--ca", ca)
    }
}

/// Options for the server, and for the authorities that may sign its certificate.
typealias ServerOptions = OptionArguments<ServerSection>

enum ServerSection: TLSSection {
    static let arguments = OptionArgument.of(ProviderOption.server)

    static func validate(_ server: ServerOptions) throws {
        if server.production, server.sandbox { throw ValidationError("--production and --sandbox exclude each other.") }
        if server.to != nil, server.production || server.sandbox {
            throw ValidationError("--to excludes --production and --sandbox.")
        }
        try HostName.require(server.serverName, "--server-name")
    }
}

extension OptionArguments where Section == ServerSection {
    var to: Endpoint? { self.endpoint("to") }
    var production: Bool { self.isGiven("production") }
    var sandbox: Bool { self.isGiven("sandbox") }

    /// Whether an option names a server.
    var namesServer: Bool { self.to != nil || self.production || self.sandbox }

    /// Checks that a server is named.
    ///
    /// - Parameters:
    ///   - purpose: the purpose in one word, "send" or "read".
    ///   - file: a configuration that may name the server instead.
    func validate(for purpose: String, or file: NodeAPNSettings? = nil) throws {
        guard !self.namesServer, file?.namesServer != true else { return }
        let last = file == nil ? " or --sandbox" : ", --sandbox, or address or production in --config"
        throw ValidationError("Say where to \(purpose): --to HOST:PORT, --production\(last).")
    }

    /// Whether Apple's server for development is meant. The options of the command line replace those of a configuration.
    func usesSandbox(or file: NodeAPNSettings) -> Bool {
        self.sandbox || !self.production && file.production == false
    }

    /// - Parameter maximum: the highest version, unless an option sets another.
    func tlsVersions(upTo maximum: TLSVersion) -> ClosedRange<TLSVersion> {
        .tls12...(self.text("tls-max").flatMap { TLSMaximum(rawValue: $0)?.version } ?? maximum)
    }
}

extension TrustRoots {
    /// Reads the authorities in the file of an option.
    ///
    /// - Throws: ``CommandFailure`` with status 2 when the file cannot be read.
    static func ofOption(_ option: String, _ path: String) throws(CommandFailure) -> TrustRoots {
        let file = OptionFile(option, path)
        do {
            // The file is read here because an error must name the option, which is unknown later.
            let bytes = try file.bytes()
            return file.isRegular ? .file(path) : .pem(bytes)
        } catch {
            throw .usage(error.description)
        }
    }
}
