package import FerryBinary
package import FerryHTTP2

/// A place where options are written. Each place has its own names for the options.
package enum OptionLanguage: CaseIterable, Sendable {
    /// `ferry push`, and the other commands that connect.
    case commandLine
    /// The JSON of `ferry_open`.
    case c
    /// An upstream in the file of `ferry gateway`.
    case gateway
    /// The options object of node-apn 1.x. `NodeAPNOption` reads it in its own order, because in node-apn the first of
    /// two options wins.
    case nodeAPN
}

/// An option of a provider: a row of the table ``all``.
package struct ProviderOption: Sendable {
    package enum Owner: String, Sendable {
        case binary, http2, migration
        /// A handle of the C interface.
        case handle
    }

    /// The way in which a file of options replaces an option of a call. A new server or new credentials replace all
    /// options of the old ones. For example, a `host` in the file also removes `production` and `port`.
    package enum Replacement: Sendable {
        case alone
        case namesServer, ofServer
        case namesCredentials, ofCredentials
        /// The option of the call stays, because the program waits for the outcomes or events that it chose.
        case never
    }

    /// The form of a flag on the command line: `--name` that sets it, `--name` that takes it back, or both `--name` and
    /// `--no-name`.
    package enum FlagForm: Sendable {
        case on, off, onAndOff
    }

    package typealias Setter<Options> = @Sendable (inout Options, OptionValue) -> Void

    /// The name in the library.
    package var name: String
    package var kind: OptionKind
    package var owners: Set<Owner>
    /// The help of the command line, without the default.
    package var help = ""
    package var defaultValue: String?
    package var flagForm = FlagForm.on
    package var replacement = Replacement.alone
    /// Whether the handles of one shared provider may have different values.
    package var isOfOneHandle = false
    /// Whether `ferry push --backend migrate` has the option for each side, too.
    package var isOfEachSide = false
    fileprivate var setBinary: Setter<BinaryOptions>?
    fileprivate var setHTTP2: Setter<HTTP2Options>?
    private var names: [OptionLanguage: String] = [:]
    /// The reasons why the option does not exist in some languages.
    private var absences: [OptionLanguage: String] = [:]

    init(_ name: String, _ kind: OptionKind, _ owners: Set<Owner>) {
        self.name = name
        self.kind = kind
        self.owners = owners
        self.absences[.nodeAPN] = "node-apn 1.x had none"
        if owners == [.handle] { self.absences[.commandLine] = "a command has no handle" }
        if !owners.contains(.http2) { self.absences[.gateway] = "an upstream is a server of HTTP/2" }
    }

    /// Returns the option's name in a language; nil if it does not exist there.
    package func name(in language: OptionLanguage) -> String? {
        guard self.absences[language] == nil else { return nil }
        return self.names[language] ?? (language == .commandLine ? self.name.kebab : self.name)
    }

    /// Returns the reason why the option does not exist in a language; nil if it exists.
    package func absence(in language: OptionLanguage) -> String? { self.absences[language] }
}

/// The columns that few rows have.
extension ProviderOption {
    /// Adds a line of help.
    func help(_ line: String) -> Self { self.with { $0.help += $0.help.isEmpty ? line : " \(line)" } }

    func by(default value: String) -> Self { self.with { $0.defaultValue = value } }

    func by(default time: Duration) -> Self { self.by(default: "\(time / .seconds(1))") }

    func named(_ name: String, in language: OptionLanguage) -> Self { self.with { $0.names[language] = name } }

    func absent(in languages: OptionLanguage..., because reason: String) -> Self {
        self.with { for language in languages { $0.absences[language] = reason } }
    }

    /// - Parameter name: the name in node-apn; nil if it is the name in the library.
    func inNodeAPN(_ name: String? = nil) -> Self {
        self.with { ($0.names[.nodeAPN], $0.absences[.nodeAPN]) = (name, nil) }
    }

    func flag(_ form: FlagForm) -> Self { self.with { $0.flagForm = form } }

    func replaced(_ replacement: Replacement) -> Self { self.with { $0.replacement = replacement } }

    var ofOneHandle: Self { self.with { $0.isOfOneHandle = true } }

    var ofEachSide: Self { self.with { $0.isOfEachSide = true } }

    func sets(binary: Setter<BinaryOptions>? = nil, http2: Setter<HTTP2Options>? = nil) -> Self {
        self.with { ($0.setBinary, $0.setHTTP2) = (binary, http2) }
    }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var option = self
        change(&option)
        return option
    }
}

extension BinaryOptions {
    /// Sets each option of the table that `value` returns a value for.
    package mutating func set<Fault>(_ value: (ProviderOption) throws(Fault) -> OptionValue?) throws(Fault) {
        for option in ProviderOption.all {
            if let set = option.setBinary, let value = try value(option) { set(&self, value) }
        }
    }
}

extension HTTP2Options {
    /// Sets each option of the table that `value` returns a value for.
    package mutating func set<Fault>(_ value: (ProviderOption) throws(Fault) -> OptionValue?) throws(Fault) {
        for option in ProviderOption.all {
            if let set = option.setHTTP2, let value = try value(option) { set(&self, value) }
        }
    }
}

extension String {
    /// "pingInterval" becomes "ping-interval".
    fileprivate var kebab: String {
        self.reduce(into: "") { name, letter in name += letter.isUppercase ? "-\(letter.lowercased())" : "\(letter)" }
    }
}
