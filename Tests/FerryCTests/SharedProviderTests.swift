import CFerry
import Foundation
import Testing

@Suite struct SharedProviderTests {
    private func options(_ name: String, _ more: String = "") -> String {
        #"{"backend":"echo","shared":"\#(name)"\#(more)}"#
    }

    @Test func `each handle reads its own outcomes, under its own tags`() throws {
        let one = try Library(self.options("own"))
        let other = try Library(self.options("own"))
        #expect(one.submit(record(1) + record(2)).count == 2)
        #expect(other.submit(record(1, token: [0xba, 0xd0])).count == 1)
        #expect(one.read().map(\.tag) == [1, 2])
        #expect(other.read().map { [$0.tag, UInt64($0.outcome)] } == [[1, UInt64(FERRY_REJECTED)]])
        #expect(one.numbers.taken == 2 && other.numbers.taken == 1)
        #expect(one.numbers.rejected == 0 && other.numbers.rejected == 1)
    }

    @Test func `an unread handle stops only itself`() throws {
        let full = try Library(self.options("full", #","queueLimit":3"#))
        let other = try Library(self.options("full", #","queueLimit":3"#))
        #expect(full.submit((0..<5).flatMap { record($0) }).count == 3)
        #expect(full.submit(record(9)).count == 0)
        #expect(other.submit(record(9)).count == 1)
        #expect(full.read().count == 3)
        #expect(ferry_wait(full.handle, 0) & Int64(FERRY_READY_ROOM) != 0)
        #expect(full.submit(record(9)).count == 1)
    }

    @Test func `a closed handle closes no other`() throws {
        let closed = try Library(self.options("closed"))
        let other = try Library(self.options("closed"))
        #expect(ferry_close(closed.handle, 100) == 0)
        #expect(closed.submit(record(1)).count == Int64(FERRY_ECLOSED))
        #expect(other.submit(record(1)).count == 1)
    }

    @Test func `other options under a shared name are refused, except those of one handle`() throws {
        let first = try Library(self.options("name"))
        let refusal = try #require(Library.refusal(#"{"backend":"echo","shared":"name","feedback":"/tmp/x"}"#))
        #expect(refusal.message == "The provider that is shared under this name has other options.")
        #expect(Library.refusal(self.options("name", #","outcomes":"failures","wait":true"#)) == nil)
        withExtendedLifetime(first) {}
    }

    @Test func `only a notification that is taken while another thread closes has an outcome, and it has one`() throws {
        for _ in 0..<50 {
            let library = try Library(self.options("race"))
            let handle = library.handle
            let thread = Thread { ferry_close(handle, 0) }
            var taken = 0
            thread.start()
            while true {
                let count = library.submit((0..<20).flatMap { record($0) }).count
                guard count >= 0 else { break }
                taken += Int(count)
                if count == 0 { break }
            }
            while ferry_submit(handle, [], 0, nil) != Int64(FERRY_ECLOSED) { _ = ferry_wait(handle, 1) }
            #expect(ferry_drain(handle, 60_000) == 0)
            #expect(library.numbers.taken == UInt64(taken))
            #expect(library.read(100_000).count == taken)
        }
    }

    @Test func `a file of options that changed is no reason to refuse a handle`() throws {
        let folder = try TemporaryFolder()
        let config = try folder.write(#"{"backend":"echo"}"#, to: "ferry.json")
        let options = #"{"backend":"auto","host":"a","shared":"config","config":"\#(config)"}"#
        let first = try Library(options)
        try folder.write(#"{"backend":"echo","feedback":"\#(folder.path("gone"))"}"#, to: "ferry.json")
        let second = try Library(options)
        #expect(second.submit(record(1)).count == 1)
        #expect(first.read().isEmpty && second.read().count == 1)
    }

    @Test func `events do not go with a shared provider`() {
        #expect(
            Library.refusal(#"{"backend":"http2","production":true,"shared":"a","events":1}"#)?.message.contains(
                "'events'"
            )
                == true
        )
    }
}
