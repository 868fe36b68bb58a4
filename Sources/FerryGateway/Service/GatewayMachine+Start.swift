internal import FerryCore
internal import FerryMachine
internal import FerryOpenSSL
internal import FerryServer

extension GatewayMachine {
    /// Makes the machine of a configuration, and its tables. With a store, the machine continues where the last
    /// process ended.
    static func make(
        _ configuration: Gateway.Configuration,
        upstreams: Int
    ) async throws -> (GatewayMachine, GatewayTables) {
        let tables = configuration.tables(upstreams: upstreams)
        guard let store = configuration.store else {
            var generator = SystemRandomNumberGenerator()
            let hash = try GatewayHash(
                key: (0..<KeyedHash.keyLength).map { _ in .random(in: 0...255, using: &generator) }
            )
            let dispatch = Dispatch(
                identities: configuration.identities,
                routes: configuration.routes,
                upstreams: upstreams,
                node: generator.next()
            )
            let list = configuration.list.map { _ in Self.list(tables.identities, firstNumber: 1, isStored: false) }
            return (GatewayMachine(dispatch, list: list, makeKey: hash.key), tables)
        }
        let opening = try await Self.open(store, configuration.succession)
        do {
            return try await Self.make(configuration, tables, store, opening)
        } catch {
            await store.close()
            throw error
        }
    }

    private static func list(_ clients: [ClientIdentity], firstNumber: UInt64, isStored: Bool) -> RejectionList {
        var list = RejectionList(clients: clients.map(\.name), firstNumber: firstNumber, isStored: isStored)
        list.rename(clients)
        return list
    }

    /// Opens the store. With a succession, waits while another process has the store.
    private static func open(
        _ store: any GatewayStore,
        _ succession: Succession?
    ) async throws(StoreError) -> StoreOpening {
        guard let succession else { return try await store.open() }
        let isTaken = { (error: StoreError) in error.isInUse }
        return try await succession.take(.store, isTaken: isTaken) { () async throws(StoreError) -> StoreOpening in
            try await store.open()
        }
    }

    private static func make(
        _ configuration: Gateway.Configuration,
        _ tables: GatewayTables,
        _ store: any GatewayStore,
        _ opening: StoreOpening
    ) async throws -> (GatewayMachine, GatewayTables) {
        let hash = try GatewayHash(key: opening.hashKey)
        let topics = Dictionary(
            tables.identities.map { ($0.storeName, $0.routes.first.map { tables.routes[$0].topic } ?? []) },
            uniquingKeysWith: { first, _ in first }
        )
        let (now, boot) = (Moment.now, BootIdentifier.current)
        var recovery = Recovery(now: now, boot: boot) { identity, token, payload in
            token.withUnsafeBufferPointer { token in
                payload.withUnsafeBufferPointer { hash.key(topics[identity] ?? [], token, $0) }
            }
        }
        var last: UInt64 = 0
        while true {
            let segments = try await store.segments(after: last)
            guard let number = segments.last?.number else { break }
            try recovery.read(segments, hash.checksum)
            last = number
        }
        let isShared = store is any SharedStore
        guard Journal.epochs.contains(opening.epoch) else {
            throw StoreError(
                isShared
                    ? "It was taken too often, so its numbers are used up. Use another database: run ferry store init there."
                    : "The number of starts in the store is damaged or too large. Restore the file, or move it away to begin anew."
            )
        }
        let gates = try await store.rows(.gates)
        var tables = tables
        // A reload in the earlier process may have removed a client while its notifications waited.
        tables.addLeft(recovery.identities, gates)
        let names = tables.identities.map(\.storeName)
        let first = Journal.firstNumber(of: opening.epoch)
        let dispatch = Dispatch(
            identities: tables.identities,
            routes: tables.routes,
            upstreams: tables.upstreams.count,
            node: opening.node,
            firstJob: first,
            isStored: true
        )
        let journal = Journal(epoch: opening.epoch, identities: names, boot: boot, checksum: hash.checksum)
        let list = configuration.list.map { _ in
            Self.list(tables.identities, firstNumber: first, isStored: !isShared)
        }
        let machine = GatewayMachine(
            dispatch,
            journal: journal,
            isShared: isShared,
            list: list,
            firstConnection: first,
            makeKey: hash.key
        )
        if list != nil, !isShared {
            machine.restoreList(try await store.rows(.rejections), place: try await store.rows(.list))
        }
        try await machine.restoreLetters(of: store)
        machine.restoreCopy(try await store.rows(.copy), last: opening.last, now: now)
        try machine.restore(
            recovery,
            // A shared store itself gives its feedback rows to readers.
            feedback: isShared ? [] : try await store.rows(.feedback),
            habits: try await store.rows(.habits),
            gates: gates,
            identities: names,
            now: now
        )
        return (machine, tables)
    }
}
