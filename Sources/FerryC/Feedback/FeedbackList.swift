internal import CFerry
internal import Ferry
internal import FerryBinary
internal import FerryCore
internal import FerryOptions
internal import NIOCore

/// A reading of the list of devices that are gone, behind a `ferry_t` of `ferry_feedback_open`. Any thread may use
/// this object.
///
/// The reading returns the devices in the file of the option `feedback` first, then those of the feedback service.
final class FeedbackList: Sendable {
    private final class State {
        var signal: ReadySignal
        var taken: TakenFeedback?
        /// The reading of the service; nil until the file was read to its end, and if the options name no service.
        var reading: FeedbackReading?
        var count = 0
        /// The reason why the list was not read to its end.
        var error: String?
        var isOver = false
        var isFreed = false
        /// A tuple that did not fit into the caller's memory.
        var waiting: FeedbackTuple?

        init(_ signal: consuming ReadySignal, _ taken: consuming TakenFeedback?) {
            self.signal = signal
            self.taken = taken
        }
    }

    private let state: Monitor<State>
    private let service: FeedbackReader?
    private let descriptor: Int32

    /// - Throws: ``SystemFault`` when the process has no descriptor left; ``OptionFault`` when the file cannot be
    ///   taken.
    init(file path: String?, service: FeedbackReader?) throws {
        guard let signal = ReadySignal() else { throw SystemFault.noDescriptors }
        self.descriptor = signal.descriptor
        let taken: TakenFeedback?
        if let path { taken = try TakenFeedback(path: path) } else { taken = nil }
        self.state = Monitor(State(signal, taken))
        self.service = service
    }

    /// Copies whole tuples to `target`. Returns their length in bytes; 0 at the end; or an error: `FERRY_ETIME` after
    /// `milliseconds`, `FERRY_EINTR` after a signal, `FERRY_EPEER`, `FERRY_EHANDLE` or `FERRY_EINVAL`.
    func read(into target: UnsafeMutableRawBufferPointer, milliseconds: Int64) -> Int64 {
        guard target.count >= Int(FERRY_FEEDBACK_TUPLE) else { return Int64(FERRY_EINVAL) }
        var result: Int64 = 0
        let answer = Waiting.wait(on: self.descriptor, milliseconds: milliseconds) {
            switch self.copy(to: target) {
            case .some(let length):
                result = length
                return 1
            case nil: return 0
            }
        }
        return answer == 0 ? Int64(FERRY_ETIME) : answer < 0 ? Int64(answer) : result
    }

    /// Copies the tuples that are available now. Returns their length in bytes, 0 at the end of the list, or an error;
    /// nil if no tuple is available yet.
    private func copy(to target: UnsafeMutableRawBufferPointer) -> Int64? {
        self.state.withLock { state in
            guard !state.isFreed else { return Int64(FERRY_EHANDLE) }
            // The signal is cleared before the tuples are read, so that a later change raises it again. At the end of
            // the list, the signal stays raised.
            if !state.isOver { state.signal.set(false) }
            var length = 0
            while let tuple = state.waiting ?? self.next(state) {
                let tupleLength = FeedbackTuple.headerLength + tuple.token.bytes.count
                guard length + tupleLength <= target.count else {
                    state.waiting = tuple
                    break
                }
                state.waiting = nil
                var buffer = ByteBuffer()
                tuple.write(to: &buffer)
                buffer.withUnsafeReadableBytes { target[length...].copyBytes(from: $0) }
                length += tupleLength
            }
            if length > 0 { return Int64(length) }
            // The caller now has all devices of these files. The files are removed even if the service failed, because
            // the next reading would return the same devices again.
            state.taken?.remove()
            if state.error != nil { return Int64(FERRY_EPEER) }
            return state.isOver ? 0 : nil
        }
    }

    private func next(_ state: State) -> FeedbackTuple? {
        if let tuple = state.taken?.next() {
            state.count += 1
            return tuple
        }
        guard !state.isOver else { return nil }
        if state.taken?.isUnreadable == true {
            state.error = "A file of the feedback list cannot be read. It stays where it is."
            self.end(state)
            return nil
        }
        guard let service else {
            self.end(state)
            return nil
        }
        let reading = state.reading ?? service.reading { [weak self] in self?.newsCame() }
        state.reading = reading
        switch reading.next() {
        case .success(let tuple?):
            state.count += 1
            return tuple
        case .success(nil): self.end(state)
        case .failure(let error):
            state.error = error.message
            self.end(state)
        case nil: break
        }
        return nil
    }

    private func end(_ state: State) {
        state.isOver = true
        // The signal stays raised, because another thread may wait for the same list.
        state.signal.set(true)
    }

    private func newsCame() { self.state.withLock { $0.signal.set(true) } }

    func freed() {
        self.state.withLock { state in
            state.isFreed = true
            state.reading = nil
            state.signal.set(true)
        }
    }

    /// Returns the figures of the reading as a JSON object.
    func report() -> [UInt8] {
        self.state.withLock { state in
            var json = Array("{\"tuples\":\(state.count),\"skipped\":\(state.taken?.skipped ?? 0)".utf8)
            if let error = state.error {
                json.append(contentsOf: #","lastError":"#.utf8)
                json.appendJSONString(error)
            }
            json.append(UInt8(ascii: "}"))
            return json
        }
    }
}
