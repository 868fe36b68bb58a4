package import FerryOpenSSL
package import FerryPlatform

/// The task that writes the warnings about certificates. ``CertificateWarnings`` decides when.
package enum CertificateWatch {
    /// The longest sleep. It is short, because the clock may be set, and a computer may sleep.
    private static let patience: Duration = .seconds(3600)

    /// Starts a task that writes the warnings until it is cancelled.
    package static func start(
        _ entries: [CertificateWarnings.Entry],
        write: @escaping @Sendable (LogMessage) -> Void
    ) -> Task<Void, Never> {
        Task {
            var warnings = CertificateWarnings(entries)
            while !Task.isCancelled {
                let now = Date.now
                for entry in warnings.timePassed(at: now) { write(.certificateEnds(entry, at: now)) }
                try? await Task.sleep(for: min(Self.patience, .seconds(warnings.next.timeIntervalSince(now))))
            }
        }
    }
}

extension LogMessage {
    /// Returns the warning of a certificate that ends soon, or has ended.
    package static func certificateEnds(_ entry: CertificateWarnings.Entry, at now: Date) -> LogMessage {
        let days = entry.daysLeft(at: now)
        let day = entry.end.formatted(.iso8601.year().month().day())
        let predicate =
            entry.hasEnded(at: now)
            ? "expired on \(day). Replace it."
            : "ends on \(day), in \(days) day\(days == 1 ? "" : "s"). Replace it before."
        return .warning(
            ServerLogEvent.certificateEnds,
            "the certificate in \(entry.file) (\(entry.use), \(entry.subject)) \(predicate)",
            [
                .file: .text(entry.file), .member: .text(entry.use), .end: .text(day), .days: .number(days),
            ]
        )
    }
}
