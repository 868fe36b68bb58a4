internal import ArgumentParser
internal import Ferry

/// How old the TLS of a server may be, from an option.
enum TLSProfileOption: String, ExpressibleByArgument, CaseIterable {
    case modern, legacy

    var profile: TLSProfile {
        switch self {
        case .modern: .modern
        case .legacy: .legacy
        }
    }

    static let help: ArgumentHelp = """
        What an old server is allowed: modern, what the system's policy does; legacy, TLS 1.0 and 1.1, SHA-1 and any \
        cipher suite, too.
        """
}
