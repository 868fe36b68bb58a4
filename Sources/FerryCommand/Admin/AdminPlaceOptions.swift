internal import ArgumentParser
internal import FerryAdmin
internal import FerryHTTP1
internal import FerryOpenSSL
internal import FerryTerminal

/// The options that name the admin service of another process.
struct AdminPlaceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The socket of the admin service.", valueName: "path"))
    var socket: String?

    @Option(
        help: ArgumentHelp("The port of the admin service: http://HOST:PORT or https://HOST:PORT.", valueName: "url")
    )
    var url: String?

    @Option(help: ArgumentHelp("The file of the token that the port wants.", valueName: "file"))
    var tokenFile: String?

    @Option(help: ArgumentHelp("The authorities that may sign the port's certificate.", valueName: "file"))
    var ca: String?

    func validate() throws {
        if self.socket != nil, self.url != nil { throw ValidationError("Give --socket or --url, not both.") }
        if self.url == nil, self.tokenFile != nil || self.ca != nil {
            throw ValidationError("--token-file and --ca belong to --url.")
        }
    }

    /// - Parameter found: the socket that another option leads to. Called if neither the socket nor the port is named.
    func client(found: () throws -> String) throws -> AdminClient {
        if let url { return try self.client(url) }
        return try AdminClient(socket: self.socket ?? found())
    }

    private func client(_ text: String) throws -> AdminClient {
        let url: HTTPURL
        do throws(HTTPURL.Fault) {
            url = try HTTPURL(text)
        } catch {
            throw CommandFailure.usage("--url: \(error.description)")
        }
        let token = try self.tokenFile.map {
            String(decoding: try AdminPlan.token($0, "--token-file"), as: UTF8.self)
        }
        let roots: TrustRoots = try self.ca.map { try .ofOption("--ca", $0) } ?? .system
        return try AdminClient(url: url, token: token, trustRoots: roots)
    }
}
