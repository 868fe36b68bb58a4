internal import ArgumentParser
internal import Ferry
internal import FerryTerminal

/// Options of a migration from the binary protocol to HTTP/2.
struct MigrationOptionGroup: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The share of devices that go over HTTP/2, in percent. (default: 0)", valueName: "percent")
    )
    var share: Double?

    @Option(
        help: ArgumentHelp(
            "A file with the share, a number. It is read again each second, and a change moves devices in the run.",
            valueName: "file"
        )
    )
    var shareFile: String?

    @Flag(help: "Let each side take over what the other certainly did not deliver, while that is down or refused.")
    var fallback = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            With --fallback: how long a side with work may have no usable connection before it is down. \
            (default: \(Seconds(MigrationOptions.Fallback().downAfter).defaultValueDescription))
            """,
            valueName: "seconds"
        )
    )
    var downAfter: Seconds?

    @Option(help: ArgumentHelp("The gateway of the binary protocol.", valueName: "host:port"))
    var binaryTo: Endpoint?

    @Option(help: ArgumentHelp("Like --ca, for the gateway alone.", valueName: "file"))
    var binaryCa: String?

    @Option(help: ArgumentHelp("Like --server-name, for the gateway alone.", valueName: "name"))
    var binaryServerName: String?

    @Option(help: ArgumentHelp("Like --cert, for the gateway alone.", valueName: "file"))
    var binaryCert: String?

    @Option(help: ArgumentHelp("Like --key, for the gateway alone.", valueName: "file"))
    var binaryKey: String?

    @Option(help: ArgumentHelp("Like --p12, for the gateway alone.", valueName: "file"))
    var binaryP12: String?

    @Option(help: ArgumentHelp("Like --passphrase-file, for the gateway alone.", valueName: "file"))
    var binaryPassphraseFile: String?

    @Option(help: ArgumentHelp("The server of HTTP/2, if not Apple's.", valueName: "host:port"))
    var http2To: Endpoint?

    @Option(help: ArgumentHelp("Like --ca, for HTTP/2 alone.", valueName: "file"))
    var http2Ca: String?

    @Option(help: ArgumentHelp("Like --server-name, for HTTP/2 alone.", valueName: "name"))
    var http2ServerName: String?

    @Option(help: ArgumentHelp("Like --cert, for HTTP/2 alone.", valueName: "file"))
    var http2Cert: String?

    @Option(help: ArgumentHelp("Like --key, for HTTP/2 alone.", valueName: "file"))
    var http2Key: String?

    @Option(help: ArgumentHelp("Like --p12, for HTTP/2 alone.", valueName: "file"))
    var http2P12: String?

    @Option(help: ArgumentHelp("Like --passphrase-file, for HTTP/2 alone.", valueName: "file"))
    var http2PassphraseFile: String?

    /// The options that were given.
    var given: [String] {
        [
            ("--share", self.share != nil), ("--share-file", self.shareFile != nil), ("--fallback", self.fallback),
            ("--down-after", self.downAfter != nil),
            ("--binary-to", self.binaryTo != nil), ("--binary-ca", self.binaryCa != nil),
            ("--binary-server-name", self.binaryServerName != nil), ("--binary-cert", self.binaryCert != nil),
            ("--binary-key", self.binaryKey != nil), ("--binary-p12", self.binaryP12 != nil),
            ("--binary-passphrase-file", self.binaryPassphraseFile != nil), ("--http2-to", self.http2To != nil),
            ("--http2-ca", self.http2Ca != nil), ("--http2-server-name", self.http2ServerName != nil),
            ("--http2-cert", self.http2Cert != nil), ("--http2-key", self.http2Key != nil),
            ("--http2-p12", self.http2P12 != nil), ("--http2-passphrase-file", self.http2PassphraseFile != nil),
        ].filter(\.1).map(\.0)
    }

    func validate() throws {
        if self.share != nil, self.shareFile != nil {
            throw ValidationError("--share and --share-file exclude each other.")
        }
        try self.downAfter?.validate("--down-after")
        if self.downAfter != nil, !self.fallback { throw ValidationError("--down-after needs --fallback.") }
        if let share, !(0...100).contains(share) { throw ValidationError("--share takes 0 to 100 percent.") }
        for (cert, key, p12, passphrase, side) in [
            (self.binaryCert, self.binaryKey, self.binaryP12, self.binaryPassphraseFile, "binary"),
            (self.http2Cert, self.http2Key, self.http2P12, self.http2PassphraseFile, "http2"),
        ] {
            if passphrase != nil, cert == nil, p12 == nil {
                throw ValidationError("--\(side)-passphrase-file needs --\(side)-p12 or --\(side)-cert.")
            }
            if cert != nil, p12 != nil { throw ValidationError("--\(side)-cert and --\(side)-p12 exclude each other.") }
            if key != nil, cert == nil { throw ValidationError("--\(side)-key needs --\(side)-cert.") }
        }
    }

    /// Puts the options of one side in place of those for both.
    func apply(of side: ProviderSide, to command: inout PushCommand) {
        switch side {
        case .binary:
            command.server.to = self.binaryTo
            // Apple's servers are those of HTTP/2.
            command.server.production = false
            command.server.sandbox = false
            command.server.ca = self.binaryCa ?? command.server.ca
            command.server.serverName = self.binaryServerName ?? command.server.serverName
            guard self.binaryCert != nil || self.binaryP12 != nil else { return }
            command.credentials.cert = self.binaryCert
            command.credentials.key = self.binaryKey
            command.credentials.p12 = self.binaryP12
            command.credentials.passphraseFile = self.binaryPassphraseFile ?? command.credentials.passphraseFile
        case .http2:
            command.server.to = self.http2To
            command.server.ca = self.http2Ca ?? command.server.ca
            command.server.serverName = self.http2ServerName ?? command.server.serverName
            guard self.http2Cert != nil || self.http2P12 != nil else { return }
            command.credentials.cert = self.http2Cert
            command.credentials.key = self.http2Key
            command.credentials.p12 = self.http2P12
            command.credentials.passphraseFile = self.http2PassphraseFile ?? command.credentials.passphraseFile
        }
    }
}
