internal import ArgumentParser
internal import FerryCore
internal import FerryTerminal
internal import FerryTesting

/// Options of a command that listens for clients.
struct ListenerOptions: ParsableArguments {
    @Option(parsing: .unconditional, help: ArgumentHelp("The port to listen on; 0 for any.", valueName: "port"))
    var listen: Int

    @Option(help: ArgumentHelp("The address to listen on.", valueName: "address"))
    var host = "127.0.0.1"

    @Option(
        help: ArgumentHelp(
            """
            A directory of ca.pem, server and client certificates, made when there are none. Without it they are made \
            in memory, and no client can verify the server.
            """,
            valueName: "dir"
        )
    )
    var tlsDir: String?

    @Flag(help: "Clients speak no TLS.")
    var plain = false

    func validate() throws {
        try HostName.require(self.host, "--host")
        guard 0...65_535 ~= self.listen else { throw ValidationError("--listen takes a port, 0 to 65535.") }
        if self.plain, self.tlsDir != nil { throw ValidationError("--plain and --tls-dir exclude each other.") }
    }

    /// The credentials for TLS; nil for no TLS.
    func credentials() throws -> TestCredentials? {
        self.plain ? nil : try TestCredentials.open(self.tlsDir)
    }

    /// The message for a port that cannot be opened.
    func complaint(_ error: any Error) -> String {
        "Cannot listen on \(self.host), port \(self.listen): \(Sentence.of(error))"
    }
}

extension TestCredentials {
    /// Opens the credentials of a directory, and fills an empty directory. Without a directory, makes new
    /// credentials.
    static func open(_ directory: String?) throws -> TestCredentials {
        do {
            return try directory.map { try TLSDirectory.open($0) } ?? TestCredentials()
        } catch {
            let place = directory.map { FileName($0).words(option: "--tls-dir") } ?? "memory"
            throw CommandFailure.usage("No TLS credentials in \(place): \(Sentence.of(error))")
        }
    }
}
