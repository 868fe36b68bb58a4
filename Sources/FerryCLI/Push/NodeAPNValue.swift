/// A value of a node-apn options object, as JSON has it.
enum NodeAPNValue: Decodable, Equatable, Sendable {
    case null
    case boolean(Bool)
    case number(Double)
    case text(String)
    case list([NodeAPNValue])
    case object([String: NodeAPNValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([NodeAPNValue].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: NodeAPNValue].self))
        }
    }

    /// What it is, in words.
    var kind: String {
        switch self {
        case .null: "null"
        case .boolean: "true or false"
        case .number: "a number"
        case .text: "a string"
        case .list: "an array"
        case .object: "an object"
        }
    }

    /// The value as a remark shows it; nil for what is too long for one.
    var shown: String? {
        switch self {
        case .null: "null"
        case .boolean(let value): "\(value)"
        case .number(let value): Int(exactly: value).map(String.init) ?? "\(value)"
        case .text(let value): value.utf8.count <= 100 ? value.debugDescription : nil
        case .list, .object: nil
        }
    }
}

/// A certificate, key or archive, as node-apn takes it: the name of a file, PEM text, or a Buffer.
enum NodeAPNMaterial: Equatable, Sendable {
    /// Relative to the working directory.
    case file(String)
    case bytes([UInt8])

    /// PATH_MAX.
    private static let longestPath = 4096
    /// A name of a file that has so many characters, all of the Base64 alphabet, is more likely a key without its PEM
    /// header, which must not come to light in a message.
    private static let longestBareName = 100

    /// Nil: the value is none of these.
    init?(_ value: NodeAPNValue) {
        switch value {
        case .text(let text):
            if text.contains("-----BEGIN ") {
                self = .bytes(Array(text.utf8))
            } else if Self.isPath(text) {
                self = .file(text)
            } else {
                return nil
            }
        case .object(let members):
            // As `JSON.stringify` writes a Buffer.
            guard members["type"] == .text("Buffer"), case .list(let data) = members["data"] else { return nil }
            let bytes = data.compactMap { item -> UInt8? in
                if case .number(let number) = item { UInt8(exactly: number) } else { nil }
            }
            guard bytes.count == data.count, !bytes.isEmpty else { return nil }
            self = .bytes(bytes)
        default:
            return nil
        }
    }

    private static func isPath(_ text: String) -> Bool {
        func isBase64(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
                true
            default: false
            }
        }
        guard 1...Self.longestPath ~= text.utf8.count, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
            return false
        }
        return text.utf8.count < Self.longestBareName || !text.utf8.allSatisfy(isBase64)
    }
}
