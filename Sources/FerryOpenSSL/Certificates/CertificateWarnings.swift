package import FerryPlatform

/// Decides when to warn that a certificate ends. No I/O: the wall clock is an argument.
///
/// ```
///            timePassed                  30 days before the end
///   start ─────────────▶ looked at ─────────────────────────────▶ warned of ──┐
///                         ▲     │                                  │  ▲       │ a day later
///                         └─────┘ a day later                      │  └───────┘
///                                                                  ▼ the end: the warning goes on
/// ```
package struct CertificateWarnings: Sendable {
    /// A file of certificates, and the end of the one that ends first.
    package struct Entry: Hashable, Sendable {
        /// The member or the option that names the file, such as `listen.cert`.
        package let use: String
        /// The file's name in messages.
        package let file: String
        /// The subject of the certificate that ends first, safe for a terminal.
        package let subject: String
        /// The last moment at which all certificates of the file are valid.
        package let end: Date

        /// Nil if there is no certificate.
        package init?(use: String, file: String, _ certificates: [CertificateSummary]) {
            guard let first = certificates.min(by: { $0.notAfter < $1.notAfter }) else { return nil }
            self.init(use: use, file: file, subject: first.subject, end: first.notAfter)
        }

        package init(use: String, file: String, subject: String, end: Date) {
            self.use = use
            self.file = file
            self.subject = subject
            self.end = end
        }

        /// The whole days that are left; 0 on the last one, and negative after the end.
        package func daysLeft(at now: Date) -> Int {
            CertificateWarnings.wholeDays(self.end.timeIntervalSince(now))
        }

        package func hasEnded(at now: Date) -> Bool { now > self.end }
    }

    private static let day = 86_400.0

    /// The whole days in the seconds before an end; 0 on the last day, and negative after the end.
    package static func wholeDays(_ seconds: Double) -> Int { Int((seconds / self.day).rounded(.down)) }

    /// The time before an end at which warnings begin: of the log, of the admin page and of `ferry doctor`. The alert
    /// rule FerryGatewayCertificateEnds has the same number of days.
    package static let period: Duration = .seconds(30 * 86_400)

    /// Whether to warn of a certificate that ends in so many seconds, or has ended (negative).
    package static func isDue(_ secondsLeft: Double) -> Bool { secondsLeft < Self.period / .seconds(1) }

    package let entries: [Entry]
    /// When to call ``timePassed(at:)`` again.
    package private(set) var next = Date.distantPast

    package init(_ entries: [Entry]) { self.entries = entries }

    /// Looks at all certificates, if ``next`` has come.
    ///
    /// - Returns: the entries to warn of now, the one that ends first in front.
    package mutating func timePassed(at now: Date) -> [Entry] {
        let tomorrow = now.addingTimeInterval(Self.day)
        guard now >= self.next else {
            // The clock was set back. Without this line, the next look would be as much later.
            self.next = min(self.next, tomorrow)
            return []
        }
        self.next = tomorrow
        return self.entries.filter { Self.isDue($0.end.timeIntervalSince(now)) }.sorted { $0.end < $1.end }
    }
}
