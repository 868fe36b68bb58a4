internal import Ferry
internal import FerryCore
internal import FerryOpenSSL
internal import FerryPlatform

/// The check that the certificates of a server or of the provider are valid now and for some time.
struct ValidityCheck {
    var check: Finding.Check
    /// The first certificate, as the beginning of a sentence: "The server's certificate".
    var owner: String
    /// The remedy for an expired certificate.
    var renewal: String
    var now: Date

    /// - Parameter certificates: the certificate of the server or the provider, then its issuers.
    func findings(_ certificates: [CertificateSummary]) -> [Finding] {
        certificates.enumerated().map { place, certificate in
            self.finding(certificate, place == 0 ? self.owner : "The certificate \(certificate.subject) behind it")
        }
    }

    private func finding(_ certificate: CertificateSummary, _ owner: String) -> Finding {
        let (first, last) = (certificate.notBefore, certificate.notAfter)
        if self.now > last {
            return .fault(
                self.check,
                .expired,
                "\(owner) expired on \(last.day), and \(ClockReading(self.now)).",
                cure: "\(self.renewal); or correct this machine's clock, if it is wrong"
            )
        }
        if self.now < first {
            return .fault(
                self.check,
                .notYetValid,
                "\(owner) is valid from \(first.day) (\(Self.time(first))) on only, and \(ClockReading(self.now)).",
                cure: "correct this machine's clock, or wait"
            )
        }
        guard CertificateWarnings.isDue(last.timeIntervalSince(self.now)) else {
            return .ok(self.check, "\(owner) is valid until \(last.day).")
        }
        let days = Int(last.timeIntervalSince(self.now) / 86_400)
        return .warning(
            self.check,
            .expiresSoon,
            "\(owner) expires on \(last.day), in \(days) day\(days == 1 ? "" : "s").",
            cure: self.renewal
        )
    }

    private static func time(_ date: Date) -> String {
        date.formatted(.iso8601.time(includingFractionalSeconds: false)) + " UTC"
    }
}
