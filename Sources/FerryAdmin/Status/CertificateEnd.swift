internal import FerryOpenSSL

/// The end of a certificate that the process uses.
package struct CertificateEnd: Hashable, Codable, Sendable {
    /// The number of days before its end at which a certificate becomes a trouble.
    package static let troubleDays = 30

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
    package func daysLeft(now: Int) -> Int { CertificateEnds.wholeDays(Double(self.endsAt - now)) }

    /// Returns one sentence for each certificate that ends soon, the earliest end first.
    ///
    /// - Parameter cure: the last sentence, such as "Replace it, and reload."
    package static func troubles(_ ends: [CertificateEnd], now: Int, cure: String) -> [String] {
        ends.sorted { $0.endsAt < $1.endsAt }
            .prefix { $0.daysLeft(now: now) <= Self.troubleDays }
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
