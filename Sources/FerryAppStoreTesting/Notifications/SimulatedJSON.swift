internal import FerryCore

/// A JSON value that is written as it was made: members keep their order.
indirect enum SimulatedJSON: Hashable, Sendable {
    case null
    case text(String)
    case integer(Int64)
    case bool(Bool)
    case list([SimulatedJSON])
    case object(Members)

    struct Members: Hashable, Sendable {
        private(set) var names: [String] = []
        private var values: [SimulatedJSON] = []

        /// Adds a member; nothing for nil.
        mutating func add(_ name: String, _ value: SimulatedJSON?) {
            guard let value else { return }
            self.names.append(name)
            self.values.append(value)
        }

        func value(_ name: String) -> SimulatedJSON? { self.names.firstIndex(of: name).map { self.values[$0] } }

        fileprivate func write(into json: inout [UInt8]) {
            json.append(UInt8(ascii: "{"))
            for (index, name) in self.names.enumerated() {
                if index > 0 { json.append(UInt8(ascii: ",")) }
                json += JSONText.quoted(name)
                json.append(UInt8(ascii: ":"))
                self.values[index].write(into: &json)
            }
            json.append(UInt8(ascii: "}"))
        }
    }

    /// The text in UTF-8.
    var bytes: [UInt8] {
        var json: [UInt8] = []
        self.write(into: &json)
        return json
    }

    private func write(into json: inout [UInt8]) {
        switch self {
        case .null: json += "null".utf8
        case .text(let text): json += JSONText.quoted(text)
        case .integer(let number): json += String(number).utf8
        case .bool(let value): json += (value ? "true" : "false").utf8
        case .object(let members): members.write(into: &json)
        case .list(let elements):
            json.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { json.append(UInt8(ascii: ",")) }
                element.write(into: &json)
            }
            json.append(UInt8(ascii: "]"))
        }
    }
}

extension SimulatedJSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    init(stringLiteral value: String) { self = .text(value) }
    init(integerLiteral value: Int64) { self = .integer(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(arrayLiteral elements: SimulatedJSON...) { self = .list(elements) }

    /// An object in the order of the literal. Members that are nil are left out.
    init(dictionaryLiteral elements: (String, SimulatedJSON?)...) {
        var members = Members()
        for (name, value) in elements { members.add(name, value) }
        self = .object(members)
    }
}
