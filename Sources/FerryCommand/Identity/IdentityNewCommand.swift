internal import ArgumentParser
internal import Ferry
internal import FerryCore
internal import FerryOpenSSL
internal import FerryTerminal

/// The command `ferry identity new`.
struct IdentityNewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: "Makes a server certificate for a gateway, and a client certificate for an old stack.",
        discussion: """
            Both are signed by a new authority whose key is not kept: nobody can sign another client with it. The server \
            certificate is for Apple's four host names of the binary protocol, localhost, 127.0.0.1, ::1, and each \
            --host. The client certificate looks like Apple's for push, for development and production. It proves \
            nothing to Apple: APNs gets the key or the certificate that the gateway's configuration names.

            Nothing is overwritten. Only the owner may read files with keys. Without --passphrase-file, a new \
            passphrase protects the .p12 files, and client-passphrase.txt holds it.

            Examples:
              ferry identity new --topic com.example.app --dir gateway --host gateway.internal
              ferry gateway --config gateway/gateway.json --check

            A key store for Java 6 to 8, and one with the authorities that it trusts:
              keytool -importkeystore -srckeystore client-legacy.p12 -srcstoretype PKCS12 \\
                -destkeystore client.jks -deststoretype JKS
              keytool -importcert -noprompt -alias ferry -file ca.pem -keystore trust.jks -storetype JKS
            """
    )

    @Option(help: ArgumentHelp("The app's bundle ID, which is the topic of its notifications.", valueName: "topic"))
    var topic: String

    @Option(help: ArgumentHelp("Where the files go; made if it is not there.", valueName: "dir"))
    var dir = "gateway"

    @Option(
        help: ArgumentHelp("A name or address by which clients reach the gateway; may be repeated.", valueName: "host")
    )
    var host: [String] = []

    @Option(parsing: .unconditional, help: ArgumentHelp("How long the certificates are valid.", valueName: "days"))
    var days = 3650

    @Option(help: ArgumentHelp("A file whose first line protects the .p12 files.", valueName: "file"))
    var passphraseFile: String?

    /// The longest period in days. A much longer one could end after the year 9999, which OpenSSL's dates cannot
    /// express.
    private static let longest = 36_500

    func validate() throws {
        guard PushNotification.faults(topic: self.topic).isEmpty else {
            throw ValidationError("--topic takes the app's bundle ID, such as com.example.app.")
        }
        guard 1...Self.longest ~= self.days else { throw ValidationError("--days takes 1 to \(Self.longest).") }
        for name in self.host where !CertificateName.isOne(name) {
            throw ValidationError("--host takes the name or the address of a host.")
        }
    }

    func run() async throws {
        let files = IdentityFiles(directory: self.dir)
        try files.requireNone()
        let (passphrase, isNew) = try self.passphrase()
        let identity: NewIdentity
        do {
            identity = try NewIdentity(topic: self.topic, names: self.host.map(CertificateName.init), days: self.days)
            try files.write(identity.contents(passphrase: passphrase, isNew: isNew))
        } catch let error as TLSError {
            throw CommandFailure.usage(ConnectionAdvice.sentence(error))
        }
        try Console.print(self.summary(files, isNew))
    }

    private func passphrase() throws -> (text: String, isNew: Bool) {
        guard let passphraseFile else { return (NewIdentity.makePassphrase(), true) }
        let file = OptionFile("--passphrase-file", passphraseFile)
        let passphrase = try file.firstLine()
        guard !passphrase.isEmpty else {
            throw CommandFailure.usage(
                "The first line of \(file.name) is empty: it is the passphrase of the .p12 files."
            )
        }
        file.warnIfOpen(holding: "a passphrase")
        return (passphrase, false)
    }

    private func summary(_ files: IdentityFiles, _ hasNewPassphrase: Bool) -> String {
        let made = IdentityFiles.File.allCases.filter { $0 != .clientPassphrase || hasNewPassphrase }
        let rows = made.map { [files.path($0), $0.purpose] }
        let configuration = files.path(.configuration)
        return """
            \(TextTable(rows: rows, alignment: [.left, .left]))

            Next:
            1. Fill in 'p8', 'keyID' and 'teamID' in \(configuration): the key that signs provider tokens. For a \
            trial without APNs, 'to' and 'ca' beside them name ferry simulate --http2. Its --tls-dir has the key, whose \
            'keyID' is FERRYKEY01 and 'teamID' FERRYTEAM1.
            2. ferry gateway --config \(configuration) --check, and then without --check
            3. Give the old stack the client's certificate in the form that it knows, let it trust \
            \(files.path(.ca)), and let it connect to \(self.hosts), port \(BinaryConfiguration.defaultPort).
            """
    }

    /// The hosts for clients: "gateway.internal or 192.0.2.7".
    private var hosts: String {
        self.host.isEmpty ? NewIdentity.loopback : self.host.map(\.printable).joined(separator: " or ")
    }
}
