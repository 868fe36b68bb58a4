package import FerryOpenSSL

/// One of Apple's hosts for providers with its service, environment and port ("Binary Provider API"; "Sending notification
/// requests to APNs").
///
/// The names and ports are constants of the configuration of each service, because programs use them, too. This table
/// finds the rest by the name. APNs has another port, too: ``HTTP2Configuration/alternativePort``.
package struct AppleHost: Equatable, Sendable {
    package enum Service: Sendable {
        case binary, feedback, http2
        /// The management of broadcast channels, over HTTP/2.
        case channels
    }

    package var service: Service
    package var environment: CertificateSummary.Environment
    package var port: Int

    /// All hosts by name, in lower case.
    private static let table: [String: AppleHost] = [
        BinaryConfiguration.productionHost: .init(.binary, .production, BinaryConfiguration.defaultPort),
        BinaryConfiguration.sandboxHost: .init(.binary, .sandbox, BinaryConfiguration.defaultPort),
        FeedbackConfiguration.productionHost: .init(.feedback, .production, FeedbackConfiguration.defaultPort),
        FeedbackConfiguration.sandboxHost: .init(.feedback, .sandbox, FeedbackConfiguration.defaultPort),
        HTTP2Configuration.productionHost: .init(.http2, .production, HTTP2Configuration.defaultPort),
        HTTP2Configuration.productionBroadcastHost: .init(.http2, .production, HTTP2Configuration.defaultPort),
        HTTP2Configuration.sandboxHost: .init(.http2, .sandbox, HTTP2Configuration.defaultPort),
        HTTP2Configuration.sandboxBroadcastHost: .init(.http2, .sandbox, HTTP2Configuration.defaultPort),
        "api.development.push.apple.com": .init(.http2, .sandbox, HTTP2Configuration.defaultPort),
        ChannelManagerConfiguration.productionHost:
            .init(.channels, .production, ChannelManagerConfiguration.productionPort),
        ChannelManagerConfiguration.sandboxHost: .init(.channels, .sandbox, ChannelManagerConfiguration.sandboxPort),
    ]

    /// - Parameter name: in upper or lower case, with or without the final dot. Nil is returned for names that are not
    ///   Apple's.
    package init?(_ name: String) {
        let name = name.hasSuffix(".") ? String(name.dropLast()) : name
        guard let host = Self.table[name.lowercased()] else { return nil }
        self = host
    }

    private init(_ service: Service, _ environment: CertificateSummary.Environment, _ port: Int) {
        self.service = service
        self.environment = environment
        self.port = port
    }

    /// Whether Apple has switched the host off, on 2021-03-31.
    package var isRetired: Bool {
        switch self.service {
        case .binary, .feedback: true
        case .http2, .channels: false
        }
    }

    /// The host for notifications in the same environment. It replaces a retired one.
    package var successor: String {
        self.environment == .production ? HTTP2Configuration.productionHost : HTTP2Configuration.sandboxHost
    }

    // MARK: The wrong client

    /// "Apple switched gateway.push.apple.com off on 2021-03-31"; nil for a host that is still there.
    package static func retirement(of host: String) -> String? {
        AppleHost(host)?.isRetired == true ? "Apple switched \(host) off on 2021-03-31" : nil
    }

    /// Checks that a client of `service` can use the host.
    ///
    /// - Throws: ``ConfigurationError`` with ``ConfigurationError/Code/wrongService``.
    static func require(_ host: String, for service: Service) throws(ConfigurationError) {
        guard let apple = AppleHost(host) else { return }
        let advice: String
        switch (apple.service, service) {
        case (.http2, .http2), (.channels, .channels): return
        case (.http2, .binary), (.http2, .feedback):
            throw ConfigurationError(.wrongService, "\(host) speaks HTTP/2 only: use HTTP2Provider.")
        case (.channels, _):
            throw ConfigurationError(
                .wrongService,
                "\(host) is for channels only: use ChannelManager, and send to \(apple.successor) with HTTP2Provider."
            )
        case (_, .channels):
            let own =
                apple.environment == .production
                ? ChannelManagerConfiguration.productionHost : ChannelManagerConfiguration.sandboxHost
            throw ConfigurationError(.wrongService, "\(host) is not for channels: they are managed at \(own).")
        case (.binary, _), (.feedback, .binary), (.feedback, .http2):
            advice = "send with HTTP2Provider to \(apple.successor), or name a gateway that is not Apple's"
        case (.feedback, .feedback):
            advice =
                "over HTTP/2 an outcome with status 410 says that a device is gone; or name a feedback service that is not "
                + "Apple's"
        }
        throw ConfigurationError(.wrongService, "\(self.retirement(of: host) ?? host): \(advice).")
    }

    // MARK: The wrong certificate

    /// Checks that the certificate is for the host's environment. APNs would refuse every notification. A certificate
    /// without Apple's marks, and a host that is not Apple's, pass.
    ///
    /// - Throws: ``ConfigurationError`` with ``ConfigurationError/Code/wrongEnvironment``.
    static func require(_ host: String, for identity: TLSIdentity?) throws(ConfigurationError) {
        guard let apple = AppleHost(host), let certificate = identity?.summary, !certificate.environments.isEmpty,
            !certificate.environments.contains(apple.environment)
        else { return }
        let marks = certificate.environments.map(\.rawValue).sorted().joined(separator: ", ")
        throw ConfigurationError(
            .wrongEnvironment,
            "The certificate \(certificate.subject) is for \(marks) only, and \(host) is for "
                + "\(apple.environment.rawValue): use a certificate for \(apple.environment.rawValue), or send to the host for "
                + "\(marks)."
        )
    }
}
