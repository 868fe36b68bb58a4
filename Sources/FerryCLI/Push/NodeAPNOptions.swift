/// What a node-apn 1.x options object comes to: what it changes, and a remark for each of its options.
///
/// Only what the object says counts. What node-apn has as a default changes nothing.
struct NodeAPNOptions: Equatable, Sendable {
    var settings = NodeAPNSettings()
    /// A line for each option, in the order of the table, those with unknown names last.
    var remarks: [String] = []
    /// Why the object cannot be used, a sentence for each option.
    var faults: [String] = []

    /// - Parameter commandLine: the options that were given there, such as `--to`; they count in place of the object's.
    init(_ object: [String: NodeAPNValue], commandLine: Set<String> = []) {
        for option in NodeAPNOption.all {
            guard let value = object[option.name] else { continue }
            self.read(option, value, commandLine)
        }
        if self.faults.isEmpty, self.settings.key != nil, self.settings.certificate == nil, self.settings.archive == nil
        {
            self.faults.append("key needs cert")
        }
        let known = Set(NodeAPNOption.all.map(\.name))
        for name in object.keys.filter({ !known.contains($0) }).sorted() { self.remarks.append(Self.unknown(name)) }
    }

    private mutating func read(_ option: NodeAPNOption, _ value: NodeAPNValue, _ commandLine: Set<String>) {
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

    /// The longest name that a remark shows.
    private static let longestName = 40

    private static func unknown(_ name: String) -> String {
        guard name.utf8.count <= Self.longestName else {
            return "warning: an option with a name of \(name.utf8.count) bytes is not known"
        }
        let advice = SimilarName.of(name, among: NodeAPNOption.all.map(\.name)).map { "; is \($0) meant?" }
        return "warning: \(name.debugDescription) is no option of node-apn 1.x\(advice ?? "")"
    }
}

extension NodeAPNOption {
    /// What a message shows of a value: only a host's name of what is text, because text may be a secret.
    fileprivate func shows(_ value: NodeAPNValue) -> String? {
        switch (self.effect, value) {
        case (.secret, _), (.material, _), (.materials, _): value == .null ? value.shown : nil
        case (.host, .text), (_, .null), (_, .boolean), (_, .number): value.shown
        default: nil
        }
    }
}
