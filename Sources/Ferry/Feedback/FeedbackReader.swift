internal import FerryOpenSSL
internal import FerryPlatform

/// Reads the list of devices that no longer have the app, from a feedback service of the binary protocol.
///
/// ```swift
/// let reader = try FeedbackReader(FeedbackConfiguration(host: "feedback.example.com", identity: identity))
/// for try await tuple in reader.sweep() {
///     if lastRegistration(of: tuple.token) <= tuple.time { forget(tuple.token) }
/// }
/// ```
///
/// The reader holds no connection. It may be used from any thread and for any number of readings.
public struct FeedbackReader: Sendable {
    private let configuration: FeedbackConfiguration
    private let connector: TLSConnector

    /// Makes a reader and checks its credentials. Reads the trust roots, which may be a file.
    ///
    /// - Throws: ``TLSError`` when the certificate has expired or is not valid yet, when OpenSSL refuses the
    ///   credentials, or when the trust roots cannot be read; ``ConfigurationError`` when the port is not 1 to 65,535,
    ///   or the host is one of Apple's, which were switched off in 2021.
    public init(_ configuration: FeedbackConfiguration) throws {
        try AppleHost.require(configuration.host, for: .feedback)
        try configuration.identity?.validate(at: .now)
        self.configuration = configuration
        self.connector = try TLSConnector(
            host: configuration.host,
            port: configuration.port,
            serverName: configuration.serverName,
            client: .init(
                trustRoots: configuration.trustRoots,
                identity: configuration.identity,
                profile: configuration.tlsProfile,
                versions: configuration.tlsProfile.widened(configuration.tlsVersions)
            ),
            rejectUnauthorized: configuration.rejectUnauthorized,
            connectTimeout: configuration.connectTimeout,
            source: configuration.addressSource,
            embedding: configuration.embedding
        )
    }

    /// Makes one reading of the list. It connects when its first tuple is requested.
    public func sweep() -> FeedbackSweep {
        FeedbackSweep(FeedbackDriver(self.configuration, connector: self.connector))
    }

    /// Makes one reading for a caller without tasks. It connects at once.
    ///
    /// - Parameter onNews: called on any thread after tuples or the end came.
    package func reading(onNews: @escaping @Sendable () -> Void) -> FeedbackReading {
        FeedbackReading(FeedbackDriver(self.configuration, connector: self.connector, onNews: onNews))
    }

    /// Makes readings at the configured interval. The first begins when the first event is requested.
    public func events() -> FeedbackEvents {
        FeedbackEvents(reader: self, interval: self.configuration.interval)
    }
}
