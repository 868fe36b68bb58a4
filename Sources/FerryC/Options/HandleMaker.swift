internal import Ferry
internal import FerryCore

/// Makes a handle from the options of `ferry_open`.
struct HandleMaker {
    private static let most = 1...1_000_000_000
    private static let echoLimit = 65_536
    private static let longestExit: ClosedRange<Double> = 0...3600

    /// What was made of the options of a backend.
    private struct Made {
        var backend: Backend
        var migration: MigratingProvider?
        var config: ConfigWatch?
        var goneDevices: FeedbackWriter?
    }

    /// Everything in the options that does not concern the backend.
    private struct Frame {
        var backend: BackendName
        var kept: Mailbox.Kept
        var events: Int
        var settings: Handle.Settings
        var shared: String?
        var feedback: String?
        var queueLimit: Int?

        /// Takes these options.
        init(_ options: inout OptionsObject) throws(OptionsFault) {
            guard let backend = try options.choice("backend", BackendName.self) else {
                throw OptionsFault(
                    "The option 'backend' is missing: \"binary\", \"http2\", \"migrate\", \"auto\", or \"echo\" for tests."
                )
            }
            self.backend = backend
            self.kept = try options.choice("outcomes", Mailbox.Kept.self) ?? .all
            // Without this option there are none: a program that reads no events would never have to wait.
            self.events = backend == .echo ? 0 : try options.integer("events", in: 0...1_000_000) ?? 0
            self.settings = Handle.Settings()
            self.settings.waits = try options.bool("wait") ?? false
            self.settings.exitLimit =
                try options.number("atExit", in: HandleMaker.longestExit).map { .seconds($0) } ?? .zero
            self.shared = try options.string("shared")
            self.feedback = try options.string("feedback")
            self.queueLimit = try options.integer("queueLimit", in: HandleMaker.most)
            // These are for `ferry_feedback_open`, which takes the same options.
            options.remove(["feedbackHost", "feedbackPort"])
            guard self.shared == nil || self.events == 0 else {
                throw OptionsFault("The option 'events' does not go with 'shared': events belong to the provider.")
            }
        }
    }

    /// - Throws: ``OptionsFault``, ``SystemFault``, and what the providers throw.
    static func make(
        _ text: UnsafeBufferPointer<UInt8>,
        on threads: () throws -> ProcessThreads
    ) throws -> Handle {
        try ResolvedOptions.with(text) { options, file, own in
            let frame = try Frame(&options)
            ExitDrain.note(frame.settings.exitLimit)
            guard let name = frame.shared else { return try self.own(&options, frame, file, on: threads) }
            return try self.shared(name, own, &options, frame, file, on: threads)
        }
    }

    private static func own(
        _ options: inout OptionsObject,
        _ frame: Frame,
        _ file: ConfigFile?,
        on threads: () throws -> ProcessThreads
    ) throws -> Handle {
        guard let latch = Latch() else { throw SystemFault.noDescriptors }
        var mailbox: Mailbox?
        let made = try self.backend(&options, frame, file, on: threads) { limit in
            guard let made = Mailbox(keeping: frame.kept, limit: limit) else { throw SystemFault.noDescriptors }
            mailbox = made
            return (made, limit)
        }
        guard let mailbox else { throw SystemFault.noDescriptors }
        var events: EventQueue?
        if frame.events > 0, case .provider(let provider) = made.backend {
            events = EventQueue(of: provider.body, limit: frame.events, mailbox: mailbox)
        }
        return Handle(
            .own(made.backend, closing: latch),
            mailbox: mailbox,
            settings: frame.settings,
            events: events,
            migration: made.migration,
            config: made.config,
            goneDevices: made.goneDevices
        )
    }

    private static func require(_ own: String, of provider: SharedProvider?) throws(OptionsFault) {
        guard let provider, provider.options != own else { return }
        throw OptionsFault("The provider that is shared under this name has other options.")
    }

    /// Makes a handle of the shared provider with a name, which is made first if there is none.
    ///
    /// - Parameter own: the options of the call alone, without the file's.
    private static func shared(
        _ name: String,
        _ own: String,
        _ options: inout OptionsObject,
        _ frame: Frame,
        _ file: ConfigFile?,
        on threads: () throws -> ProcessThreads
    ) throws -> Handle {
        let merged = options.text(without: OptionGroups.ofOneHandle)
        let share = try options.peekNumber("share", in: 0...100)
        var limit = frame.queueLimit ?? Self.echoLimit
        // Whoever opens after a change of the file gets a provider of the new options, beside that of earlier handles.
        let (first, version, key) = LibraryState.shared.withLock { $0.sharedProvider(name, merged) }
        try Self.require(own, of: first)
        var provider = version
        if provider == nil {
            let router = TagRouter()
            let made = try self.backend(&options, frame, file, on: threads) { ownLimit in
                limit = ownLimit
                let (total, isTooLong) = ownLimit.multipliedReportingOverflow(by: SharedProvider.roomForHandles)
                return (router, isTooLong ? .max : total)
            }
            let new = SharedProvider(
                made.backend,
                router: router,
                migration: made.migration,
                config: made.config,
                goneDevices: made.goneDevices,
                options: own,
                merged: merged,
                handleLimit: limit
            )
            provider = LibraryState.shared.withLock { $0.add(new, as: key) }
            // Another thread may have been first, with other options.
            try Self.require(own, of: provider)
        }
        guard let provider else {
            throw OptionsFault("There are \(SharedProvider.limit) shared providers, and no more are possible.")
        }
        provider.note(frame.settings.exitLimit)
        if let share, let migration = provider.migration, migration.rule.share != share { migration.rule.share = share }
        guard
            let mailbox = Mailbox(keeping: frame.kept, limit: frame.queueLimit ?? provider.handleLimit, isShared: true)
        else { throw SystemFault.noDescriptors }
        return Handle(
            .shared(provider, isClosed: Monitor(false)),
            mailbox: mailbox,
            settings: frame.settings,
            migration: provider.migration,
            config: provider.config,
            goneDevices: provider.goneDevices
        )
    }

    // MARK: Backends

    /// Makes the backend, and takes the rest of the options.
    ///
    /// - Parameter sink: returns the receiver of outcomes and the provider's queue limit, for the limit of the options.
    private static func backend(
        _ options: inout OptionsObject,
        _ frame: Frame,
        _ file: ConfigFile?,
        on threads: () throws -> ProcessThreads,
        _ sink: (Int) throws -> (any OutcomeSink, Int)
    ) throws -> Made {
        let goneFile = try frame.feedback.map { try FeedbackFile(path: $0) }
        let gone = goneFile.map { FeedbackWriter($0) }
        var goneDevices: GoneDeviceSink?
        if let gone { goneDevices = { gone.add($0, goneSince: $1) } }
        switch frame.backend {
        case .echo:
            try options.end()
            let echo = Echo(try sink(frame.queueLimit ?? Self.echoLimit).0, goneDevices: goneFile)
            return Made(backend: .echo(echo), goneDevices: gone)
        case .binary:
            var configuration = try options.binaryConfiguration(on: threads(), outcomes: .discard)
            try options.end()
            let (outcomes, limit) = try sink(frame.queueLimit ?? configuration.options.queueLimit)
            configuration.options.queueLimit = limit
            configuration.outcomes = .sink(outcomes)
            return Made(backend: .provider(try BinaryProvider(configuration)), goneDevices: gone)
        case .http2:
            var configuration = try options.http2Configuration(on: threads(), outcomes: .discard)
            try options.end()
            let (outcomes, limit) = try sink(frame.queueLimit ?? configuration.options.queueLimit)
            configuration.options.queueLimit = limit
            configuration.outcomes = .sink(gone?.before(outcomes) ?? outcomes)
            configuration.goneDevices = goneDevices
            return Made(backend: .provider(try HTTP2Provider(configuration)), goneDevices: gone)
        case .migrate:
            var configuration = try self.migration(&options, on: threads())
            try options.end()
            let (outcomes, limit) = try sink(frame.queueLimit ?? configuration.options.queueLimit)
            configuration.options.queueLimit = limit
            configuration.outcomes = .sink(gone?.before(outcomes) ?? outcomes)
            configuration.goneDevices = goneDevices
            let provider = try MigratingProvider(configuration)
            return Made(
                backend: .provider(provider),
                migration: provider,
                config: file.map { ConfigWatch($0, of: provider) },
                goneDevices: gone
            )
        case .auto:
            throw OptionsFault("The backend \"auto\" needs the option 'host': Apple's, or that of a gateway.")
        }
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
        configuration.loopCount = try options.integer("loops", in: 1...64) ?? 1
        configuration.eventLoopGroup = threads.loops
        configuration.logger = OptionsObject.silent
        return configuration
    }
}
