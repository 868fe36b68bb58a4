internal import ArgumentParser
internal import Ferry

/// The highest TLS version, from an option.
enum TLSMaximum: String, ExpressibleByArgument, CaseIterable {
    case tls12 = "1.2"
    case tls13 = "1.3"

    var version: TLSVersion {
        switch self {
        case .tls12: .tls12
        case .tls13: .tls13
        }
    }
}
