import FerryAdmin
import FerryCore
import Testing

@testable import FerryGateway

@Suite struct UpstreamWatchTests {
    /// An activity with a PING for each of these answers, and its time in milliseconds.
    private static func activity(_ times: Int64...) -> ProviderActivity {
        var activity = ProviderActivity()
        for time in times {
            activity.pings.sent += 1
            activity.pings.wasAnswered(afterNanoseconds: time * 1_000_000)
        }
        return activity
    }

    private static let trouble = AlarmLine(at: 1, "No connection to localhost:1: Connection refused.")

    private static func connected(_ connections: Int) -> ProviderActivity {
        var activity = ProviderActivity()
        activity.connected = connections
        activity.standing.connections = connections
        return activity
    }

    private static func failed(_ code: ProviderError.Code) -> ProviderActivity {
        var activity = ProviderActivity()
        activity.failures[code] = 1
        return activity
    }

    @Test func `a trial that failed is shown with its error, until a trial or a connection works`() {
        for works in [{ $0.trialSucceeded() }, { $0.observed(Self.connected(1)) }] as [(UpstreamWatch) -> Void] {
            let watch = UpstreamWatch()
            #expect(watch.figures.state == .untried && !watch.isFailing)
            #expect(watch.trialFailed(Self.trouble, .connectFailed))
            #expect(watch.figures.state == .trialFailed(.connectFailed) && watch.isFailing && watch.awaitsTrial)
            #expect(watch.figures.lastError == Self.trouble)
            works(watch)
            #expect(!watch.isFailing && !watch.awaitsTrial)
        }
    }

    @Test func `a trial that works shows nothing, because no notification went there`() {
        let watch = UpstreamWatch()
        #expect(!watch.trialSucceeded())
        #expect(watch.figures.state == .untried && watch.figures.lastError == nil)
    }

    @Test func `the connections for notifications prove more than a trial that ends later`() {
        let good = UpstreamWatch()
        good.observed(Self.connected(1))
        #expect(!good.trialFailed(Self.trouble, .connectFailed))
        #expect(good.figures.state == .good && good.figures.lastError == nil)
        for work in [\.queued, \.unsettled] as [WritableKeyPath<ProviderActivity.Standing, Int>] {
            let failing = UpstreamWatch()
            var failed = Self.failed(.connectFailed)
            failed.standing[keyPath: work] = 1
            failing.observed(failed)
            #expect(!failing.awaitsTrial && !failing.trialSucceeded())
            #expect(!failing.trialFailed(Self.trouble, .credentialsRejected))
            #expect(failing.figures.state == .failing([.connectFailed]) && failing.figures.lastError == nil)
        }
    }

    @Test func `a connection that is lost while nothing waits fails until a trial works`() {
        let watch = UpstreamWatch()
        watch.observed(Self.connected(1))
        var lost = Self.failed(.connectionLost)
        lost.disconnected = 1
        watch.observed(lost)
        #expect(watch.figures.state == .failing([.connectionLost]) && watch.awaitsTrial)
        #expect(watch.trialFailed(Self.trouble, .connectTimeout))
        #expect(watch.figures.state == .trialFailed(.connectTimeout) && watch.figures.lastError == Self.trouble)
        #expect(watch.trialSucceeded())
        #expect(watch.figures.state == .untried && !watch.isFailing && !watch.awaitsTrial)
    }

    @Test func `a failure whose last notification has died fails until a trial works`() {
        let watch = UpstreamWatch()
        var failed = Self.failed(.connectFailed)
        failed.standing.queued = 1
        watch.observed(failed)
        #expect(!watch.awaitsTrial)
        watch.observed(ProviderActivity())
        #expect(watch.figures.state == .failing([.connectFailed]) && watch.awaitsTrial)
        #expect(watch.trialSucceeded())
        #expect(watch.figures.state == .untried)
    }

    @Test func `the last error is not that of the provider before, which may have had another host`() {
        let (old, new) = (UpstreamWatch(), UpstreamWatch())
        old.failed(Self.trouble)
        new.follow(old)
        #expect(new.figures.lastError == nil)
        old.failed(Self.trouble)
        new.absorb()
        #expect(new.figures.lastError == nil)
    }

    @Test func `without a PING there is no time`() {
        let watch = UpstreamWatch()
        watch.observed(Self.activity())
        #expect(watch.figures.pingTimes.count == 0)
        #expect(watch.figures.lastPing == nil)
    }

    @Test func `the PINGs of a replaced provider stay in the counts, and the last time is that of the newest`() {
        let (old, new) = (UpstreamWatch(), UpstreamWatch())
        old.observed(Self.activity(10, 20))
        new.follow(old)
        #expect(new.figures.activity.pings.sent == 2)
        #expect(new.figures.lastPing == 0.02)
        old.observed(Self.activity(30))
        new.absorb()
        new.observed(Self.activity(5))
        #expect(new.figures.activity.pings.answered == 4)
        #expect(new.figures.pingTimes.count == 4)
        #expect(new.figures.pingTimes.sum == 65_000_000)
        #expect(new.figures.lastPing == 0.005)
    }

    /// An activity with a failure of this kind.
    private static func failure(_ code: ProviderError.Code) -> ProviderActivity {
        var activity = ProviderActivity()
        activity.failures[code] = 1
        return activity
    }

    @Test func `credentials are refused until a try to connect ends otherwise`() {
        let watch = UpstreamWatch()
        #expect(!watch.figures.refusesCredentials)
        watch.observed(Self.failure(.credentialsRejected))
        #expect(watch.figures.refusesCredentials)
        // Nothing was tried meanwhile.
        watch.observed(ProviderActivity())
        #expect(watch.figures.refusesCredentials)
        watch.observed(Self.failure(.connectTimeout))
        #expect(!watch.figures.refusesCredentials)
        watch.observed(Self.failure(.credentialsRejected))
        var opened = ProviderActivity()
        opened.connected = 1
        watch.observed(opened)
        #expect(!watch.figures.refusesCredentials)
    }

    @Test func `a trial shows refused credentials, too, because nobody may send`() {
        let watch = UpstreamWatch()
        watch.trialFailed(Self.trouble, .credentialsRejected)
        #expect(watch.figures.refusesCredentials)
        watch.trialFailed(Self.trouble, .connectFailed)
        #expect(!watch.figures.refusesCredentials)
        watch.trialFailed(Self.trouble, .credentialsRejected)
        watch.trialSucceeded()
        #expect(!watch.figures.refusesCredentials)
    }

    @Test func `the times of all PINGs are in the histogram, and in no sample`() {
        let watch = UpstreamWatch()
        for _ in 0..<10_000 { watch.observed(Self.activity(3)) }
        #expect(watch.figures.pingTimes.count == 10_000)
        #expect(watch.figures.activity.pings.answered == 10_000)
        #expect(watch.figures.activity.pings.roundTrips.count == 0)
    }
}
