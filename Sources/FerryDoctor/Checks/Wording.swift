internal import Ferry
internal import FerryPlatform

extension Duration {
    /// The time in seconds if it is whole, or else in milliseconds.
    var inWords: String {
        let (seconds, rest) = self.components
        return rest == 0 ? "\(seconds) s" : "\(Int((self / .milliseconds(1)).rounded())) ms"
    }
}

extension Date {
    /// The day in UTC, in ISO 8601 form.
    var day: String { self.formatted(.iso8601.year().month().day()) }
}

extension TLSVersion {
    var inWords: String {
        switch self {
        case .tls10: "TLS 1.0"
        case .tls11: "TLS 1.1"
        case .tls12: "TLS 1.2"
        case .tls13: "TLS 1.3"
        }
    }
}
