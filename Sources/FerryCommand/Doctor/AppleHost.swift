internal import Ferry

/// One of Apple's hosts for providers ("Binary Provider API"; "Sending notification requests to APNs").
struct AppleHost: Equatable, Sendable {
    enum Service: Sendable {
        case binary, feedback, http2
    }

    var service: Service
    var environment: CertificateSummary.Environment

    /// - Parameter name: in upper or lower case, with or without the final dot. Nil is returned for names that are not
    ///   Apple's.
    init?(_ name: String) {
        let name = name.hasSuffix(".") ? String(name.dropLast()) : name
        switch name.lowercased() {
        case BinaryConfiguration.productionHost: self.init(.binary, .production)
        case BinaryConfiguration.sandboxHost: self.init(.binary, .sandbox)
        case "feedback.push.apple.com": self.init(.feedback, .production)
        case "feedback.sandbox.push.apple.com": self.init(.feedback, .sandbox)
        case "api.push.apple.com": self.init(.http2, .production)
        case "api.sandbox.push.apple.com", "api.development.push.apple.com": self.init(.http2, .sandbox)
        default: return nil
        }
    }

    private init(_ service: Service, _ environment: CertificateSummary.Environment) {
        self.service = service
        self.environment = environment
    }

    /// Whether Apple has switched the host off, on 2021-03-31.
    var isRetired: Bool { self.service != .http2 }

    var port: Int {
        switch self.service {
        case .binary: BinaryConfiguration.defaultPort
        case .feedback: 2196
        case .http2: 443
        }
    }

    /// The host that replaces a retired one.
    var successor: String {
        self.environment == .production ? "api.push.apple.com" : "api.sandbox.push.apple.com"
    }
}
