internal import FerryAdmin
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryTerminal

/// The sockets of a gateway's admin service.
struct AdminPlan {
    /// A socket in the file system. If the program chose it, the gateway starts also if it cannot be made.
    enum Socket: Equatable {
        case none
        case given(String)
        case chosen(String)

        var path: String? {
            switch self {
            case .none: nil
            case .given(let path), .chosen(let path): path
            }
        }
    }

    private static let hosts = ["127.0.0.1", "::1", "localhost"]
    /// The bytes of a token's file. A token has a line.
    private static let longestToken = 4096

    var socket: Socket
    var port: AdminServer.Port?
    /// What a person should know at each start.
    var warnings: [String] = []
    /// The certificate of the port.
    var identity: TLSIdentity?

    /// - Parameters:
    ///   - store: the path of the store; nil: there is none.
    ///   - output: the path of a name in the configuration.
    ///   - path: the path of a file that has to be there.
    init(
        _ file: GatewayFile.Admin?,
        store: String?,
        _ output: (String) -> String,
        _ path: (_ name: String, _ member: String) throws -> String
    ) throws {
        self.socket = Self.socket(file?.socket.map(output), store: store)
        guard let file else { return }
        guard let number = file.port else {
            let others = [("host", file.host), ("tokenFile", file.tokenFile), ("cert", file.cert), ("key", file.key)]
            if let other = others.first(where: { $0.1 != nil }) {
                throw CommandFailure.usage("'\(other.0)' needs 'port': without one, there is only the socket")
            }
            return
        }
        guard (file.cert == nil) == (file.key == nil) else {
            throw CommandFailure.usage("'cert' and 'key' belong together: give both, or neither")
        }
        var port = AdminServer.Port(host: file.host ?? "127.0.0.1", number: number)
        if let tokenFile = file.tokenFile { port.token = try Self.token(path(tokenFile, "tokenFile")) }
        if let cert = file.cert, let key = file.key {
            let identity = try TLSIdentity(certificatePath: path(cert, "cert"), privateKeyPath: path(key, "key"))
            port.tls = try TLSContext(server: .init(identity: identity))
            self.identity = identity
        }
        if !Self.hosts.contains(port.host) {
            if port.token == nil {
                self.warnings.append("admin: everyone who reaches \(port.host) may read it: give 'tokenFile'")
            }
            if port.tls == nil {
                self.warnings.append("admin: what \(port.host) shows is not encrypted: give 'cert' and 'key'")
            }
        }
        self.port = port
    }

    /// The socket of a gateway: as given, else in the directory that the service manager made, else beside the store.
    static func socket(
        _ given: String?,
        store: String?,
        variables: [String: String] = ProcessInfo.processInfo.environment
    ) -> Socket {
        if let given { return .given(given) }
        // Several directories stand in one value (systemd.exec(5)).
        if let directory = variables["RUNTIME_DIRECTORY"]?.split(separator: ":").first {
            return .chosen("\(directory)/gateway-admin")
        }
        return store.map { .chosen("\($0)-admin") } ?? .none
    }

    /// Reads a token: the first line of its file.
    static func token(_ path: String) throws(CommandFailure) -> [UInt8] {
        let bytes: [UInt8]
        do {
            bytes = try FileDescriptor.contents(of: path, limit: self.longestToken)
        } catch {
            throw .usage("'tokenFile': \(path) cannot be read: \(FileFailure(reason: error.reason))")
        }
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        guard line.count >= 16, line.count < Self.longestToken, line.allSatisfy({ 0x21...0x7e ~= $0 }) else {
            throw .usage("'tokenFile': the first line of \(path) is not a token of 16 or more letters, digits or signs")
        }
        return Array(line)
    }
}
