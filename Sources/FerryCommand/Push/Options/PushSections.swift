internal import ArgumentParser
internal import Ferry
internal import FerryBinary
internal import FerryHTTP2
internal import FerryOptions

enum TopicSection: OptionSection {
    static let arguments = OptionArgument.of(ProviderOption.topic)
}

/// Options of connections, with the same meaning for both protocols.
enum ConnectionSection: OptionSection {
    static let arguments = OptionArgument.of(ProviderOption.connections)

    /// The limit of retries. It is a time, because a person waits. A number would not fit: a gateway that restarts
    /// refuses many times a second.
    private static let retryTime: Duration = .seconds(30)
    /// The largest number of notifications in the cache. A run may use more memory for it than a program would.
    private static let cacheLimit = 1 << 20

    /// The defaults for the binary protocol, for the command line and a configuration file to replace.
    static let binaryDefaults = {
        var options = BinaryOptions()
        options.cacheLimit = .init(entries: Self.cacheLimit, bytes: Self.cacheLimit * 256)
        options.connectionRetryLimit = nil
        options.connectionRetryTime = Self.retryTime
        return options
    }()

    /// The defaults for HTTP/2, for the command line to replace.
    static let http2Defaults = {
        var options = HTTP2Options()
        options.connectionRetryLimit = nil
        options.connectionRetryTime = Self.retryTime
        return options
    }()
}

extension OptionArguments where Section == ConnectionSection {
    /// The number of event loops of a provider with this many connections.
    func loopCount(connections: Int) throws -> Int {
        guard let loops = self["loops"]?.count, loops > connections else { return self["loops"]?.count ?? 1 }
        throw ValidationError("--loops \(loops) needs as many connections: give --connections \(loops) or more.")
    }
}

/// Options of the binary protocol only.
enum BinarySection: OptionSection {
    static let arguments = OptionArgument.of(ProviderOption.binaryProtocol)
}

extension OptionArguments where Section == BinarySection {
    var proof: Proof {
        switch self.text("proof") {
        case "silence": .silence
        case "probe": .probe
        default: .automatic
        }
    }
}

/// Options of HTTP/2 only.
enum HTTP2Section: OptionSection {
    static let arguments = OptionArgument.of(ProviderOption.http2Protocol)
}
