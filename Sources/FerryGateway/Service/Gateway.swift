package import FerryCore
internal import FerryMachine
internal import FerryServer
package import NIOCore
internal import NIOPosix

/// The upstream of a gateway: the provider to which the gateway forwards, and the providers of side connections. The
/// sink of each provider is the `outcomes` object beside it.
package struct GatewayUpstream: Sendable {
    /// The largest number of notifications that the provider should queue. Clients take no turns in the provider's
    /// queue, so the notifications of one client in this queue delay the notifications of other clients.
    package static let queueLimit = 1024

    /// A provider with one connection, made with `outcomes` as its sink.
    package struct Side: Sendable {
        package let provider: any PushProvider
        package let outcomes: UpstreamOutcomes

        package init(_ provider: any PushProvider, outcomes: UpstreamOutcomes) {
            self.provider = provider
            self.outcomes = outcomes
        }
    }

    /// Makes the provider of a side connection; nil if no provider can be made now. The common connection then carries
    /// the notifications.
    ///
    /// The provider calls `ended`, on any thread, each time that its connection ends.
    package typealias MakeSide = @Sendable (_ ended: @escaping @Sendable () -> Void) -> Side?

    package let provider: any PushProvider
    package let outcomes: UpstreamOutcomes
    package let makeSide: MakeSide
    /// The figures of the provider. They stay empty if the watch is not the provider's observer.
    package let watch: UpstreamWatch

    package init(
        _ provider: any PushProvider,
        outcomes: UpstreamOutcomes,
        watch: UpstreamWatch = UpstreamWatch(),
        makeSide: @escaping MakeSide
    ) {
        self.provider = provider
        self.outcomes = outcomes
        self.watch = watch
        self.makeSide = makeSide
    }
}

/// A gateway that accepts the binary protocol from old clients, as Apple's gateway did, and forwards to any provider.
///
/// All its work runs on one event loop. Any thread may call its methods. Shut every gateway down. Releasing its last
/// reference closes nothing.
package final class Gateway: Sendable {
    /// How long the shutdown waits until the store and the list have everything. The close of the store may then take
    /// the same time again.
    private static let storeLimit: TimeAmount = .seconds(5)
    /// The shortest time at the shutdown for answers to notifications at an upstream. If more than this time is left of
    /// ``GatewayBounds/ending``, or of a shorter limit of the caller, the answers have all of the rest.
    private static let answerLimit: Duration = .seconds(1)

    package let host: String
    package let port: Int
    /// The event loop of the gateway and its connections. A watchdog watches it.
    package var eventLoop: any EventLoop { self.driver.eventLoop }
    /// The port of the feedback service; nil without such a service.
    package let feedbackPort: Int?
    /// The addresses at which clients connect now, for people.
    package var clientAddresses: [String] {
        self.listeners.all.filter { $0.address.service == .binary }.map(\.name)
    }
    /// The ports of each door, in the order of the configuration. Without clients, the binary port is 0. Without a
    /// feedback service, the feedback port is nil.
    package var doorPorts: [(binary: Int, feedback: Int?)] { self.listeners.doorPorts }
    let listeners: GatewayListeners
    let driver: GatewayDriver
    /// The numbers of the present configuration. One reload at a time changes them.
    let numbers: Locked<GatewayNumbers>
    private let store: (any GatewayStore)?
    /// When the store was copied from another store, in UNIX seconds; nil if the store is no copy. It is also nil if
    /// an earlier start has written a commit to the copy.
    package let copiedAt: UInt32?

    private init(
        _ listeners: GatewayListeners,
        _ driver: GatewayDriver,
        _ numbers: GatewayNumbers,
        _ store: (any GatewayStore)?,
        copiedAt: UInt32?
    ) {
        self.store = store
        self.copiedAt = copiedAt
        self.listeners = listeners
        self.driver = driver
        self.numbers = Locked(numbers)
        // These are the addresses at the start. A reload may close these addresses.
        let first = listeners.first(.binary)
        self.host = first?.host ?? ""
        self.port = first?.port ?? 0
        self.feedbackPort = listeners.first(.feedback)?.port
    }

    /// Binds the addresses, and begins to forward.
    ///
    /// - Throws: `TLSError` if the credentials cannot be used, ``ListenFault`` if an address cannot be bound, and
    ///   ``StoreError`` if the store cannot be used.
    package static func start(
        _ configuration: Configuration,
        upstreams: [GatewayUpstream],
        on group: (any EventLoopGroup)? = nil
    ) async throws -> Gateway {
        let eventLoop = (group ?? MultiThreadedEventLoopGroup.singleton).next()
        let (machine, tables) = try await GatewayMachine.make(configuration, upstreams: upstreams.count)
        let copiedAt = machine.copiedAt
        let driver = GatewayDriver(
            machine,
            upstreams: upstreams,
            store: configuration.store,
            list: configuration.list,
            names: [],
            on: eventLoop,
            onHandedOver: configuration.onHandedOver,
            onConnection: configuration.onConnection,
            onEvent: configuration.onEvent
        )
        driver.rename(tables.identities)
        do {
            let listeners = GatewayListeners(driver, gateways: configuration.gateways)
            let listening = try await listeners.prepare(
                configuration.doors,
                upstreams: max(upstreams.count, configuration.otherUpstreams),
                configuration.succession
            )
            driver.start()
            try await eventLoop.submit { listeners.commit(listening) }.get()
            listeners.follow(driver.right)
            return Gateway(listeners, driver, GatewayNumbers(tables), configuration.store, copiedAt: copiedAt)
        } catch {
            await configuration.store?.close()
            throw error
        }
    }

    package var counts: FateCounts {
        get async throws {
            let driver = self.driver
            return try await driver.eventLoop.submit { driver.counts }.get()
        }
    }

    /// The present figures. Cost: one turn of the event loop.
    package var figures: (gateway: GatewayFigures, loop: LoopFigures) {
        get async throws {
            let driver = self.driver
            return try await driver.eventLoop.submit { driver.figures() }.get()
        }
    }

    /// Copies the store; see ``GatewayStore/copy(to:)``. The copy costs the event loop nothing.
    package func copyStore(to path: String) async throws(StoreError) -> StoreCopy {
        guard let store else { throw StoreError("The gateway has no store.") }
        return try await store.copy(to: path)
    }

    /// Gives up the copy that is being made, and makes no further one. Call it before the admin service stops, so that
    /// the operator gets an answer.
    package func giveUpCopy() { self.store?.giveUpCopy() }

    // MARK: Notifications that wait

    /// Returns at most `limit` of the next notifications without a final answer that the filter admits, and the place
    /// to continue; nil at the end. One turn of the event loop looks at ``GatewayMachine/placesInTurn`` jobs at most,
    /// so a page may be empty although it is not the last.
    package func waiting(
        after place: WaitingPlace,
        _ filter: WaitingFilter,
        limit: Int
    ) async throws -> (rows: [WaitingRow], next: WaitingPlace?) {
        let driver = self.driver
        return try await driver.eventLoop.submit { driver.waiting(after: place, filter, limit: limit) }.get()
    }

    /// Returns the sums of the next notifications without a final answer, and the place to continue; nil at the end.
    package func waitingSums(
        after place: WaitingPlace,
        _ filter: WaitingFilter
    ) async throws -> (sums: [WaitingSum], next: WaitingPlace?) {
        let driver = self.driver
        return try await driver.eventLoop.submit { driver.waitingSums(after: place, filter) }.get()
    }

    // MARK: Letters

    /// Whether there is a store, which keeps letters.
    package var hasStore: Bool { self.store != nil }

    /// Returns at most `limit` of the next letters, in the order of their `apns-id`s. This is nearly the order in which
    /// the notifications were read. The call costs the event loop nothing. At the end, or without a store, the list is
    /// empty.
    ///
    /// - Parameter after: the last letter that the caller has; nil at the beginning.
    package func letters(after: APNSID?, limit: Int) async throws(StoreError) -> [Letter] {
        guard let store else { return [] }
        return try await store.rows(.letters, after: after.map(Letter.key) ?? [], limit: limit).compactMap {
            Letter($0)
        }
    }

    /// Returns the letters with these `apns-id`s that the store has.
    package func letters(_ ids: [APNSID]) async throws(StoreError) -> [Letter] {
        guard let store else { return [] }
        return try await store.rows(.letters, keys: ids.map(Letter.key)).compactMap { Letter($0) }
    }

    /// Sends letters again, in one turn of the event loop: pass some hundreds at most.
    package func retry(_ letters: [Letter]) async throws -> [LetterResult] {
        let driver = self.driver
        return try await driver.eventLoop.submit { driver.retry(letters) }.get()
    }

    /// Removes letters, in one turn of the event loop: pass some hundreds at most.
    package func drop(_ ids: [APNSID]) async throws -> [LetterResult] {
        let driver = self.driver
        return try await driver.eventLoop.submit { driver.drop(ids) }.get()
    }

    /// Closes the store. Waits for ``storeLimit`` at most, because a disk may hang.
    private func closeStore() async {
        guard let store else { return }
        let promise = self.driver.eventLoop.makePromise(of: Void.self)
        let deadline = self.driver.eventLoop.scheduleTask(in: Self.storeLimit) { promise.succeed() }
        Task {
            await store.close()
            promise.succeed()
        }
        try? await promise.futureResult.get()
        deadline.cancel()
    }

    /// Writes the rest of the journal and of the list of rejections. Waits for ``storeLimit`` at most; see
    /// ``GatewayDriver/writeRest(then:)``.
    private func writeRest() async {
        let driver = self.driver
        await self.wait(within: Duration(Self.storeLimit)) { driver.writeRest(then: $0) }
    }

    /// Stops accepting, and ends the open connections within 5 s. If the process is stopped meanwhile, these 5 s begin
    /// anew, twice at most. Without a store, the call then waits until every notification has its final answer. With a
    /// store, notifications without an answer stay in the store for the next start.
    ///
    /// Connections that come to a passed socket meanwhile wait for the next process.
    ///
    /// - Parameter limit: how long to wait in all for the clients, and then for answers or the store. Closing the
    ///   sockets before, and the upstreams and the store afterwards, takes some more seconds.
    /// - Returns: whether every notification has its answer or is in the store. If a gateway without a store returns
    ///   true, call ``shutDownUpstreams(within:)`` afterwards. Otherwise the upstreams are already shut down.
    package func shutDown(within limit: Duration) async -> Bool {
        await self.listeners.close()
        let driver = self.driver
        let patience = min(limit, Duration(GatewayBounds.ending))
        var begin = ContinuousClock.now
        // The gateway must end even if the process is stopped again and again, so there are three tries at most.
        for _ in 0..<3 {
            guard await !self.wait(within: patience, { driver.shutDown(then: $0) }) else { break }
            guard begin.duration(to: .now) >= patience + Duration(GatewayBounds.stopped) else { break }
            // The process was stopped for a while, so the ``GatewayMachine`` has begun the end anew.
            begin = .now
        }
        // Connections that are still open are closed now, such as handshakes that take longer.
        await self.listeners.stop()
        let isSettled = await self.wait(within: limit - begin.duration(to: .now)) { driver.settle(then: $0) }
        var isOver = isSettled && self.store == nil
        if !isOver { try? await driver.eventLoop.submit { driver.abandon() }.get() }
        // The upstreams end before the store, because the store could not keep an answer that came after its close. The
        // ``GatewayMachine`` sends nothing more, so no further side connection is made.
        let left = min(limit, Duration(GatewayBounds.ending)) - begin.duration(to: .now)
        await self.endUpstreams(within: max(left, Self.answerLimit), onlySides: isOver)
        if !isOver { isOver = (try? await driver.eventLoop.submit { driver.giveUpUnanswered() }.get()) ?? false }
        await self.writeRest()
        try? await driver.eventLoop.submit { driver.finish() }.get()
        await self.closeStore()
        return isOver
    }

    /// Shuts the upstreams down. Without a store, ``shutDown(within:)`` leaves their common connections open if every
    /// notification has its answer.
    package func shutDownUpstreams(within limit: Duration) async {
        await self.endUpstreams(within: limit, onlySides: false)
    }

    /// Waits until the driver has called `then`, the closure that `body` passes to the driver.
    ///
    /// - Returns: false when `limit` passed first.
    @discardableResult
    private func wait(
        within limit: Duration,
        _ body: @escaping @Sendable (_ then: @escaping () -> Void) -> Void
    ) async -> Bool {
        let eventLoop = self.driver.eventLoop
        let promise = eventLoop.makePromise(of: Bool.self)
        let deadline = eventLoop.scheduleTask(in: max(TimeAmount(limit), .zero)) { promise.succeed(false) }
        eventLoop.execute { body { promise.succeed(true) } }
        defer { deadline.cancel() }
        // The promise never fails.
        return (try? await promise.futureResult.get()) ?? false
    }

    /// Shuts the upstreams down at the same time. Answers that come meanwhile are kept.
    ///
    /// - Parameter onlySides: whether the common connections stay open, because no notification waits for an answer.
    private func endUpstreams(within limit: Duration, onlySides: Bool) async {
        let driver = self.driver
        let upstreams = (try? await driver.eventLoop.submit { driver.upstreams + driver.leaving.values }.get()) ?? []
        await withTaskGroup(of: Void.self) { group in
            for upstream in onlySides ? [] : upstreams {
                group.addTask { _ = await upstream.provider.shutDown(within: limit) }
            }
            group.addTask { await driver.sides.shutDown(within: limit) }
        }
    }
}
