import FerryBinary
import FerryCore
import NIOCore
import Testing

@testable import FerryGateway

@Suite struct RoomTests {
    private static func job(of identity: Int) -> Job {
        let (token, payload): ([UInt8], [UInt8]) = ([1], [2])
        return token.withUnsafeBufferPointer { token in
            payload.withUnsafeBufferPointer { payload in
                Job(
                    scope: ReplayScope(identity: identity, address: []),
                    token: token,
                    payload: payload,
                    expiration: 0,
                    priority: 0,
                    first: .init(connection: ConnectionID(1), sequence: 0),
                    readAt: .uptimeNanoseconds(0),
                    readAtSeconds: 0
                )
            }
        }
    }

    @Test func `greedy clients leave a part of the room for the next one`() {
        var room = Room(identities: 4, jobs: 120, bytes: 1_000_000)
        for (identity, share) in [60, 30, 15].enumerated() {
            var count = 0
            while room.isFree(for: identity) {
                room.add(Self.job(of: identity))
                count += 1
            }
            #expect(count == share)
        }
        #expect(room.isFree && room.isFree(for: 3))
        // What one gives back is for all.
        room.remove(Self.job(of: 0))
        #expect(room.isFree(for: 2))
    }

    @Test func `bytes are room, too`() {
        var room = Room(identities: 2, jobs: 1000, bytes: 8)
        for _ in 0..<2 { room.add(Self.job(of: 0)) }
        #expect(!room.isFree(for: 0))
        #expect(room.isFree(for: 1))
    }
}
