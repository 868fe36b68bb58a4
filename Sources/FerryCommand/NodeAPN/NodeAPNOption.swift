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

    /// The values that an option accepts.
    enum Effect: Sendable {
        /// The values that the option's row of the table accepts. The value is set for that row. If `isClamped`, a
        /// number that is too low counts as the lowest, as in node-apn.
        case row(isClamped: Bool = false)
        case value(OptionKind)
        /// A time in this unit, up to the longest of a timer in Node.
        case milliseconds, seconds
        case host
        /// A file or its contents; one or several of them.
        case material, materials
        /// Any value. The option has no effect, for this reason.
        case nothing(String)
    }

    /// A value that was read. A time is in seconds.
    struct Input {
        var value: OptionValue
        var materials: [CredentialMaterial] = []
    }

    /// Changes settings, and may use those that earlier options of the table have made. Returns a description of the effect,
    /// which follows the option's name and value in a remark.
    typealias Setter = @Sendable (Input, inout NodeAPNSettings) -> String

    var name: String
    /// The options of the command line that replace this one.
    var commandLine: [String] = []
    var effect: Effect
    /// Nil for an option that does what its row says, or nothing.
    private var set: Setter?

    init(_ name: String, or commandLine: [String] = [], _ effect: Effect, _ set: Setter? = nil) {
        self.name = name
        self.commandLine = commandLine
        self.effect = effect
        self.set = set
        if commandLine.isEmpty, let row { self.commandLine = OptionArgument.names(of: row) }
    }

    /// The row of the table that has this option; nil if Ferry has none.
    private var row: ProviderOption? { ProviderOption.named(self.name, in: .nodeAPN) }

    /// The value has a wrong type or range.
    struct Fault: Error {
        /// The values that the option accepts.
        var expected: String
    }

    /// Puts `value` into `settings`.
    ///
    /// - Returns: a description of the effect.
    func apply(_ value: OptionValue, to settings: inout NodeAPNSettings) throws(Fault) -> String {
        if case .nothing(let reason) = self.effect { return reason }
        let input = try self.read(value)
        guard case .row = self.effect, let row else { return self.set?(input, &settings) ?? "" }
        settings.options[row.name] = input.value
        return self.set?(input, &settings) ?? "as \(OptionArgument(row).words(for: input.value, withValue: true))"
    }

    private func read(_ value: OptionValue) throws(Fault) -> Input {
        switch self.effect {
        case .row(let isClamped):
            guard let kind = self.row?.kind else { preconditionFailure("the table has no \(self.name) of node-apn") }
            return try Self.read(isClamped ? value.clamped(to: kind) : value, kind)
        case .value(let kind): return try Self.read(value, kind)
        case .milliseconds: return try Self.time(value, "milliseconds", perSecond: 1000)
        case .seconds: return try Self.time(value, "seconds", perSecond: 1)
        case .host:
            guard case .text(let host) = value, HostName.isOne(host) else {
                throw Fault(expected: "the name or address of a host, without a port, which stands in 'port'")
            }
        case .material: return Input(value: value, materials: [try Self.material(value)])
        case .materials:
            let values = if case .list(let values) = value { values } else { [value] }
            guard !values.isEmpty else { throw Fault(expected: "at least one file or PEM text") }
            var input = Input(value: value)
            for value in values { input.materials.append(try Self.material(value)) }
            return input
        case .nothing: break
        }
        return Input(value: value)
    }

    private static func read(_ value: OptionValue, _ kind: OptionKind) throws(Fault) -> Input {
        guard let value = kind.value(value, in: .nodeAPN) else { throw Fault(expected: kind.wanted(in: .nodeAPN)) }
        return Input(value: value)
    }

    private static func time(_ value: OptionValue, _ unit: String, perSecond: Double) throws(Fault) -> Input {
        let longest = 2_147_483.647 * perSecond
        guard case .number(let number) = value, 0...longest ~= number else {
            throw Fault(expected: "\(unit), 0 to \(Int(longest))")
        }
        return Input(value: .number(number / perSecond))
    }

    private static func material(_ value: OptionValue) throws(Fault) -> CredentialMaterial {
        guard let material = CredentialMaterial(value) else { throw Fault(expected: "the name of a file, or PEM text") }
        return material
    }
}

extension OptionValue {
    /// A whole number below the range of `kind` becomes the lowest of the range. Any other value stays.
    fileprivate func clamped(to kind: OptionKind) -> OptionValue {
        guard case .count(let range) = kind, case .number(let number) = self, let number = Int(exactly: number) else {
            return self
        }
        return .number(Double(max(number, range.lowerBound)))
    }
}
