internal import FerryBinary
internal import FerryCore
internal import Foundation
internal import NIOCore
internal import Testing

struct FeedbackTupleTests {
    struct Vector: Decodable {
        var hex: String
        var tuples: [Tuple]

        struct Tuple: Decodable {
            var time: UInt32
            var token: String
        }
    }

    static func read(_ pieces: [ByteBuffer]) -> (tuples: [FeedbackTuple], skipped: Int, pending: Int) {
        var decoder = FeedbackDecoder()
        var tuples: [FeedbackTuple] = []
        for piece in pieces {
            decoder.append(piece)
            while let tuple = decoder.next() {
                tuples.append(tuple)
            }
        }
        return (tuples, decoder.skipped, decoder.pendingBytes)
    }

    static func vector() throws -> (bytes: [UInt8], tuples: [FeedbackTuple]) {
        let vector = try JSONDecoder().decode(Vector.self, from: vectorFile("feedback.json"))
        let tuples = try vector.tuples.map {
            try FeedbackTuple(time: Date(timeIntervalSince1970: Double($0.time)), token: DeviceToken(hex: $0.token))
        }
        return (try bytes(hex: vector.hex), tuples)
    }

    @Test func `tuples are written as the vectors have them`() throws {
        let (bytes, tuples) = try Self.vector()
        var buffer = ByteBuffer()
        for tuple in tuples {
            tuple.write(to: &buffer)
        }
        #expect(buffer == ByteBuffer(bytes: bytes))
    }

    @Test func `tuples are read wherever the stream is cut`() throws {
        let (bytes, tuples) = try Self.vector()
        for pieces in splits(bytes) {
            let found = Self.read(pieces)
            #expect(found.tuples == tuples)
            #expect(found.skipped == 0)
            #expect(found.pending == 0)
        }
    }

    @Test func `tuples are read from a long stream whose pieces all end inside a tuple`() throws {
        let (bytes, tuples) = try Self.vector()
        let stream = Array(repeatElement(bytes, count: 500).joined())
        let pieces = stride(from: 0, to: stream.count, by: 1_001).map { start in
            ByteBuffer(bytes: stream[start..<min(start + 1_001, stream.count)])
        }
        let found = Self.read(pieces)
        #expect(found.tuples == Array(repeatElement(tuples, count: 500).joined()))
        #expect(found.pending == 0)
    }

    @Test func `tuples are lost one by one when the stream ends early`() throws {
        let (bytes, tuples) = try Self.vector()
        for length in 0..<bytes.count {
            let found = Self.read([ByteBuffer(bytes: bytes[..<length])])
            #expect(found.tuples == Array(tuples.prefix(found.tuples.count)))
            let taken = found.tuples.reduce(0) { $0 + FeedbackTuple.headerLength + $1.token.bytes.count }
            #expect(taken + found.pending == length)
        }
    }

    @Test func `a tuple is skipped and counted when its token has a wrong length`() throws {
        let (good, tuples) = try Self.vector()
        let empty: [UInt8] = [0, 0, 0, 1, 0, 0]
        let long: [UInt8] = [0, 0, 0, 2, 0, 101] + Array(repeating: 9, count: 101)
        for pieces in splits(empty + good + long + empty) {
            let found = Self.read(pieces)
            #expect(found.tuples == tuples)
            #expect(found.skipped == 3)
        }
    }

    @Test func `random bytes never trap the decoder`() {
        var randomness = Randomness(state: 3)
        for _ in 0..<2_000 {
            var stream = randomness.bytes(.random(in: 0...200, using: &randomness))
            for index in stream.indices where Int.random(in: 0...2, using: &randomness) == 0 {
                stream[index] = 0
            }
            let cut = Int.random(in: 0...stream.count, using: &randomness)
            let whole = Self.read([ByteBuffer(bytes: stream)])
            let pieces = Self.read([ByteBuffer(bytes: stream[..<cut]), ByteBuffer(bytes: stream[cut...])])
            #expect(pieces == whole)
        }
    }
}
