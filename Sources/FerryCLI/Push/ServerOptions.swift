internal import ArgumentParser
internal import Ferry

/// Options that say which server to connect to, and whom to believe that it is that one.
struct ServerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The server, its port 1 to 65535; an IPv6 address in brackets.", valueName: "host:port"))
    var to: Endpoint?

    @Flag(help: "Use Apple's server for production. Apple has switched off those of the binary protocol.")
    var production = false

    @Flag(help: "Use Apple's server for development. Apple has switched off those of the binary protocol.")
    var sandbox = false

    @Option(help: ArgumentHelp("Who may vouch for the server, in PEM form, if not the system's.", valueName: "file"))
    var ca: String?

    @Option(help: ArgumentHelp("The name the server's certificate must be for, if not its host.", valueName: "name"))
    var serverName: String?

    @Option(help: "The highest TLS version: 1.2 or 1.3. (default: 1.2; 1.3 with --backend http2)")
    var tlsMax: TLSMaximum?

    @Option(help: TLSProfileOption.help)
    var tlsProfile = TLSProfileOption.modern

    /// Whether any option says where to connect.
    var namesServer: Bool { self.to != nil || self.production || self.sandbox }

    func validate() throws {
        if self.production, self.sandbox { throw ValidationError("--production and --sandbox exclude each other.") }
        if self.to != nil, self.production || self.sandbox {
            throw ValidationError("--to excludes --production and --sandbox.")
        }
    }

    /// Checks that a server is named, and that Apple's gets a certificate.
    ///
    /// - Parameter purpose: what is done there, in a word: "send" or "read".
    func validate(for purpose: String, _ credentials: CredentialOptions) throws {
        try self.validate(for: purpose)
        if self.to == nil, !credentials.areGiven { throw ValidationError(Self.missingCertificate) }
    }

    /// Checks that a server is named.
    func validate(for purpose: String) throws {
        guard self.namesServer else {
            throw ValidationError("Say where to \(purpose): --to HOST:PORT, --production or --sandbox.")
        }
    }

    static let missingCertificate = "Apple's servers want a certificate: give --cert and --key, or --p12."

    /// - Parameter maximum: the highest, unless an option says so.
    func tlsVersions(upTo maximum: TLSVersion) -> ClosedRange<TLSVersion> {
        .tls12...(self.tlsMax?.version ?? maximum)
    }
}
