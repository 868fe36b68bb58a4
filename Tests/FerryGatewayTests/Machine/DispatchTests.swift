import FerryBinary
import FerryCore
import FerryMachine
import NIOCore
import Testing

@testable import FerryGateway

@Suite struct DispatchTests {
    private static let now = Moment(monotonic: .uptimeNanoseconds(1_000_000_000), epochSeconds: 1_700_000_000)

    private static func dispatch(identities: Int) -> Dispatch {
        Dispatch(
            identities: (0..<identities).map { GatewayIdentity(name: "\($0)", routes: [0]) },
            routes: [Route(upstream: 0, topic: Array("com.example.app".utf8))],
            upstreams: 1,
            node: 1,
            jobLimit: 100
        )
    }

    private static func take(_ count: Int, of identity: Int, _ dispatch: inout Dispatch) {
        for _ in 0..<count {
            let id = dispatch.makeID()
            let bytes: [UInt8] = [1]
            let job = bytes.withUnsafeBufferPointer { bytes in
                Job(
                    scope: ReplayScope(identity: identity, address: []),
                    token: bytes,
                    payload: bytes,
                    expiration: 0,
                    priority: 0,
                    first: .init(connection: ConnectionID(1), sequence: 0),
                    readAt: Self.now.monotonic,
                    readAtSeconds: Self.now.epochSeconds
                )
            }
            dispatch.take(job, as: id)
            dispatch.send(id, now: Self.now)
        }
    }

    @Test func `a client that fills its share leaves room for the others`() {
        var dispatch = Self.dispatch(identities: 2)
        Self.take(50, of: 0, &dispatch)
        #expect(!dispatch.hasRoom(for: 0))
        #expect(dispatch.hasRoom(for: 1))
        #expect(dispatch.hasRoom)
        var tags: [UInt64] = []
        dispatch.withBatch(for: 0) { batch in
            while let next = batch.popFirst() { tags.append(next.tag.rawValue) }
        }
        #expect(tags.count == 50)
        _ = dispatch.settle(JobID(rawValue: tags[0]), .accepted(.confirmed), now: Self.now)
        #expect(dispatch.hasRoom(for: 0))
    }

    @Test func `the only client gets all of the room`() {
        var dispatch = Self.dispatch(identities: 1)
        Self.take(99, of: 0, &dispatch)
        #expect(dispatch.hasRoom(for: 0))
        Self.take(1, of: 0, &dispatch)
        #expect(!dispatch.hasRoom(for: 0))
    }
}
