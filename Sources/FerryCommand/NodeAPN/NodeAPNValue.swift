internal import FerryCore

/// A JSON value of a node-apn options object.
enum NodeAPNValue: Equatable, Sendable {
    case null
    case boolean(Bool)
    case number(Double)
    case text(String)
    case list([NodeAPNValue])
    case object([String: NodeAPNValue])

    /// The kind of value, in words.
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

    /// The value for a remark. Nil if it is too long.
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
