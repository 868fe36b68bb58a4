/// A value of an option: of JSON, or of the command line.
package indirect enum OptionValue: Hashable, Sendable {
    /// In JSON, null is the same as a missing option. As a result of ``OptionKind/value(_:in:)``, null means that the
    /// option sets no bound.
    case null
    case boolean(Bool)
    case number(Double)
    case text(String)
    case list([OptionValue])
    case object([String: OptionValue])

    // Each row of the table reads its value in the type that the row's kind permits. Another type is a fault of the
    // table.

    package var isOn: Bool {
        guard case .boolean(let isOn) = self else { preconditionFailure("the option is no flag") }
        return isOn
    }

    package var number: Double {
        guard case .number(let number) = self else { preconditionFailure("the option is no number") }
        return number
    }

    package var text: String {
        guard case .text(let text) = self else { preconditionFailure("the option is no text") }
        return text
    }

    package var texts: [String] {
        guard case .list(let values) = self else { preconditionFailure("the option is no list") }
        return values.map(\.text)
    }

    package var count: Int { Int(self.number) }
    package var time: Duration { .seconds(self.number) }
    /// The count; nil without a bound.
    package var limit: Int? { self == .null ? nil : self.count }
    /// The time; nil without a bound.
    package var timeLimit: Duration? { self == .null ? nil : self.time }

    /// The kind of value, in words.
    package var kind: String {
        switch self {
        case .null: "null"
        case .boolean: "true or false"
        case .number: "a number"
        case .text: "a string"
        case .list: "an array"
        case .object: "an object"
        }
    }

    /// The value in a remark; nil for a text of more than 100 bytes, a list or an object.
    package var shown: String? {
        switch self {
        case .null: "null"
        case .boolean(let value): "\(value)"
        case .number(let value): value.shortest
        case .text(let value): value.utf8.count <= 100 ? value.debugDescription : nil
        case .list, .object: nil
        }
    }

    /// The value as text. Equal values have equal texts, and different values have different texts.
    package var canonical: String {
        switch self {
        case .null: return "null"
        case .boolean(let value): return "\(value)"
        case .number(let value): return "\(value)"
        case .text(let value): return value.debugDescription
        case .list(let values): return "[\(values.map(\.canonical).joined(separator: ","))]"
        case .object(let members):
            let texts = members.sorted { $0.key < $1.key }.map { "\($0.debugDescription):\($1.canonical)" }
            return "{\(texts.joined(separator: ","))}"
        }
    }
}
