internal import Ferry
internal import FerryCore

/// Makes a handle from the options of `ferry_open`.
struct HandleMaker {
    private enum BackendName: String, CaseIterable { case binary, http2, migrate, echo }

    private static let echoLimit = 65_536

    /// - Throws: ``OptionsFault``, ``SystemFault``, and what the providers throw.
    static func make(_ text: UnsafeBufferPointer<UInt8>, on threads: () throws -> ProcessThreads) throws -> Handle {
        var options = try OptionsObject(text)
        guard let backend = try options.choice("backend", BackendName.self) else {
            throw OptionsFault(
                "The option 'backend' is missing: \"binary\", \"http2\", \"migrate\", or \"echo\" for tests."
            )
        }
        let kept = try options.choice("outcomes", Mailbox.Kept.self) ?? .all
        // Without this option there are none: a program that reads no events would never have to wait.
        let eventLimit = backend == .echo ? 0 : try options.integer("events", in: 0...1_000_000) ?? 0
        guard let latch = Latch() else { throw SystemFault.noDescriptors }
        func mailbox(_ limit: Int) throws -> Mailbox {
            guard let mailbox = Mailbox(keeping: kept, limit: limit) else {
                throw SystemFault.noDescriptors
            }
            return mailbox
        }
        switch backend {
        case .echo:
            let limit = try options.integer("queueLimit", in: 1...1_000_000_000) ?? Self.echoLimit
            try options.end()
            let mailbox = try mailbox(limit)
            return Handle(.echo(Echo(mailbox)), mailbox: mailbox, closing: latch)
        case .binary:
            var configuration = try options.binaryConfiguration(on: threads(), outcomes: .discard)
            try options.end()
            let mailbox = try mailbox(configuration.options.queueLimit)
            configuration.outcomes = .sink(mailbox)
            return self.handle(try BinaryProvider(configuration), mailbox, latch, eventLimit)
        case .http2:
            var configuration = try options.http2Configuration(on: threads(), outcomes: .discard)
            try options.end()
            let mailbox = try mailbox(configuration.options.queueLimit)
            configuration.outcomes = .sink(mailbox)
            return self.handle(try HTTP2Provider(configuration), mailbox, latch, eventLimit)
        case .migrate:
            var configuration = try self.migration(&options, on: threads())
            try options.end()
            let mailbox = try mailbox(configuration.options.queueLimit)
            configuration.outcomes = .sink(mailbox)
            let provider = try MigratingProvider(configuration)
            return self.handle(provider, mailbox, latch, eventLimit, migration: provider)
        }
    }

    private static func handle(
        _ provider: any LoopProvider,
        _ mailbox: Mailbox,
        _ latch: Latch,
        _ eventLimit: Int,
        migration: MigratingProvider? = nil
    ) -> Handle {
        let events = eventLimit == 0 ? nil : EventQueue(of: provider.body, limit: eventLimit, mailbox: mailbox)
        return Handle(.provider(provider), mailbox: mailbox, closing: latch, events: events, migration: migration)
    }

    private static func migration(
        _ options: inout OptionsObject,
        on threads: ProcessThreads
    ) throws -> MigratingConfiguration {
        guard var binary = try options.object("binary"), var http2 = try options.object("http2") else {
            throw OptionsFault("The backend \"migrate\" needs the options 'binary' and 'http2', an object each.")
        }
        var configuration = MigratingConfiguration(
            binary: try binary.binaryConfiguration(on: threads, outcomes: .discard),
            http2: try http2.http2Configuration(on: threads, outcomes: .discard),
            outcomes: .discard
        )
        try binary.end()
        try http2.end()
        configuration.options.rule.share = try options.number("share", in: 0...100) ?? 0
        if try options.bool("fallback") == true {
            var fallback = MigrationOptions.Fallback()
            if let time = try options.seconds("downAfter") { fallback.downAfter = time }
            if let includes = try options.bool("includesUnknown") { fallback.includesUnknown = includes }
            configuration.options.fallback = fallback
        }
        if let deadline = try options.seconds("deadline") { configuration.options.deadline = deadline }
        if let limit = try options.integer("queueLimit", in: 1...1_000_000_000) {
            configuration.options.queueLimit = limit
        }
        configuration.loopCount = try options.integer("loops", in: 1...64) ?? 1
        configuration.eventLoopGroup = threads.loops
        configuration.logger = OptionsObject.silent
        return configuration
    }
}
