internal import FerryAdmin
internal import FerryCore
internal import FerryOpenSSL
internal import FerryPlatform
internal import FerryTerminal

/// The sockets of an admin service.
struct AdminPlan {
    /// A socket in the file system. If the program chose its path, the server starts even if the socket cannot be
    /// made.
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

    /// The number of bytes that are read of a token's file. The token is the first line.
    private static let longestToken = 4096

    var socket: Socket
    var port: AdminServer.Port?
    /// Warnings for each start.
    var warnings: [String] = []
    /// The certificate of the port.
    var identity: TLSIdentity?

    /// - Parameters:
    ///   - form: how the operator wrote the settings.
    ///   - server: the server whose admin service it is.
    ///   - store: the path of the store; nil without a store.
    ///   - path: the path of a file that has to be there, by its name and the word of its setting.
    init(
        _ settings: AdminSettings,
        _ form: AdminSettings.Form,
        of server: AdministeredServer,
        store: String?,
        _ path: (_ name: String, _ setting: AdminSettings.Name) throws -> String
    ) throws {
        self.socket = Self.socket(of: server, settings.socket, store: store)
        func word(_ name: AdminSettings.Name) -> String { form.word(name) }
        guard let number = settings.port else {
            if let other = settings.givenBesidePort.first {
                throw CommandFailure.usage("\(word(other)) needs \(word(.port)): without one, there is only the socket")
            }
            return
        }
        guard (settings.cert == nil) == (settings.key == nil) else {
            throw CommandFailure.usage("\(word(.cert)) and \(word(.key)) belong together: give both, or neither")
        }
        var port = AdminServer.Port(host: settings.host ?? AdminSettings.defaultHost, number: number)
        if let file = settings.tokenFile {
            port.token = try Self.token(path(file, .tokenFile), word(.tokenFile))
        }
        if let cert = settings.cert, let key = settings.key {
            let identity = try TLSIdentity(certificatePath: path(cert, .cert), privateKeyPath: path(key, .key))
            port.tls = try TLSContext(server: .init(identity: identity))
            self.identity = identity
        }
        if !HostName.loopback.contains(port.host) {
            if port.token == nil {
                self.warnings.append("admin: everyone who reaches \(port.host) may read it: give \(word(.tokenFile))")
            }
            if port.tls == nil {
                self.warnings.append(
                    "admin: what \(port.host) shows is not encrypted: give \(word(.cert)) and \(word(.key))"
                )
            }
        }
        self.port = port
    }

    /// The socket of a server: as given, else in the directory that the service manager made, else beside the store.
    static func socket(
        of server: AdministeredServer,
        _ given: String?,
        store: String?,
        variables: [String: String] = ProcessInfo.processInfo.environment
    ) -> Socket {
        if let given { return .given(given) }
        // Several directories stand in one value (systemd.exec(5)).
        if let directory = variables["RUNTIME_DIRECTORY"]?.split(separator: ":").first {
            return .chosen("\(directory)/\(server.socketName)")
        }
        return store.map { .chosen("\($0)-admin") } ?? .none
    }

    /// Reads a token: the first line of its file.
    ///
    /// - Parameter option: the word of the setting that names the file.
    static func token(_ path: String, _ option: String) throws(CommandFailure) -> [UInt8] {
        let bytes: [UInt8]
        do {
            bytes = try FileDescriptor.contents(of: path, limit: self.longestToken)
        } catch {
            throw .usage(
                FileName(path).sentence("cannot be read: \(FileFailure(reason: error.reason))", option: option)
            )
        }
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        guard line.count >= 16, line.count < Self.longestToken, line.allSatisfy({ 0x21...0x7e ~= $0 }) else {
            let name = FileName(path).words(option: option)
            throw .usage("\(option): the first line of \(name) is not a token of 16 or more letters, digits or signs")
        }
        return Array(line)
    }
}

/// The servers that have an admin service.
enum AdministeredServer: String {
    case gateway
    case worker
    case appstore

    /// The word in sentences.
    var word: String {
        switch self {
        case .gateway: "gateway"
        case .worker: "worker"
        case .appstore: "receiver"
        }
    }

    /// The name of the socket in the directory that the service manager made.
    var socketName: String { "\(self.rawValue)-admin" }

    /// The option that leads to the socket, in examples.
    var place: String {
        switch self {
        case .gateway, .worker: "--config gateway.json"
        case .appstore: "--store notifications.db"
        }
    }
}
