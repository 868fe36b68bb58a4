internal import NIOCore

extension TLSHandler {
    /// The state of a connection, from its first byte to its end.
    ///
    /// ```
    ///         active          handshake done         close           both sides done, or deadline
    ///   idle ────────▶ handshaking ──────────▶ open ───────▶ closing ─────────────▶ closed
    ///    │                  │                   │             ▲  │                    ▲
    ///    ├──────────────────┴───────────────────┴── failure ──┘  │                    │
    ///    │                  │                   │                │                    │
    ///    └──────────────────┴───────────────────┴────────────────┴─ the channel ends ─┘
    /// ```
    ///
    /// A close before `open` ends the channel at once.
    /// A state that has a deadline cancels it when it ends.
    enum State {
        case idle
        case handshaking(deadline: Scheduled<Void>)
        case open(Input)
        /// The handler waits for the missing parts of a closing.
        case closing(Closing)
        case closed

        /// The peer's side of the connection.
        enum Input {
            case open
            case ended
        }

        struct Closing {
            enum Cause {
                case close
                /// The handler no longer waits for input.
                case failure
                /// Input is read and dropped until the peer ends it.
                case lingeringFailure
            }

            var cause: Cause
            var input: Input
            var deadline: Scheduled<Void>
            /// The promises of the calls of `close`.
            var promises: [EventLoopPromise<Void>] = []
            /// Whether the last bytes, close_notify or the alert, have left.
            var hasSentLast = false

            /// Whether only the channel is still open.
            var isDone: Bool { hasSentLast && input == .ended }
        }

        var isHandshaking: Bool { if case .handshaking = self { true } else { false } }
        var isOpen: Bool { if case .open = self { true } else { false } }
        var isClosing: Bool { if case .closing = self { true } else { false } }
        var isClosed: Bool { if case .closed = self { true } else { false } }

        /// The parts of a closing; nil in other states, where a new value has no effect.
        var closing: Closing? {
            get { if case .closing(let closing) = self { closing } else { nil } }
            set { if case .closing = self, let newValue { self = .closing(newValue) } }
        }

        /// Whether the peer's side has ended, or is no longer awaited.
        var isInputEnded: Bool {
            switch self {
            case .idle, .handshaking: false
            case .open(let input): input == .ended
            case .closing(let closing): closing.input == .ended
            case .closed: true
            }
        }

        /// Whether a failure is fired: only the first one is.
        var firesFailure: Bool {
            switch self {
            case .idle, .handshaking, .open: true
            case .closing(let closing): closing.cause == .close
            case .closed: false
            }
        }

        private var deadline: Scheduled<Void>? {
            switch self {
            case .handshaking(let deadline): deadline
            case .closing(let closing): closing.deadline
            case .idle, .open, .closed: nil
            }
        }

        /// Ends the handshake.
        mutating func open() {
            deadline?.cancel()
            self = .open(.open)
        }

        /// Notes that the peer's side has ended.
        mutating func endInput() {
            if isOpen { self = .open(.ended) } else { closing?.input = .ended }
        }

        /// Starts a closing. A failure may come while the connection closes already.
        mutating func close(_ cause: Closing.Cause, deadline: Scheduled<Void>) {
            let input: Input = isInputEnded || cause == .failure ? .ended : .open
            var next = Closing(cause: cause, input: input, deadline: deadline)
            if let closing {
                next.promises = closing.promises
                next.hasSentLast = closing.hasSentLast
            }
            self.deadline?.cancel()
            self = .closing(next)
        }

        /// Ends the connection.
        ///
        /// - Returns: the promises of the calls of `close`. Empty on a second call.
        mutating func end() -> [EventLoopPromise<Void>] {
            deadline?.cancel()
            defer { self = .closed }
            return closing?.promises ?? []
        }
    }

    /// This side of the connection. A half close may be asked for in each ``State`` before closing, and outlasts the
    /// state.
    enum Output {
        case open
        /// A half close waits for the end of the handshake, and until all ciphertext was written.
        case ending(EventLoopPromise<Void>?)
        /// No more bytes are taken. The socket's output is shut, unless only close_notify was asked for.
        case ended

        var isOpen: Bool { if case .open = self { true } else { false } }

        /// Ends a half close that waits, and returns its promise.
        mutating func end() -> EventLoopPromise<Void>? {
            guard case .ending(let promise) = self else { return nil }
            self = .ended
            return promise
        }
    }
}
