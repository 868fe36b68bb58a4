/// The metrics that every server has.
extension MetricsText {
    /// Begins a page with the version of the program.
    package init(ferry: String) {
        self.init()
        self.add(
            .gauge,
            "ferry_build_info",
            "The version of this program; always 1.",
            [Series(1, [("version", ferry)])]
        )
    }

    /// Adds the metric of certificate ends, with one series for each certificate.
    ///
    /// - Parameter server: the word for the server in the names of the metrics: `gateway`.
    package mutating func add(_ certificates: [CertificateStatus], of server: String) {
        self.add(
            .gauge,
            "ferry_\(server)_certificate_end_timestamp_seconds",
            "When a certificate ends, in UNIX seconds.",
            certificates.map { Series($0.endsAt, [("file", $0.file), ("use", $0.use)]) }
        )
    }
}
