/// The settings of an admin service, as an operator wrote them.
struct AdminSettings {
    enum Name: String {
        case port, host, tokenFile, cert, key
    }

    /// Where the settings stand.
    enum Form {
        /// Members of a configuration.
        case members
        /// Options of a command line.
        case options

        /// The word for a setting in sentences.
        func word(_ name: Name) -> String {
            switch self {
            case .members: "'\(name.rawValue)'"
            case .options: "--admin-\(name == .tokenFile ? "token-file" : name.rawValue)"
            }
        }
    }

    static let defaultHost = "127.0.0.1"

    /// The socket in the file system; without it, the program chooses a place.
    var socket: String?
    /// The number of the port; nil for no port.
    var port: Int?
    var host: String?
    /// The file of the token that readers of the port must send.
    var tokenFile: String?
    var cert: String?
    var key: String?

    /// The given settings that mean nothing without a port.
    var givenBesidePort: [Name] {
        let others: [(Name, String?)] = [
            (.host, self.host), (.tokenFile, self.tokenFile), (.cert, self.cert), (.key, self.key),
        ]
        return others.compactMap { name, value in value == nil ? nil : name }
    }
}
