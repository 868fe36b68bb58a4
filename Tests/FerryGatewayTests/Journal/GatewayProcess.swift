import FerryBinary
import FerryCore
import FerryMachine
import NIOCore

@testable import FerryGateway

/// The start of a gateway process on a store: one client stack, one topic.
enum GatewayProcess {
    /// Nil if this text is none.
    static let boot = BootIdentifier("0b1c2d3e-4f50-6172-8394-a5b6c7d8e9fa")

    /// - Parameters:
    ///   - store: nil: the gateway keeps nothing.
    ///   - hasList: whether the list of rejections has a file; with a store only.
    ///   - node: the first half of every `apns-id`, without a store.
    static func machine(
        _ store: MemoryStore?,
        node: UInt64 = 1,
        upstreamKey: [UInt8] = [],
        repeatsUnknown: Bool = true,
        hasList: Bool = false,
        _ change: (inout ClientIdentity) -> Void = { _ in },
        now: Moment,
        boot: BootIdentifier? = Self.boot,
        makeKey: @escaping (ArraySlice<UInt8>, ArraySlice<UInt8>) -> ReplayKey
    ) throws -> GatewayMachine {
        guard let store else {
            let dispatch = Self.dispatch(node: node, firstJob: 1, isStored: false) {
                $0.repeatsUnknown = repeatsUnknown
                change(&$0)
            }
            return GatewayMachine(dispatch) { _, token, payload in makeKey(Array(token)[...], Array(payload)[...]) }
        }
        let opening = store.take()
        let recovery = try Self.recovery(store, now: now, boot: boot, makeKey: makeKey)
        let first = Journal.firstNumber(of: opening.epoch)
        let dispatch = Self.dispatch(
            node: opening.node,
            firstJob: first,
            upstreamKey: upstreamKey,
            isStored: true
        ) {
            $0.repeatsUnknown = repeatsUnknown
            change(&$0)
        }
        let journal = Journal(epoch: opening.epoch, identities: ["old"], boot: boot, checksum: Self.checksum)
        let list = hasList ? RejectionList(clients: ["old"], firstNumber: first, isStored: !store.isShared) : nil
        let machine = GatewayMachine(
            dispatch,
            journal: journal,
            isShared: store.isShared,
            list: list,
            firstConnection: first
        ) { _, token, payload in
            makeKey(Array(token)[...], Array(payload)[...])
        }
        if !store.isShared { machine.restoreList(store.all(.rejections), place: store.all(.list)) }
        machine.restoreLetters(store.page(.letters, after: [], limit: .max))
        machine.restoreCopy(store.all(.copy), last: opening.last, now: now)
        try machine.restore(
            recovery,
            feedback: store.all(.feedback),
            habits: store.all(.habits),
            gates: store.all(.gates),
            identities: ["old"],
            now: now
        )
        return machine
    }

    private static func dispatch(
        node: UInt64,
        firstJob: UInt64,
        upstreamKey: [UInt8] = [],
        isStored: Bool,
        _ change: (inout ClientIdentity) -> Void = { _ in }
    ) -> Dispatch {
        var identity = ClientIdentity(name: "old", routes: [0])
        change(&identity)
        return Dispatch(
            identities: [identity],
            routes: [Route(upstream: 0, topic: Array("com.example.app".utf8), upstreamKey: upstreamKey)],
            upstreams: 1,
            node: node,
            firstJob: firstJob,
            isStored: isStored
        )
    }

    /// What a new process would find.
    static func recovery(
        _ store: MemoryStore,
        now: Moment,
        boot: BootIdentifier? = Self.boot,
        makeKey: @escaping (ArraySlice<UInt8>, ArraySlice<UInt8>) -> ReplayKey
    ) throws -> Recovery {
        var recovery = Recovery(now: now, boot: boot) { _, token, payload in makeKey(token, payload) }
        var last: UInt64 = 0
        while true {
            let page = store.page(after: last)
            guard let number = page.last?.number else { return recovery }
            try recovery.read(page, Self.checksum)
            last = number
        }
    }

    /// FNV-1a: enough for bytes that a test changes.
    static func checksum(_ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(14_695_981_039_346_656_037) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
    }
}
