internal import ArgumentParser
internal import FerryOptions
internal import FerryTerminal

/// A part of the table of options, for the command line.
protocol OptionSection: Sendable {
    /// In the order of the help.
    static var arguments: [OptionArgument] { get }

    /// Checks that the options fit together. The value of each is checked before.
    static func validate(_ arguments: OptionArguments<Self>) throws
}

extension OptionSection {
    static func validate(_ arguments: OptionArguments<Self>) throws {}
}

/// The options of a section on the command line.
///
/// ArgumentParser finds the properties of a type by its mirror, and this mirror has one for each row of the table.
/// Its documentation does not promise that, so `OptionArgumentsTests` checks it.
struct OptionArguments<Section: OptionSection>: ParsableArguments, CustomReflectable {
    /// The given options, by their names on the command line.
    private var values: [String: OptionValue] = [:]

    init() {}

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: OptionArgument.Key.self)
        for argument in Section.arguments { self.values[argument.name] = try argument.value(in: container) }
    }

    var customMirror: Mirror {
        Mirror(
            self,
            children: Section.arguments.map { argument -> Mirror.Child in
                (label: argument.name, value: argument.property)
            }
        )
    }

    func validate() throws {
        for argument in Section.arguments {
            if let value = self.values[argument.name] { try argument.validate(value) }
        }
        try Section.validate(self)
    }

    /// The given options, as they were written.
    var given: [String] {
        Section.arguments.compactMap { argument in self.values[argument.name].map { argument.words(for: $0) } }
    }

    /// The given value of an option.
    ///
    /// - Parameter name: the option's name on the command line. A name of no option in the section is a programming
    ///   error.
    subscript(_ name: String) -> OptionValue? {
        guard let argument = Section.arguments.first(where: { $0.name == name }) else {
            preconditionFailure("the section has no option \(name)")
        }
        return self.values[name].flatMap { argument.option.kind.value($0, in: .commandLine) }
    }

    /// The given value of an option of the table; nil also if it is of another section.
    subscript(_ option: ProviderOption) -> OptionValue? {
        option.name(in: .commandLine).flatMap { name in
            Section.arguments.contains { $0.name == name } ? self[name] : nil
        }
    }

    func text(_ name: String) -> String? { self[name]?.text }

    func isGiven(_ name: String) -> Bool { self[name] != nil }

    /// The given address of an option.
    func endpoint(_ name: String) -> Endpoint? { self.text(name).flatMap { Endpoint(argument: $0) } }

    /// Puts a text in place of what was given; nil: the option counts as not given.
    mutating func replace(_ name: String, by text: String?) { self.values[name] = text.map { .text($0) } }
}
