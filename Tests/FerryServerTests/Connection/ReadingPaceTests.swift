internal import FerryServer
internal import NIOCore
internal import Testing

@Suite struct ReadingPaceTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000)

    @Test func `each read postpones the next by what its bytes may take`() {
        var pace = ReadingPace(bytesPerSecond: 1_000)
        #expect(pace.due <= Self.start)
        pace.read(500, at: Self.start)
        #expect(pace.due == Self.start + .milliseconds(500))
        pace.read(250, at: Self.start + .milliseconds(100))
        #expect(pace.due == Self.start + .milliseconds(750))
    }

    @Test func `a pause does not save up for later`() {
        var pace = ReadingPace(bytesPerSecond: 1_000)
        pace.read(100, at: Self.start)
        pace.read(100, at: Self.start + .seconds(60))
        #expect(pace.due == Self.start + .seconds(60) + .milliseconds(100))
    }

    @Test func `a chunk is a twentieth of a second's bytes, within reason`() {
        #expect(ReadingPace.chunk(bytesPerSecond: 40_000) == 2_000)
        #expect(ReadingPace.chunk(bytesPerSecond: 1) == 1)
        #expect(ReadingPace.chunk(bytesPerSecond: .max) == 65_536)
    }
}
