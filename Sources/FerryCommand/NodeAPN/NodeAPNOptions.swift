internal import FerryOpenSSL

/// What a node-apn 1.x options object comes to: what it changes, and a remark for each of its options.
///
/// Only what the object says counts. What node-apn has as a default changes nothing.
struct NodeAPNOptions: Equatable, Sendable {
    var settings = NodeAPNSettings()
    /// A line for each option, in the order of the table, those with unknown names last.
    var remarks: [String] = []
    /// Why the object cannot be used, a sentence for each option.
    var faults: [String] = []

    /// Whether a passphrase, or a key itself, stands in the object.
    private(set) var holdsSecret = false

    /// - Parameters:
    ///   - use: which command reads the object.
    ///   - commandLine: the options that were given there, such as `--to`; they count in place of the object's.
    init(_ object: [String: NodeAPNValue], for use: NodeAPNOption.Use = .push, commandLine: Set<String> = []) {
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

    private mutating func read(_ option: NodeAPNOption, _ value: NodeAPNValue, _ commandLine: Set<String>) {
        self.holdsSecret = self.holdsSecret || option.isSecret(value)
        let label = [option.name, option.shows(value)].compactMap(\.self).joined(separator: " ")
        guard value != .null else {
            self.remarks.append("\(label): as if it were not there")
            return
        }
        do throws(NodeAPNOption.Fault) {
            // A value that does not count must be right, too: it will count one day.
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

    /// The longest name that a message shows.
    private static let longestName = 40

    /// A member's name in quotes; without it, if it may be a secret: names of options have letters only.
    static func words(_ name: String) -> String {
        let isName = name.utf8.count <= self.longestName && name.utf8.allSatisfy(self.isLetter)
        return isName ? name.debugDescription : "an option with a name of \(name.utf8.count) bytes"
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
    }

    private static func unknown(_ name: String) -> String {
        let words = self.words(name)
        guard words == name.debugDescription else { return "warning: \(words) is not known" }
        let advice = SimilarName.of(name, among: NodeAPNOption.all.map(\.name)).map { "; is \($0) meant?" }
        return "warning: \(words) is no option of node-apn 1.x\(advice ?? "")"
    }
}

extension NodeAPNOption {
    /// What a message shows of a value: only a host's name of what is text, because text may be a secret.
    fileprivate func shows(_ value: NodeAPNValue) -> String? {
        switch (self.effect, value) {
        case (.secret, _), (.material, _), (.materials, _): value == .null ? value.shown : nil
        case (.host, .text(let text)): Endpoint(argument: text) != nil || HostName.isOne(text) ? value.shown : nil
        case (_, .null), (_, .boolean), (_, .number): value.shown
        default: nil
        }
    }

    /// Whether the value is itself what others must not read.
    fileprivate func isSecret(_ value: NodeAPNValue) -> Bool {
        switch self.effect {
        case .secret: value != .null
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
