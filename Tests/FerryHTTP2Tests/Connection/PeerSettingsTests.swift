import NIOCore
import Testing

@testable import FerryHTTP2

@Suite struct PeerSettingsTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private var settings: PeerSettings

    init() {
        self.settings = PeerSettings(awaitedUntil: self.start + .seconds(10))
    }

    @Test mutating func `SETTINGS are due until they come`() {
        #expect(self.settings.dueAt == self.start + .seconds(10))
        #expect(self.settings.limit == nil)
        self.settings.came(1000, now: self.start)
        #expect(self.settings.dueAt == nil)
        #expect(self.settings.limit == 1000)
    }

    @Test mutating func `without streams a connection is closed since then`() {
        self.settings.came(0, now: self.start)
        self.settings.came(0, now: self.start + .seconds(1))
        self.settings.writing()
        #expect(self.settings.closedSince == self.start)
    }

    @Test mutating func `streams that are taken back before a request could be written do not count`() {
        self.settings.came(0, now: self.start)
        self.settings.came(1, now: self.start + .seconds(1))
        #expect(self.settings.closedSince == nil)
        self.settings.came(0, now: self.start + .seconds(2))
        #expect(self.settings.closedSince == self.start)
    }

    @Test mutating func `streams that requests could be written on begin anew`() {
        self.settings.came(0, now: self.start)
        self.settings.came(1, now: self.start + .seconds(1))
        self.settings.writing()
        self.settings.came(0, now: self.start + .seconds(2))
        #expect(self.settings.closedSince == self.start + .seconds(2))
    }
}
