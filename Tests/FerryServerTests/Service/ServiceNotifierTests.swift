internal import Dispatch
internal import FerryServer
internal import FerryServiceWorld
internal import NIOCore
internal import NIOEmbedded
internal import NIOPosix
internal import Testing

@Suite(.timeLimit(.minutes(10))) struct ServiceNotifierTests {
    @Test(arguments: [true, false]) func `a notice is one datagram of the manager's socket`(isAbstract: Bool)
        async throws
    {
        let manager = try ManagerSocket(isAbstract: isAbstract)
        let notifier = try ServiceNotifier(to: manager.name)
        #expect(await notifier.deliver(.ready(status: "Takes clients.")) == nil)
        #expect(manager.next() == "READY=1\nSTATUS=Takes clients.")
        #expect(notifier.send(.watchdog) == nil)
        #expect(manager.next() == "WATCHDOG=1")
        #expect(manager.next(within: 0) == nil)
    }

    @Test func `notices have the words of sd_notify, and a status is one line`() {
        #expect(ServiceNotice.stopping(status: "Ends.").text == "STOPPING=1\nSTATUS=Ends.")
        #expect(ServiceNotice.reloading(microseconds: 7).text == "RELOADING=1\nMONOTONIC_USEC=7")
        #expect(ServiceNotice.status("a\nREADY=1\r\nb").text == "STATUS=a READY=1 b")
        guard case .reloading(let first) = ServiceNotice.reloadingNow,
            case .reloading(let second) = ServiceNotice.reloadingNow
        else {
            Issue.record("It is no reload.")
            return
        }
        #expect(0 < first && first <= second)
    }

    @Test func `a manager that is gone, or does not read, stops nothing`() async throws {
        var manager: ManagerSocket? = try ManagerSocket()
        let notifier = try ServiceNotifier(to: manager?.name ?? "")
        var sent = 0
        while notifier.send(.watchdog) == nil, sent < 100_000 { sent += 1 }
        #expect(sent < 100_000)
        // A notice that must not be lost waits until the manager reads.
        async let reason = notifier.deliver(.stopping(status: "Ends."))
        for _ in 0..<sent { #expect(manager?.next() == "WATCHDOG=1") }
        #expect(await reason == nil)
        #expect(manager?.next() == "STOPPING=1\nSTATUS=Ends.")
        manager = nil
        #expect(notifier.send(.watchdog) != nil)
        #expect(await notifier.deliver(.ready(status: "")) != nil)
    }

    @Test func `a name that no address can have is an error`() {
        #expect(throws: ServiceFault.self) { try ServiceNotifier(to: "/" + String(repeating: "a", count: 200)) }
    }

    @Test func `a watchdog sends three notices in the time that the manager allows`() throws {
        #expect(Watchdog.interval(.seconds(30)) == .seconds(10))
        #expect(Watchdog.interval(.microseconds(1)) == .milliseconds(1))
        let (manager, eventLoop) = (try ManagerSocket(), EmbeddedEventLoop())
        let watchdog = Watchdog(of: eventLoop, limit: .seconds(30), try ServiceNotifier(to: manager.name))
        eventLoop.run()
        #expect(manager.next() == "WATCHDOG=1")
        eventLoop.advanceTime(by: .milliseconds(9999))
        #expect(manager.next(within: 0) == nil)
        eventLoop.advanceTime(by: .milliseconds(1))
        #expect(manager.next() == "WATCHDOG=1")
        watchdog.stop()
        eventLoop.advanceTime(by: .seconds(60))
        #expect(manager.next(within: 0) == nil)
    }

    @Test func `an event loop that hangs sends nothing`() async throws {
        let manager = try ManagerSocket()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let watchdog = Watchdog(of: group.next(), limit: .milliseconds(300), try ServiceNotifier(to: manager.name))
        #expect(manager.next() == "WATCHDOG=1")
        let gate = DispatchSemaphore(value: 0)
        group.next().execute { gate.wait() }
        // One notice may have been on its way.
        _ = manager.next(within: 500)
        #expect(manager.next(within: 1000) == nil)
        gate.signal()
        #expect(manager.next() == "WATCHDOG=1")
        watchdog.stop()
        try await group.shutdownGracefully()
    }
}
