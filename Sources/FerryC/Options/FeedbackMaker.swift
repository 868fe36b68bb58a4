internal import Ferry
internal import FerryCore

/// Makes a feedback list from the options of `ferry_feedback_open`, which are those of `ferry_open`.
enum FeedbackMaker {
    /// - Throws: ``OptionsFault``, ``SystemFault``, and what the feedback reader throws.
    static func make(
        _ text: UnsafeBufferPointer<UInt8>,
        on threads: () throws -> ProcessThreads
    ) throws -> FeedbackList {
        try ResolvedOptions.with(text, isFeedback: true) { options, _, _ in
            let file = try options.string("feedback")
            let service = try self.service(&options, on: threads)
            // What is left is for sending.
            options.remove(OptionGroups.all)
            try options.end()
            guard file != nil || service != nil else {
                throw OptionsFault(
                    "Apple switched its feedback service off. Name a file in the option 'feedback', where those who send append "
                        + "the devices that are gone, or the host of a service in 'feedbackHost'."
                )
            }
            return try FeedbackList(file: file, service: service)
        }
    }

    /// Returns a reader of the service of the binary protocol; nil if there is none.
    private static func service(
        _ options: inout OptionsObject,
        on threads: () throws -> ProcessThreads
    ) throws -> FeedbackReader? {
        let host = try options.string("feedbackHost")
        let port = try options.integer("feedbackPort", in: 1...65_535) ?? FeedbackConfiguration.defaultPort
        var side: OptionsObject? = options
        switch try options.choice("backend", BackendName.self) {
        case .migrate: side = try options.object("binary")
        case .http2 where host == nil, .echo: side = nil
        case .http2, .binary, .auto, nil: break
        }
        guard var side, let host = host ?? side.peek("host"), AppleHost(host) == nil else { return nil }
        var configuration = FeedbackConfiguration(host: host, port: port, identity: try side.identity())
        if let roots = try side.string("ca") { configuration.trustRoots = .file(roots) }
        configuration.serverName = try side.string("serverName")
        if let verifies = try side.bool("rejectUnauthorized") { configuration.rejectUnauthorized = verifies }
        if let limit = try side.seconds("connectTimeout") { configuration.connectTimeout = limit }
        let threads = try threads()
        configuration.eventLoopGroup = threads.loops
        configuration.embedding = threads.embedding
        configuration.logger = OptionsObject.silent
        return try FeedbackReader(configuration)
    }
}
