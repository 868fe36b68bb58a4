/// The names of a configuration's members, to find those that are misspelt: a decoder passes over them in silence.
enum GatewayMembers: Decodable {
    case object([String: GatewayMembers])
    case array([GatewayMembers])
    case value

    private static let top = ["listen", "upstreams", "clients", "rejections", "store", "repeatsUnknown"]
    private static let store = ["path", "fsync"]
    private static let listen = ["host", "port", "feedbackPort", "cert", "key", "clientCA", "legacyTLS"]
    private static let upstream = ["to", "sandbox", "ca", "p8", "keyID", "teamID", "cert", "key"]
    private static let client = ["name", "fingerprints", "cert", "userID", "anyone", "topics", "upstream"]

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let members = try? container.decode([String: GatewayMembers].self) {
            self = .object(members)
        } else if let elements = try? container.decode([GatewayMembers].self) {
            self = .array(elements)
        } else {
            self = .value
        }
    }

    /// - Throws: ``CommandFailure`` that names the first member that there is not.
    static func check(_ file: GatewayMembers) throws(CommandFailure) {
        try file.require(self.top, in: "")
        try file["listen"]?.require(self.listen, in: "listen.")
        try file["store"]?.require(self.store, in: "store.")
        if case .object(let upstreams)? = file["upstreams"] {
            for (name, upstream) in upstreams { try upstream.require(self.upstream, in: "upstreams.\(name).") }
        }
        if case .array(let clients)? = file["clients"] {
            for (index, client) in clients.enumerated() { try client.require(self.client, in: "clients[\(index)].") }
        }
    }

    private subscript(name: String) -> GatewayMembers? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    private func require(_ names: [String], in path: String) throws(CommandFailure) {
        guard case .object(let members) = self else { return }
        for name in members.keys.sorted() where !names.contains(name) {
            let advice =
                SimilarName.of(name, among: names).map { "is \($0) meant?" }
                ?? "there are \(names.joined(separator: ", "))"
            throw .usage("There is no member '\(path)\(name)': \(advice)")
        }
    }
}
