internal import FerryOpenSSL
internal import FerryOptions
internal import FerryTerminal

/// The result of reading a node-apn 1.x options object: the settings, and a remark for each option.
///
/// Only options in the object have an effect. Defaults of node-apn have no effect.
struct NodeAPNOptions: Equatable, Sendable {
    var settings = NodeAPNSettings()
    /// A line for each option without a fault, in the order of the table. Unknown names come last.
    var remarks: [String] = []
    /// The reasons why the object cannot be used, a sentence for each option.
    var faults: [String] = []

    /// Whether the object contains a passphrase or a private key.
    private(set) var holdsSecret = false

    /// - Parameters:
    ///   - use: the command that reads the object.
    ///   - commandLine: the options that were given on the command line, such as `--to`. They replace those of the
    ///     object.
    init(_ object: [String: OptionValue], for use: NodeAPNOption.Use = .push, commandLine: Set<String> = []) {
        let table = NodeAPNOption.all(for: use)
        for option in table {
            guard let value = object[option.name] else { continue }
            self.read(option, value, commandLine)
        }
        if self.faults.isEmpty, self.settings.key != nil, self.settings.certificate == nil, self.settings.archive == nil
        {
            self.faults.append("key needs cert")
        }
        let known = Set(table.map(\.name))
        for name in object.keys.filter({ !known.contains($0) }).sorted() { self.remarks.append(Self.unknown(name)) }
    }

    private mutating func read(_ option: NodeAPNOption, _ value: OptionValue, _ commandLine: Set<String>) {
        self.holdsSecret = self.holdsSecret || option.isSecret(value)
        let label = [option.name, option.shows(value)].compactMap(\.self).joined(separator: " ")
        guard value != .null else {
            self.remarks.append("\(label): as if it were not there")
            return
        }
        do throws(NodeAPNOption.Fault) {
            // A value that the command line replaces is checked too: it will count once that option is left out.
            var settings = self.settings
            var remark = try option.apply(value, to: &settings)
            if let given = option.commandLine.first(where: commandLine.contains) {
                remark = "not used, \(given) of the command line counts"
            } else {
                self.settings = settings
            }
            self.remarks.append("\(label): \(remark)")
        } catch {
            self.faults.append("\(option.name) takes \(error.expected), not \(option.shows(value) ?? value.kind)")
        }
    }

    private static func unknown(_ name: String) -> String {
        guard OptionFault.isShown(name) else {
            return "warning: an option with a name of \(name.utf8.count) bytes is not known"
        }
        let meant = OptionFault.meant(name, among: NodeAPNOption.all.map(\.name)) ?? ""
        return "warning: \(name.debugDescription) is no option of node-apn 1.x\(meant)"
    }
}

extension NodeAPNOption {
    /// The value for a message; nil if it must not be shown. Of text, only host names are shown, because other text may
    /// be a secret.
    fileprivate func shows(_ value: OptionValue) -> String? {
        switch (self.effect, value) {
        case (.value(.secret), _), (.material, _), (.materials, _): value == .null ? value.shown : nil
        case (.host, .text(let text)): Endpoint(argument: text) != nil || HostName.isOne(text) ? value.shown : nil
        case (_, .null), (_, .boolean), (_, .number): value.shown
        default: nil
        }
    }

    /// Whether the value itself must be kept secret.
    fileprivate func isSecret(_ value: OptionValue) -> Bool {
        switch self.effect {
        case .value(.secret): value != .null
        case .material:
            if case .bytes(let bytes) = CredentialMaterial(value) {
                CredentialForm(bytes).holdsPrivateKey
            } else {
                false
            }
        default: false
        }
    }
}
