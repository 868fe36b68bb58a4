internal import FerryOptions
internal import FerryTerminal

/// An option of node-apn 1.x: the values that it accepts, and its effect here.
struct NodeAPNOption: Sendable {
    /// The command that reads an options object. node-apn has one object for sending and one for feedback. They have
    /// much in common, and programs pass the same object to both.
    enum Use: Sendable {
        /// Sending over the binary protocol, sending over HTTP/2, reading the feedback list, looking for faults.
        case push, pushHTTP2, feedback, doctor
    }

    /// The effect of a value. Each closure returns a description, which follows the option's name and value in a
    /// remark.
    ///
    /// An option may use the settings that earlier options of the table have made.
    enum Effect: Sendable {
        case boolean(@Sendable (Bool, inout NodeAPNSettings) -> String)
        /// The option of the table with this name. If `isClamped`, a number that is too low counts as the lowest, as in
        /// node-apn. Without a description, the option of the command line is one.
        case option(isClamped: Bool = false, words: (@Sendable (OptionValue) -> String)? = nil)
        /// A time that node-apn takes in milliseconds.
        case milliseconds(@Sendable (Duration, inout NodeAPNSettings) -> String)
        /// A time that node-apn takes in seconds.
        case seconds(@Sendable (Duration, inout NodeAPNSettings) -> String)
        case host(@Sendable (String, inout NodeAPNSettings) -> String)
        /// Text that no message may show.
        case secret(@Sendable (String, inout NodeAPNSettings) -> String)
        case material(@Sendable (CredentialMaterial, inout NodeAPNSettings) -> String)
        case materials(@Sendable ([CredentialMaterial], inout NodeAPNSettings) -> String)
        /// Any value. The option has no effect, for this reason.
        case nothing(String)
    }

    var name: String
    /// The options of the command line that replace this one.
    var commandLine: [String] = []
    var effect: Effect

    init(_ name: String, or commandLine: [String] = [], _ effect: Effect) {
        self.name = name
        self.commandLine = commandLine
        self.effect = effect
        if commandLine.isEmpty, let row { self.commandLine = OptionArgument.names(of: row) }
    }

    /// The row of the table that has this option; nil if Ferry has none.
    private var row: ProviderOption? { ProviderOption.named(self.name, in: .nodeAPN) }

    /// The value has a wrong type or range.
    struct Fault: Error {
        /// The values that the option accepts.
        var expected: String
    }

    /// The longest time of a timer in Node.
    private static let longestMilliseconds = 2_147_483_647.0

    /// Puts `value` into `settings`.
    ///
    /// - Returns: a description of the effect.
    func apply(_ value: OptionValue, to settings: inout NodeAPNSettings) throws(Fault) -> String {
        switch self.effect {
        case .boolean(let set):
            guard case .boolean(let value) = value else { throw Fault(expected: "true or false") }
            return set(value, &settings)
        case .option(let isClamped, let words):
            guard let row else { preconditionFailure("the table has no option of node-apn's name \(self.name)") }
            let kind = row.kind
            guard let read = kind.value(isClamped ? value.clamped(to: kind) : value, in: .nodeAPN) else {
                throw Fault(expected: kind.wanted(in: .nodeAPN))
            }
            settings.options[row.name] = read
            return words?(read) ?? "as \(OptionArgument(row).words(for: read, withValue: true))"
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

    private static func number(_ value: OptionValue, _ unit: String, upTo limit: Double) throws(Fault) -> Double {
        guard case .number(let number) = value, 0...limit ~= number else {
            throw Fault(expected: "\(unit), 0 to \(Int(limit))")
        }
        return number
    }

    private static func material(_ value: OptionValue) throws(Fault) -> CredentialMaterial {
        guard let material = CredentialMaterial(value) else { throw Fault(expected: "the name of a file, or PEM text") }
        return material
    }
}

extension OptionValue {
    /// A whole number, or the lowest that `kind` takes.
    fileprivate func clamped(to kind: OptionKind) -> OptionValue {
        guard case .count(let range) = kind, case .number(let number) = self, let number = Int(exactly: number) else {
            return self
        }
        return .number(Double(max(number, range.lowerBound)))
    }
}
