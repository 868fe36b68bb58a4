internal import FerryOpenSSL

/// A certificate of the process in the status of a server: its file and its end.
package struct CertificateStatus: Hashable, Codable, Sendable {
    /// The file as the configuration names it.
    package var file: String
    /// The member or option that names the file: `listen.cert`.
    package var use: String
    /// The end, in UNIX seconds.
    package var endsAt: Int

    package init(file: String, use: String, endsAt: Int) {
        self.file = file
        self.use = use
        self.endsAt = endsAt
    }

    /// The whole days that are left; 0 on the last day, and negative after the end.
    package func daysLeft(now: Int) -> Int { CertificateWarnings.wholeDays(Double(self.endsAt - now)) }

    /// Returns one sentence for each certificate of which ``CertificateWarnings`` warns, the earliest end first.
    ///
    /// - Parameter cure: the last sentence, such as "Replace it, and reload."
    package static func troubles(_ ends: [CertificateStatus], now: Int, cure: String) -> [String] {
        ends.sorted { $0.endsAt < $1.endsAt }
            .prefix { CertificateWarnings.isDue(Double($0.endsAt - now)) }
            .map { end in
                let when =
                    switch end.daysLeft(now: now) {
                    case ..<0: "has ended"
                    case 0: "ends today"
                    case 1: "ends tomorrow"
                    case let days: "ends in \(days) days"
                    }
                return "The certificate \(end.file) ('\(end.use)') \(when). \(cure)"
            }
    }
}
