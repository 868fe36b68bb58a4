import NIOCore
import Testing

@testable import FerryHTTP2

@Suite struct ConnectionStateTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private var limit: TimeAmount { HTTP2Connection.State.lingerLimit }

    @Test func `a connection that the client leaves says GOAWAY when nothing is under way, once`() {
        var state = HTTP2Connection.State.open
        state.leave(owesGoAway: true)
        state.leave(owesGoAway: false)
        let actions = [state.drained(now: self.start), state.drained(now: self.start + .seconds(1))]
        #expect(actions == [.sayGoAway, .nothing])
        let closesAt = state.closesAt
        #expect(closesAt == self.start + self.limit)
    }

    @Test func `a connection that the peer leaves owes no GOAWAY`() {
        var state = HTTP2Connection.State.open
        state.leave(owesGoAway: false)
        state.leave(owesGoAway: true)
        let action = state.drained(now: self.start)
        #expect(action == .nothing)
    }

    @Test func `an open connection stays open when nothing is under way`() {
        var state = HTTP2Connection.State.open
        let drained = state.drained(now: self.start)
        let written = state.written(now: self.start)
        let isLeaving = state.isLeaving
        #expect(drained == .nothing && written == .nothing && !isLeaving)
    }

    @Test func `the end is asked for once, when all is written`() {
        var state = HTTP2Connection.State.open
        state.leave(owesGoAway: false)
        var actions = [state.written(now: self.start)]
        _ = state.drained(now: self.start)
        let later = self.start + .seconds(1)
        actions += [state.written(now: later), state.written(now: later), state.sessionIsOver(now: later)]
        #expect(actions == [.nothing, .finish, .nothing, .nothing])
        let (isFinished, closesAt) = (state.isFinished, state.closesAt)
        #expect(isFinished && closesAt == later + self.limit)
    }

    @Test func `a session that is over ends the connection from any state`() {
        var state = HTTP2Connection.State.open
        let action = state.sessionIsOver(now: self.start)
        let (isLeaving, isFinished) = (state.isLeaving, state.isFinished)
        #expect(action == .finish && isLeaving && isFinished)
    }

    @Test func `a connection that is gone is asked for nothing, and knows whether its end was asked for`() {
        var state = HTTP2Connection.State.finished(until: self.start)
        state.end()
        state.leave(owesGoAway: true)
        let (isEnded, isFinished, closesAt) = (state.isEnded, state.isFinished, state.closesAt)
        #expect(isEnded && isFinished && closesAt == nil)
        var lost = HTTP2Connection.State.open
        lost.end()
        let action = lost.drained(now: self.start)
        let wasFinished = lost.isFinished
        #expect(action == .nothing && !wasFinished)
    }
}
