internal import Ferry
internal import FerryCore
internal import FerryOptions

/// The making of a feedback list from the options of `ferry_feedback_open`, which are those of `ferry_open`.
enum FeedbackMaker {
    /// - Throws: ``OptionFault``, ``SystemFault``, and the errors of ``FeedbackReader``.
    static func make(
        _ text: UnsafeBufferPointer<UInt8>,
        on threads: () throws -> ProcessThreads
    ) throws -> FeedbackList {
        var options = try ResolvedOptions(text, isFeedback: true).options
        let file = try options.take("feedback")?.text
        let service = try self.service(&options, on: threads)
        // The remaining options are for sending. A program may pass the same object to `ferry_open`.
        options.remove(ProviderOption.names(in: .c) { _ in true })
        try options.end()
        guard file != nil || service != nil else {
            throw OptionFault(
                "Apple switched its feedback service off. Name a file in the option 'feedback', where those who send append "
                    + "the devices that are gone, or the host of a service in 'feedbackHost'."
            )
        }
        return try FeedbackList(file: file, service: service)
    }

    /// Returns a reader of the feedback service that the options name. Returns nil if the options name no service, if
    /// the backend is `echo`, or if the host is Apple's, because Apple has switched its service off.
    private static func service(
        _ options: inout OptionObject,
        on threads: () throws -> ProcessThreads
    ) throws -> FeedbackReader? {
        let host = try options.take("feedbackHost")?.text
        let port = try options.take("feedbackPort")?.count ?? FeedbackConfiguration.defaultPort
        var side: OptionObject? = options
        switch try options.take("backend").flatMap({ BackendName(rawValue: $0.text) }) {
        case .migrate: side = try options.object("binary")
        case .http2 where host == nil, .echo: side = nil
        case .http2, .binary, .auto, nil: break
        }
        guard var side, let host = host ?? side.peek("host"), AppleHost(host) == nil else { return nil }
        var configuration = FeedbackConfiguration(host: host, port: port, identity: try side.identity())
        if let roots = try side.take("ca") { configuration.trustRoots = .file(roots.text) }
        configuration.serverName = try side.take("serverName")?.text
        if let verifies = try side.take("rejectUnauthorized") { configuration.rejectUnauthorized = verifies.isOn }
        if let limit = try side.take("connectTimeout") { configuration.connectTimeout = limit.time }
        let threads = try threads()
        configuration.eventLoopGroup = threads.loops
        configuration.embedding = threads.embedding
        configuration.logger = OptionObject.silent
        return try FeedbackReader(configuration)
    }
}
