internal import Ferry
internal import FerryCore
internal import FerryOptions

/// The making of a handle from the options of `ferry_open`.
struct HandleMaker {
    private static let echoLimit = 65_536

    /// The parts of a handle that depend on its backend.
    private struct Made {
        var backend: Backend
        var migration: MigratingProvider?
        var config: ConfigWatch?
        var goneDevices: FeedbackWriter?
    }

    /// The options that do not depend on the protocol.
    private struct Frame {
        var backend: BackendName
        var kept: Mailbox.Kept
        var events: Int
        var settings: Handle.Settings
        var shared: String?
        var feedback: String?
        var queueLimit: Int?

        init(_ options: inout OptionObject) throws(OptionFault) {
            guard let backend = try options.take("backend").flatMap({ BackendName(rawValue: $0.text) }) else {
                throw OptionFault(
                    "The option 'backend' is missing: \"binary\", \"http2\", \"migrate\", \"auto\", or \"echo\" for tests."
                )
            }
            self.backend = backend
            self.kept = try options.take("outcomes").flatMap { Mailbox.Kept(rawValue: $0.text) } ?? .all
            // Without this option there are no events. Unread events would end every wait of a program that does not
            // read them.
            self.events = backend == .echo ? 0 : try options.take("events")?.count ?? 0
            self.settings = Handle.Settings()
            self.settings.waits = try options.take("wait")?.isOn ?? false
            self.settings.exitLimit = try options.take("atExit").map { .seconds($0.number) } ?? .zero
            self.shared = try options.take("shared")?.text
            self.feedback = try options.take("feedback")?.text
            self.queueLimit = try options.take("queueLimit")?.count
            // These two options are for `ferry_feedback_open`, which may get the same object.
            options.remove(["feedbackHost", "feedbackPort"])
            guard self.shared == nil || self.events == 0 else {
                throw OptionFault("The option 'events' does not go with 'shared': events belong to the provider.")
            }
        }
    }

    /// - Throws: ``OptionFault``, ``SystemFault``, and the errors of the providers.
    static func make(
        _ text: UnsafeBufferPointer<UInt8>,
        on threads: () throws -> ProcessThreads
    ) throws -> Handle {
        var call = try ResolvedOptions(text)
        let frame = try Frame(&call.options)
        ExitDrain.note(frame.settings.exitLimit)
        guard let name = frame.shared else { return try self.own(&call.options, frame, call.file, on: threads) }
        return try self.shared(name, call.own, &call.options, frame, call.file, on: threads)
    }

    private static func own(
        _ options: inout OptionObject,
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

    private static func require(_ own: String, of provider: SharedProvider?) throws(OptionFault) {
        guard let provider, provider.options != own else { return }
        throw OptionFault("The provider that is shared under this name has other options.")
    }

    /// Makes a handle of the shared provider with this name. The first call for a name makes the provider. After a
    /// change of the file, the next call makes another provider under the same name.
    ///
    /// - Parameter own: the options of the call, without those of the file.
    private static func shared(
        _ name: String,
        _ own: String,
        _ options: inout OptionObject,
        _ frame: Frame,
        _ file: ConfigFile?,
        on threads: () throws -> ProcessThreads
    ) throws -> Handle {
        let merged = options.text(without: ProviderOption.ofOneHandle)
        var copy = options
        let share = try copy.take("share")?.number
        var limit = frame.queueLimit ?? Self.echoLimit
        // A handle that is opened after a change of the file gets a provider with the new options. Earlier handles keep
        // theirs.
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
            // Another thread may have added a provider under this name first, with other options.
            try Self.require(own, of: provider)
        }
        guard let provider else {
            throw OptionFault("There are \(SharedProvider.limit) shared providers, and no more are possible.")
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
    /// - Parameter sink: gets the queue limit of the options. It returns the receiver of outcomes and the provider's
    ///   queue limit.
    private static func backend(
        _ options: inout OptionObject,
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
            throw OptionFault("The backend \"auto\" needs the option 'host': Apple's, or that of a gateway.")
        }
    }

    private static func migration(
        _ options: inout OptionObject,
        on threads: ProcessThreads
    ) throws -> MigratingConfiguration {
        guard var binary = try options.object("binary"), var http2 = try options.object("http2") else {
            throw OptionFault("The backend \"migrate\" needs the options 'binary' and 'http2', an object each.")
        }
        var configuration = MigratingConfiguration(
            binary: try binary.binaryConfiguration(on: threads, outcomes: .discard),
            http2: try http2.http2Configuration(on: threads, outcomes: .discard),
            outcomes: .discard
        )
        try binary.end()
        try http2.end()
        configuration.options.rule.share = try options.take("share")?.number ?? 0
        if try options.take("fallback")?.isOn == true {
            var fallback = MigrationOptions.Fallback()
            if let time = try options.take("downAfter") { fallback.downAfter = time.time }
            if let includes = try options.take("includesUnknown") { fallback.includesUnknown = includes.isOn }
            configuration.options.fallback = fallback
        }
        if let deadline = try options.take("deadline") { configuration.options.deadline = deadline.time }
        configuration.loopCount = try options.take("loops")?.count ?? 1
        configuration.eventLoopGroup = threads.loops
        configuration.logger = OptionObject.silent
        return configuration
    }
}
