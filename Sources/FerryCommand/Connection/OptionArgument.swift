internal import ArgumentParser
internal import FerryOptions
internal import FerryTerminal

/// A row of the table of options as an option or flag of the command line.
struct OptionArgument: Sendable {
    /// The name of a property that ArgumentParser decodes.
    struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }

    var option: ProviderOption
    /// The name without its two dashes.
    var name: String
    private var help: String

    /// - Parameters:
    ///   - side: the side of a migration whose option this is; nil: it is of both.
    ///   - help: replaces that of the row.
    init(_ option: ProviderOption, of side: String? = nil, help: String? = nil) {
        guard let name = option.name(in: .commandLine) else {
            preconditionFailure("the command line has no option \(option.name)")
        }
        self.option = option
        self.name = side.map { "\($0)-\(name)" } ?? name
        self.help = help ?? "\(option.help)\(Self.facts(option))"
    }

    /// The words of a choice and the default, as ArgumentParser writes them.
    private static func facts(_ option: ProviderOption) -> String {
        let words: String? = if case .choice(let words) = option.kind { words.joined(separator: ", ") } else { nil }
        let facts = [words.map { "values: \($0)" }, option.defaultValue.map { "default: \($0)" }].compactMap(\.self)
        return facts.isEmpty ? "" : " (\(facts.joined(separator: "; ")))"
    }

    /// The rows that the command line has.
    static func of(_ options: [ProviderOption]) -> [OptionArgument] {
        options.filter { $0.name(in: .commandLine) != nil }.map { OptionArgument($0) }
    }

    /// - Parameter names: the names in the table.
    static func named(_ names: String...) -> [OptionArgument] { names.map { OptionArgument(.named($0)) } }

    // MARK: ArgumentParser

    /// Whether the option has the two forms `--name` and `--no-name`.
    private var isInversion: Bool { self.option.flagForm == .onAndOff }

    /// The property that a type with this option would have.
    var property: Any {
        let kind = self.option.kind
        let (valueName, completion) = kind.words
        // "--server-name <name>", not "--server-name <server-name>".
        let lastWord = kind == .text ? self.name.split(separator: "-").last.map { String($0) } : nil
        let help = ArgumentHelp("\(self.help)", valueName: valueName ?? lastWord)
        let name = NameSpecification.customLong(self.name)
        if self.isInversion { return Flag<Bool?>(name: name, inversion: .prefixedNo, help: help) }
        if kind == .flag { return Flag<Bool>(wrappedValue: false, name: name, help: help) }
        let read: @Sendable (String) throws -> OptionValue = { try Self.value($0, of: kind) }
        return Option<OptionValue?>(
            name: name,
            // A number may be negative, which is out of range and not another option.
            parsing: ["n", "percent", "seconds"].contains(valueName) ? .unconditional : .next,
            help: help,
            completion: completion,
            transform: read
        )
    }

    /// Returns the value; nil if the option was not given.
    func value(in container: KeyedDecodingContainer<Key>) throws -> OptionValue? {
        let key = Key(stringValue: self.name)
        if self.isInversion {
            return try container.decode(Flag<Bool?>.self, forKey: key).wrappedValue.map { .boolean($0) }
        }
        guard self.option.kind == .flag else {
            return try container.decode(Option<OptionValue?>.self, forKey: key).wrappedValue
        }
        let isGiven = try container.decode(Flag<Bool>.self, forKey: key).wrappedValue
        return isGiven ? .boolean(self.option.flagForm == .on) : nil
    }

    private static func value(_ word: String, of kind: OptionKind) throws(OptionFault) -> OptionValue {
        let value: OptionValue? =
            switch kind {
            case .count, .limit: Int(word).map { .number(Double($0)) }
            case .number, .seconds, .timeLimit: Double(word).map { .number($0) }
            case .address: Endpoint(argument: word).map { _ in .text(word) }
            case .choice(let words): words.contains(word) ? .text(word) : nil
            case .flag, .text, .file, .secret, .object, .list: .text(word)
            }
        guard let value else { throw OptionFault("it takes \(kind.wanted(in: .commandLine))") }
        return value
    }

    /// Checks the range of a value.
    func validate(_ value: OptionValue) throws {
        guard self.option.kind.value(value, in: .commandLine) == nil else { return }
        throw ValidationError("--\(self.name) takes \(self.option.kind.wanted(in: .commandLine)).")
    }

    // MARK: Words

    /// The option as it was written: "--no-auto-adjust".
    func words(for value: OptionValue, withValue: Bool = false) -> String {
        switch value {
        case .boolean(false) where self.isInversion: "--no-\(self.name)"
        case .number(let number) where withValue: "--\(self.name) \(number.shortest)"
        case .null where withValue: "--\(self.name) 0"
        default: "--\(self.name)"
        }
    }

    /// Every form of an option: "--auto-adjust", "--no-auto-adjust". Empty: the command line does not have it.
    static func names(of option: ProviderOption) -> [String] {
        guard let argument = Self.of([option]).first else { return [] }
        let values: [OptionValue] = argument.isInversion ? [.boolean(true), .boolean(false)] : [.null]
        return values.map { argument.words(for: $0) }
    }
}

extension OptionKind {
    /// The name of the value in the help (nil: that of the option), and what a shell completes.
    fileprivate var words: (name: String?, completion: CompletionKind) {
        switch self {
        case .count, .limit: ("n", .default)
        case .number: ("percent", .default)
        case .seconds, .timeLimit: ("seconds", .default)
        case .file: ("file", .file())
        case .address: ("host:port", .default)
        case .choice(let words): (nil, .list(words))
        case .flag, .text, .secret, .object, .list: (nil, .default)
        }
    }
}
