import FerryCore
import FerryHTTP2
import FerryMachine
import NIOCore
import Testing

/// Random schedules of calls, answers and ends: what must hold, whatever happens.
@Suite struct ChannelScheduleTests {
    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func `Every call has one result, and no creation is written twice`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let apns = ChannelRehearsal()
        apns.settings.maxConcurrentStreams = UInt32.random(in: 1...10, using: &random)
        var calls: [UInt64: ChannelOperation] = [:]
        for _ in 0..<60 {
            try Self.step(apns, &calls, &random)
        }
        apns.shutDown()
        apns.abandon()
        #expect(Set(apns.results.keys) == Set(calls.keys), "seed \(seed)")
        #expect(apns.isFinished, "seed \(seed)")
        for requests in Dictionary(grouping: apns.requests, by: { $0.fields["apns-request-id"] }).values {
            let limit = requests.contains { $0.fields[":method"] == "POST" } ? 1 : 2
            #expect(requests.count <= limit, "seed \(seed)")
        }
    }

    private static func step(
        _ apns: ChannelRehearsal,
        _ calls: inout [UInt64: ChannelOperation],
        _ random: inout SplitMix64
    ) throws {
        switch Int.random(in: 0..<12, using: &random) {
        case 0...3:
            let operation = ChannelRehearsal.operations[Int.random(in: 0..<4, using: &random)]
            calls[apns.submit(operation)] = operation
        case 4: try apns.exchange()
        case 5: try apns.pass(.seconds(.random(in: 1...20, using: &random)))
        case 6: if let call = calls.keys.sorted().last { apns.cancel(call) }
        case 7: apns.endFinished()
        default:
            try apns.exchange()
            guard apns.hasServer, !apns.requests.isEmpty else { return }
            // The stream of the last request may be over.
            switch Int.random(in: 0..<6, using: &random) {
            case 0: try? apns.answer(status: [200, 201, 204, 400, 503].randomElement(using: &random) ?? 200)
            case 1: try? apns.reset(Bool.random(using: &random) ? .refusedStream : .internalError)
            case 2: try? apns.goAway(lastStreamID: Bool.random(using: &random) ? 0 : nil)
            case 3: try apns.end(handed: Bool.random(using: &random) ? 0 : .max)
            case 4: try? apns.begin(status: 200)
            default: apns.writeInVain()
            }
        }
    }
}
