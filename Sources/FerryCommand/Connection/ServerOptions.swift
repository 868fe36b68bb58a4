internal import ArgumentParser
internal import Ferry
internal import FerryOpenSSL
internal import FerryTerminal

/// Options for the server, and for the authorities that may sign its certificate.
struct ServerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The server without https://, its port 1 to 65535; an IPv6 address in brackets.",
            valueName: "host:port"
        )
    )
    var to: Endpoint?

    @Flag(help: "Use Apple's server for production. It speaks HTTP/2; Apple switched the others off in 2021.")
    var production = false

    @Flag(help: "Use Apple's server for development. It speaks HTTP/2; Apple switched the others off in 2021.")
    var sandbox = false

    @Option(help: ArgumentHelp("Who may vouch for the server, in PEM form, if not the system's.", valueName: "file"))
    var ca: String?

    @Option(help: ArgumentHelp("The name the server's certificate must be for, if not its host.", valueName: "name"))
    var serverName: String?

    @Option(help: "The highest TLS version: 1.2 or 1.3. (default: 1.2; 1.3 for HTTP/2)")
    var tlsMax: TLSMaximum?

    @Option(help: TLSProfileOption.help)
    var tlsProfile = TLSProfileOption.modern

    /// The given options, of those that replace options of a configuration.
    var given: Set<String> {
        let options: [(String, Bool)] = [
            ("--to", self.to != nil), ("--production", self.production), ("--sandbox", self.sandbox),
            ("--ca", self.ca != nil),
        ]
        return Set(options.lazy.filter(\.1).map(\.0))
    }

    /// Whether an option names a server.
    var namesServer: Bool { self.to != nil || self.production || self.sandbox }

    func validate() throws {
        if self.production, self.sandbox { throw ValidationError("--production and --sandbox exclude each other.") }
        if self.to != nil, self.production || self.sandbox {
            throw ValidationError("--to excludes --production and --sandbox.")
        }
        try HostName.require(self.serverName, "--server-name")
    }

    /// Checks that a server is named.
    ///
    /// - Parameter purpose: the purpose in one word, "send" or "read".
    func validate(for purpose: String) throws {
        guard self.namesServer else {
            throw ValidationError("Say where to \(purpose): --to HOST:PORT, --production or --sandbox.")
        }
    }

    /// Whether Apple's server for development is meant. The options of the command line replace those of a configuration.
    func usesSandbox(or file: NodeAPNSettings) -> Bool {
        self.sandbox || !self.production && file.production == false
    }

    /// Reads the authorities of --ca. Returns nil without the option.
    ///
    /// - Throws: ``CommandFailure`` with status 2 when its file cannot be read.
    func trustRoots() throws(CommandFailure) -> TrustRoots? {
        guard let ca else { return nil }
        return try .ofOption("--ca", ca)
    }

    /// - Parameter maximum: the highest version, unless an option sets another.
    func tlsVersions(upTo maximum: TLSVersion) -> ClosedRange<TLSVersion> {
        .tls12...(self.tlsMax?.version ?? maximum)
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
