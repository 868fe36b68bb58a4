internal import FerryTerminal

/// The members of a configuration, to find those that are misspelt or of the wrong type: a decoder passes over the first
/// in silence, and has no words for the second.
enum GatewayMembers: Decodable {
    case object([String: GatewayMembers])
    case array([GatewayMembers])
    case text
    case flag
    case wholeNumber
    case null
    /// A number with a fraction.
    case other

    /// What a member must be.
    indirect enum Shape: Sendable {
        case text
        case flag
        case wholeNumber
        case list(Shape)
        /// An object whose members have names of the owner's choice.
        case named(Shape)
        case object([Member])

        /// "an object with 'path'".
        var words: String {
            switch self {
            case .text: "a string"
            case .flag: "true or false"
            case .wholeNumber: "a whole number"
            case .list(.text): "a list of strings"
            case .list: "a list of objects"
            case .named: "an object with an object for each name"
            case .object(let members):
                members.contains(where: \.isRequired)
                    ? "an object with \(members.filter(\.isRequired).map { "'\($0.name)'" }.joined(separator: " and "))"
                    : "an object"
            }
        }
    }

    struct Member: Sendable {
        var name: String
        var shape: Shape
        var isRequired = false

        static func required(_ name: String, _ shape: Shape = .text) -> Member {
            Member(name: name, shape: shape, isRequired: true)
        }

        static func optional(_ name: String, _ shape: Shape = .text) -> Member { Member(name: name, shape: shape) }
    }

    private static let configuration = Shape.object([
        .required("listen", Self.listen), .required("upstreams", .named(Self.upstream)),
        .required("clients", .list(Self.client)), .optional("rejections"), .optional("store", Self.store),
        .optional("repeatsUnknown", .flag),
    ])
    private static let store = Shape.object([.required("path"), .optional("fsync", .flag)])
    private static let listen = Shape.object([
        .optional("host"), .optional("port", .wholeNumber), .optional("feedbackPort", .wholeNumber),
        .required("cert"), .required("key"), .optional("clientCA"), .optional("legacyTLS", .flag),
    ])
    private static let upstream = Shape.object([
        .optional("to"), .optional("sandbox", .flag), .optional("ca"), .optional("p8"), .optional("keyID"),
        .optional("teamID"), .optional("cert"), .optional("key"), .optional("pingInterval", .wholeNumber),
        .optional("idleCheck", .wholeNumber),
    ])
    private static let client = Shape.object([
        .required("name"), .optional("fingerprints", .list(.text)), .optional("cert"), .optional("userID"),
        .optional("anyone", .flag), .required("topics", .list(.text)), .optional("upstream"), .optional("mode"),
        .optional("resends", .flag), .optional("repeatsUnknown", .flag),
    ])

    /// The remedy for a PKCS#12 archive. Without `-legacy`, OpenSSL 3 does not open those of old keychains.
    static let archiveCure =
        "convert it with 'openssl pkcs12 -in ARCHIVE -nodes -out both.pem' (an old one with -legacy), and name both.pem"
    /// The names that configurations of other programs have for an archive.
    private static let archiveNames: Set<String> = ["p12", "pfx", "pkcs12", "p12file", "pfxdata"]

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if (try? container.decode(Bool.self)) != nil {
            self = .flag
        } else if (try? container.decode(Int.self)) != nil {
            self = .wholeNumber
        } else if (try? container.decode(String.self)) != nil {
            self = .text
        } else if let members = try? container.decode([String: GatewayMembers].self) {
            self = .object(members)
        } else if let elements = try? container.decode([GatewayMembers].self) {
            self = .array(elements)
        } else {
            self = .other
        }
    }

    /// - Throws: ``CommandFailure`` that names the first member at fault.
    static func check(_ file: GatewayMembers) throws(CommandFailure) { try file.check(self.configuration, at: "") }

    /// - Parameter path: "" for the whole file, otherwise "clients[0].topics".
    private func check(_ shape: Shape, at path: String) throws(CommandFailure) {
        switch (shape, self) {
        case (.text, .text), (.flag, .flag), (.wholeNumber, .wholeNumber):
            break
        case (.list(let shape), .array(let elements)):
            for (index, element) in elements.enumerated() { try element.check(shape, at: "\(path)[\(index)]") }
        case (.named(let shape), .object(let members)):
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                try member.check(shape, at: "\(path).\(name)")
            }
        case (.object(let known), .object(let members)):
            try Self.check(members, known, in: path.isEmpty ? "" : "\(path).")
        default:
            throw .usage("'\(path)' must be \(shape.words)")
        }
    }

    private static func check(
        _ members: [String: GatewayMembers],
        _ known: [Member],
        in path: String
    ) throws(CommandFailure) {
        let names = known.map(\.name)
        for name in members.keys.sorted() where !names.contains(name) {
            let advice =
                Self.archiveNames.contains(name.lowercased()) && names.contains("cert")
                ? "an archive (PKCS#12) is not read here: \(Self.archiveCure) as 'cert' and as 'key'"
                : SimilarName.of(name, among: names).map { "is \($0) meant?" }
                    ?? "there are \(names.joined(separator: ", "))"
            throw .usage("There is no member '\(path)\(name)': \(advice)")
        }
        for member in known {
            switch members[member.name] {
            case nil, .null:
                if member.isRequired { throw .usage("'\(path)\(member.name)' is missing") }
            case let value?:
                try value.check(member.shape, at: path + member.name)
            }
        }
    }
}
