internal import FerryPlatform
package import FerryTerminal

/// All findings of one run, for people or for machines.
package struct DoctorReport: Sendable {
    /// The host as `HOST:PORT`; nil if only credentials were checked.
    var host: String?
    var findings: [Finding]
    /// The description of the requests that a receiver got, or the reason why it got none; nil if no receiver was
    /// examined.
    var sent: String?
    /// The advice if a host was examined and no fault was found.
    var elsewhere = Self.elsewhere

    func count(_ severity: Finding.Severity) -> Int {
        self.findings.count { $0.severity == severity }
    }

    /// The status of the command. An unreadable file decides first, because the requested check did not happen. Faults
    /// of the host come before those of credentials, because a fault of the host stops every notification.
    package var status: ExitStatus {
        let faults = self.findings.filter { $0.severity == .fault }
        if faults.contains(where: { $0.problem == .fileMissing || $0.problem == .fileUnreadable }) { return .badUsage }
        if faults.contains(where: { $0.check.isOfHost }) { return .noConnection }
        return faults.isEmpty ? .success : .faultsFound
    }

    /// The reasons why a notification may not reach a device although provider and server work. From Apple's list
    /// "Troubleshoot problems with receiving notifications".
    static let elsewhere = """
        If notifications still do not arrive, the cause is out of sight from here:
          * old device tokens, or tokens of the other environment: look at the outcomes, ferry push --events
          * no push type (watchOS wants one), or background pushes that the device holds back to save power
          * many notifications to one device in a short time: only the last may arrive, or all be blocked; ferry push --rate
          * the network of the device: TCP port 5223 must be open, or else 443
          * connections that are opened and closed again and again: APNs takes that for an attack
        """

    /// The findings for people: a line for each, and a line for its cure.
    package var text: String {
        var lines: [String] = []
        for finding in self.findings {
            lines.append("\(Self.padded(finding.severity.rawValue))  \(finding.sentence)")
            if let cure = finding.cure { lines.append("\(Self.padded(""))  cure: \(cure)") }
        }
        lines.append("")
        lines.append("\(Self.counted(self.count(.fault), "fault")), \(Self.counted(self.count(.warning), "warning"))")
        if let sent { lines += ["", sent] }
        if self.host != nil, self.status == .success { lines += ["", self.elsewhere] }
        return lines.joined(separator: "\n")
    }

    private static func padded(_ word: String) -> String {
        word + String(repeating: " ", count: Finding.Severity.warning.rawValue.count - word.count)
    }

    private static func counted(_ count: Int, _ noun: String) -> String {
        "\(count) \(noun)\(count == 1 ? "" : "s")"
    }

    /// Returns the report as one JSON object, in one line.
    ///
    /// - Throws: the error of the encoder.
    package func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}

extension DoctorReport: Encodable {
    private enum Key: String, CodingKey {
        case host, findings, sent, faults, warnings, status
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(self.host, forKey: .host)
        try container.encode(self.findings, forKey: .findings)
        try container.encodeIfPresent(self.sent, forKey: .sent)
        try container.encode(self.count(.fault), forKey: .faults)
        try container.encode(self.count(.warning), forKey: .warnings)
        try container.encode(self.status.rawValue, forKey: .status)
    }
}

extension ExitStatus {
    /// The status of `ferry doctor` for faults of the credentials only.
    static let faultsFound = ExitStatus.notAllAccepted
}
