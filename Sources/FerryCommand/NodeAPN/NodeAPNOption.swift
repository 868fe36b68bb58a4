/// An option of node-apn 1.x: what it takes, and what becomes of it here.
struct NodeAPNOption: Sendable {
    /// Which command reads an options object. node-apn has one for sending and one for feedback, with much in common, and
    /// programs give both the same.
    enum Use: Sendable {
        case push, feedback, doctor
    }

    /// What a value does. Each closure says so in words, which follow the option's name and value.
    ///
    /// An option may look at what those before it in the table did.
    enum Effect: Sendable {
        case boolean(@Sendable (Bool, inout NodeAPNSettings) -> String)
        /// A whole number. What is below the range counts as its lower bound if `isClamped`, as it did there.
        case count(ClosedRange<Int>, isClamped: Bool, @Sendable (Int, inout NodeAPNSettings) -> String)
        /// A time, milliseconds there.
        case milliseconds(@Sendable (Duration, inout NodeAPNSettings) -> String)
        /// A time in seconds.
        case seconds(@Sendable (Duration, inout NodeAPNSettings) -> String)
        case host(@Sendable (String, inout NodeAPNSettings) -> String)
        /// Text that no message may show.
        case secret(@Sendable (String, inout NodeAPNSettings) -> String)
        case material(@Sendable (CredentialMaterial, inout NodeAPNSettings) -> String)
        case materials(@Sendable ([CredentialMaterial], inout NodeAPNSettings) -> String)
        /// Any value: it changes nothing, for this reason.
        case nothing(String)
    }

    var name: String
    /// The options of the command line that count in its place.
    var commandLine: [String] = []
    var effect: Effect

    init(_ name: String, or commandLine: [String] = [], _ effect: Effect) {
        self.name = name
        self.commandLine = commandLine
        self.effect = effect
    }

    /// Why a value is of no use.
    struct Fault: Error {
        /// What the option takes.
        var expected: String
    }

    /// The longest time a timer of Node can wait.
    private static let longestMilliseconds = 2_147_483_647.0

    /// Puts `value` into `settings`.
    ///
    /// - Returns: what it became.
    func apply(_ value: NodeAPNValue, to settings: inout NodeAPNSettings) throws(Fault) -> String {
        switch self.effect {
        case .boolean(let set):
            guard case .boolean(let value) = value else { throw Fault(expected: "true or false") }
            return set(value, &settings)
        case .count(let range, let isClamped, let set):
            guard case .number(let number) = value, let number = Int(exactly: number),
                isClamped || number >= range.lowerBound, number <= range.upperBound
            else { throw Fault(expected: "a whole number, \(range.lowerBound) to \(range.upperBound)") }
            return set(max(number, range.lowerBound), &settings)
        case .milliseconds(let set):
            return set(
                .seconds(try Self.number(value, "milliseconds", upTo: Self.longestMilliseconds) / 1000),
                &settings
            )
        case .seconds(let set):
            return set(.seconds(try Self.number(value, "seconds", upTo: Self.longestMilliseconds / 1000)), &settings)
        case .host(let set):
            guard case .text(let host) = value, HostName.isOne(host) else {
                throw Fault(expected: "the name or address of a host, without a port, which stands in 'port'")
            }
            return set(host, &settings)
        case .secret(let set):
            guard case .text(let text) = value else { throw Fault(expected: "a string") }
            return set(text, &settings)
        case .material(let set):
            return set(try Self.material(value), &settings)
        case .materials(let set):
            let values = if case .list(let values) = value { values } else { [value] }
            guard !values.isEmpty else { throw Fault(expected: "at least one file or PEM text") }
            var materials: [CredentialMaterial] = []
            for value in values { materials.append(try Self.material(value)) }
            return set(materials, &settings)
        case .nothing(let reason):
            return reason
        }
    }

    private static func number(_ value: NodeAPNValue, _ unit: String, upTo limit: Double) throws(Fault) -> Double {
        guard case .number(let number) = value, 0...limit ~= number else {
            throw Fault(expected: "\(unit), 0 to \(Int(limit))")
        }
        return number
    }

    private static func material(_ value: NodeAPNValue) throws(Fault) -> CredentialMaterial {
        guard let material = CredentialMaterial(value) else { throw Fault(expected: "the name of a file, or PEM text") }
        return material
    }
}
