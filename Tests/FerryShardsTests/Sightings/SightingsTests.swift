import FerryGateway
import NIOCore
import Testing

@testable import FerryShards

/// The reports of the clients of a process, in virtual time.
@Suite struct SightingsTests {
    private static let start = NIODeadline.uptimeNanoseconds(1)

    private static func sighting(_ number: Int, in shard: Int = 0) -> Sightings.Sighting {
        Sightings.Sighting(client: ClientAddress(client: "shop", address: "\(number)"), shard: shard)
    }

    @Test func `A client is reported at its first connection, and each minute while it has one`() {
        var sightings = Sightings()
        let client = Self.sighting(1)
        #expect(sightings.takeReport(now: Self.start) == [])
        for _ in 0..<3 { sightings.opened(client) }
        var times: [Int64] = []
        for second in Int64(0)...150 {
            if !sightings.takeReport(now: Self.start + .seconds(second)).isEmpty { times.append(second) }
            if second == 70 { for _ in 0..<2 { sightings.closed(client) } }
            if second == 130 { sightings.closed(client) }
        }
        #expect(times == [0, 60, 120])
        #expect(sightings.takeReport(now: Self.start + .seconds(180)) == [])
        #expect(sightings.takeReport(now: Self.start + .hours(1)) == [])
    }

    @Test func `A client with short connections is reported once a minute`() {
        var sightings = Sightings()
        let client = Self.sighting(1)
        var times: [Int64] = []
        for second in Int64(0)...300 {
            if second < 100 {
                sightings.opened(client)
                sightings.closed(client)
            }
            if !sightings.takeReport(now: Self.start + .seconds(second)).isEmpty { times.append(second) }
        }
        #expect(times == [0, 60, 120])
        sightings.opened(client)
        #expect(sightings.takeReport(now: Self.start + .seconds(301)) == [client])
    }

    @Test func `Two shards of a client are in two reports, because a report has each client once`() {
        var sightings = Sightings()
        for shard in 0...1 { sightings.opened(Self.sighting(1, in: shard)) }
        sightings.opened(Self.sighting(2))
        #expect(sightings.takeReport(now: Self.start) == [Self.sighting(1, in: 0), Self.sighting(2)])
        #expect(sightings.takeReport(now: Self.start) == [Self.sighting(1, in: 1)])
        #expect(sightings.takeReport(now: Self.start) == [])
        let later = Self.start + Sightings.interval
        #expect(sightings.takeReport(now: later) == [Self.sighting(1, in: 0), Self.sighting(2)])
        #expect(sightings.takeReport(now: later) == [Self.sighting(1, in: 1)])
    }

    @Test func `Reports are bounded, and further clients are left out until others are forgotten`() {
        var sightings = Sightings()
        for number in 0...Sightings.limit { sightings.opened(Self.sighting(number)) }
        var reported: Set<Sightings.Sighting> = []
        func report(at time: NIODeadline) {
            while case let report = sightings.takeReport(now: time), !report.isEmpty {
                #expect(report.count <= Sightings.batch)
                reported.formUnion(report)
            }
        }
        report(at: Self.start)
        #expect(reported.count == Sightings.limit)
        let last = Self.sighting(Sightings.limit)
        #expect(!reported.contains(last))
        // The end of a connection that was left out changes nothing.
        sightings.closed(last)
        sightings.closed(Self.sighting(0))
        report(at: Self.start + Sightings.interval)
        sightings.opened(last)
        report(at: Self.start + Sightings.interval)
        #expect(reported.contains(last))
    }
}
