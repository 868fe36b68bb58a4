public import CFerry
internal import Ferry
internal import FerryCore
internal import FerryOptions

// The functions of `ferry.h`. The header documents them.

private let version = ForeverText(Version.current)
private let empty = ForeverText("")

@implementation @c
public func ferry_version() -> UnsafePointer<CChar>? { version.pointer }

@implementation @c
public func ferry_error_text(_ code: Int64) -> UnsafePointer<CChar>? { ErrorTexts.text(of: code) ?? empty.pointer }

@implementation @c
public func ferry_reason_text(_ reason: UInt32) -> UnsafePointer<CChar>? {
    ReasonNumbers.text(of: reason) ?? empty.pointer
}

@implementation @c
public func ferry_open(
    _ json: UnsafePointer<CChar>?,
    _ length: Int,
    _ message: UnsafeMutablePointer<CChar>?,
    _ size: Int
) -> Int64 {
    ForkGate.pass { open(json, length, MessageBuffer(message, size)) }
}

private func open(_ json: UnsafePointer<CChar>?, _ length: Int, _ message: MessageBuffer) -> Int64 {
    guard let options = bytes(json, length) else {
        message.write("The options have no text, or a length below 0.")
        return Int64(FERRY_EINVAL)
    }
    return add(message) {
        guard !LibraryState.shared.withLock({ $0.isFullOfEndings }) else { throw SystemFault.manyEndings }
        return .provider(try HandleMaker.make(options, on: startedThreads))
    }
}

private func startedThreads() throws -> ProcessThreads { try LibraryState.shared.withLock { try $0.startedThreads() } }

/// Adds the resource that `make` creates, and returns its number. After a failure, returns the error code and writes a
/// sentence to `message`.
private func add(_ message: MessageBuffer, _ make: () throws -> LibraryState.Resource) -> Int64 {
    do {
        let resource = try make()
        ExitDrain.register()
        if let number = LibraryState.shared.withLock({ $0.add(resource) }) { return number }
        message.write("There are \(LibraryState.handleLimit) open handles, and no more are possible.")
        return Int64(FERRY_ESYSTEM)
    } catch let fault as SystemFault {
        message.write(fault.sentence)
        return Int64(FERRY_ESYSTEM)
    } catch {
        message.write(sentence(error))
        return Int64(FERRY_EOPTIONS)
    }
}

@implementation @c
public func ferry_submit(
    _ handle: ferry_t,
    _ records: UnsafePointer<UInt8>?,
    _ length: Int,
    _ used: UnsafeMutablePointer<Int>?
) -> Int64 {
    used?.pointee = 0
    return with(handle) { handle in
        guard let records = bytes(records, length) else { return Int64(FERRY_EINVAL) }
        guard let answer = handle.whileOpen({ handle.submit(records) }) else { return turnAway(handle) }
        guard let taken = answer else { return Int64(FERRY_EINVAL) }
        used?.pointee = taken.used
        return Int64(taken.count)
    }
}

@implementation @c
public func ferry_submit_to(
    _ handle: ferry_t,
    _ record: UnsafePointer<UInt8>?,
    _ length: Int,
    _ tokens: UnsafePointer<UInt8>?,
    _ token_length: Int,
    _ count: Int,
    _ first_tag: UInt64
) -> Int64 {
    with(handle) { handle in
        let (total, isTooLong) = token_length.multipliedReportingOverflow(by: count)
        guard token_length > 0, count >= 0, !isTooLong, let record = bytes(record, length),
            let tokens = bytes(tokens, total)
        else { return Int64(FERRY_EINVAL) }
        let answer = handle.whileOpen {
            handle.submit(record, to: tokens, tokenLength: token_length, firstTag: first_tag)
        }
        guard let answer else { return turnAway(handle) }
        return answer.map(Int64.init) ?? Int64(FERRY_EINVAL)
    }
}

private func turnAway(_ handle: Handle) -> Int64 {
    handle.mailbox.turnAway()
    return Int64(FERRY_ECLOSED)
}

@implementation @c
public func ferry_read(
    _ handle: ferry_t,
    _ outcomes: UnsafeMutableRawPointer?,
    _ size_of_one: Int,
    _ capacity: Int
) -> Int64 {
    readOutcomes(handle, size_of_one, capacity) { mailbox in
        guard let outcomes else { return nil }
        return mailbox.read(into: outcomes, size: size_of_one, capacity: capacity)
    }
}

@implementation @c
public func ferry_read_run(
    _ handle: ferry_t,
    _ outcome: UnsafeMutableRawPointer?,
    _ size_of_one: Int,
    _ tags: UnsafeMutablePointer<UInt64>?,
    _ capacity: Int
) -> Int64 {
    readOutcomes(handle, size_of_one, capacity) { mailbox in
        guard let outcome, let tags else { return nil }
        return mailbox.readRun(into: outcome, size: size_of_one, tags: tags, capacity: capacity)
    }
}

/// Checks the arguments that `ferry_read` and `ferry_read_run` share, and returns the result of `read`. `read` returns
/// nil if the caller gave no memory. For a capacity of 0, the result is 0 without a call of `read`.
private func readOutcomes(_ handle: ferry_t, _ size: Int, _ capacity: Int, _ read: (Mailbox) -> Int?) -> Int64 {
    with(handle) { handle in
        guard capacity >= 0, MemoryLayout<ferry_outcome>.size...largestStructure ~= size else {
            return Int64(FERRY_EINVAL)
        }
        guard capacity > 0 else { return 0 }
        return read(handle.mailbox).map(Int64.init) ?? Int64(FERRY_EINVAL)
    }
}

@implementation @c
public func ferry_outcome_json(
    _ handle: ferry_t,
    _ outcome: UnsafeRawPointer?,
    _ size_of_one: Int,
    _ json: UnsafeMutablePointer<CChar>?,
    _ size: Int
) -> Int64 {
    with(handle) { handle in
        guard let outcome, MemoryLayout<ferry_outcome>.size...largestStructure ~= size_of_one, size >= 0,
            json != nil || size == 0,
            let text = OutcomeJSON.text(outcome.loadUnaligned(as: ferry_outcome.self), trouble: handle.lastError)
        else { return Int64(FERRY_EINVAL) }
        if text.count <= size {
            UnsafeMutableRawBufferPointer(start: json, count: size).copyBytes(from: text)
        }
        return Int64(text.count)
    }
}

@implementation @c
public func ferry_read_event(_ handle: ferry_t, _ json: UnsafeMutablePointer<CChar>?, _ size: Int) -> Int64 {
    with(handle) { handle in
        guard size >= 0, json != nil || size == 0 else { return Int64(FERRY_EINVAL) }
        return Int64(handle.readEvent(into: UnsafeMutableRawBufferPointer(start: json, count: size)))
    }
}

@implementation @c
public func ferry_fd(_ handle: ferry_t) -> Int64 { with(handle) { Int64($0.mailbox.descriptor) } }

@implementation @c
public func ferry_wait(_ handle: ferry_t, _ ms: Int64) -> Int64 {
    withWaiting(handle) { Int64($0.mailbox.wait(milliseconds: ms)) }
}

@implementation @c
public func ferry_flush(_ handle: ferry_t, _ ms: Int64) -> Int64 {
    withWaiting(handle) { Int64($0.flush(milliseconds: ms)) }
}

@implementation @c
public func ferry_drain(_ handle: ferry_t, _ ms: Int64) -> Int64 {
    withWaiting(handle) { Int64($0.mailbox.drain(milliseconds: ms)) }
}

@implementation @c
public func ferry_counts(_ handle: ferry_t, _ numbers: UnsafeMutableRawPointer?, _ size: Int) -> Int64 {
    with(handle) { handle in
        guard let numbers, MemoryLayout<ferry_numbers>.size...largestStructure ~= size else {
            return Int64(FERRY_EINVAL)
        }
        var own = handle.numbers()
        numbers.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        withUnsafeBytes(of: &own) { bytes in
            guard let start = bytes.baseAddress else { return }
            numbers.copyMemory(from: start, byteCount: bytes.count)
        }
        return 0
    }
}

@implementation @c
public func ferry_set(
    _ handle: ferry_t,
    _ json: UnsafePointer<CChar>?,
    _ length: Int,
    _ message: UnsafeMutablePointer<CChar>?,
    _ size: Int
) -> Int64 {
    let message = MessageBuffer(message, size)
    return with(handle) { handle in
        guard let options = bytes(json, length) else { return Int64(FERRY_EINVAL) }
        do {
            try handle.set(options)
            return 0
        } catch {
            message.write(sentence(error))
            return Int64(FERRY_EOPTIONS)
        }
    }
}

@implementation @c
public func ferry_report(_ handle: ferry_t, _ json: UnsafeMutablePointer<CChar>?, _ size: Int) -> Int64 {
    withResource(handle) { resource in
        guard size >= 0, json != nil || size == 0 else { return Int64(FERRY_EINVAL) }
        let report =
            switch resource {
            case .provider(let handle): handle.report()
            case .feedback(let list): list.report()
            }
        if report.count <= size {
            UnsafeMutableRawBufferPointer(start: json, count: size).copyBytes(from: report)
        }
        return Int64(report.count)
    }
}

@implementation @c
public func ferry_close(_ handle: ferry_t, _ ms: Int64) -> Int64 {
    withWaiting(handle) { handle in
        handle.close(within: .milliseconds(max(ms, 0)))
        return 0
    }
}

@implementation @c
public func ferry_free(_ handle: ferry_t) -> Int64 {
    ForkGate.pass {
        switch LibraryState.shared.withLock({ $0.remove(handle) }) {
        case .resource(.provider(let handle)):
            if let ending = handle.freed() {
                LibraryState.shared.withLock { $0.add(ending) }
                ending.begin { LibraryState.shared.withLock { $0.remove(ending) } }
            }
            return 0
        case .resource(.feedback(let list)):
            list.freed()
            return 0
        case .none: return Int64(FERRY_EHANDLE)
        // Nothing that belongs to the parent process may be touched here, and nothing has to be freed.
        case .forked: return 0
        }
    }
}

// MARK: Feedback

@implementation @c
public func ferry_feedback_open(
    _ json: UnsafePointer<CChar>?,
    _ length: Int,
    _ message: UnsafeMutablePointer<CChar>?,
    _ size: Int
) -> Int64 {
    ForkGate.pass {
        let message = MessageBuffer(message, size)
        guard let options = bytes(json, length) else {
            message.write("The options have no text, or a length below 0.")
            return Int64(FERRY_EINVAL)
        }
        return add(message) { .feedback(try FeedbackMaker.make(options, on: startedThreads)) }
    }
}

@implementation @c
public func ferry_feedback_read(
    _ handle: ferry_t,
    _ tuples: UnsafeMutablePointer<UInt8>?,
    _ size: Int,
    _ ms: Int64
) -> Int64 {
    switch ForkGate.pass({ find(handle) }) {
    case .resource(.feedback(let list)):
        guard let tuples, size > 0 else { return Int64(FERRY_EINVAL) }
        return list.read(into: UnsafeMutableRawBufferPointer(start: tuples, count: size), milliseconds: ms)
    case .resource(.provider), .none: return Int64(FERRY_EHANDLE)
    case .forked: return Int64(FERRY_EFORKED)
    }
}

// MARK: Arguments

/// The largest size that a caller may give for a structure, in bytes. A larger size is a mistake of the caller, and
/// zeros would be written behind the caller's memory.
private let largestStructure = 4096

/// Checks the configuration file, and calls `body` with the handle that has this number. Returns an error if no
/// provider of this process has the number. `body` must not wait.
private func with(_ number: ferry_t, _ body: (Handle) -> Int64) -> Int64 {
    withResource(number) { resource in
        guard case .provider(let handle) = resource else { return Int64(FERRY_EHANDLE) }
        handle.config?.look()
        return body(handle)
    }
}

private func withResource(_ number: ferry_t, _ body: (LibraryState.Resource) -> Int64) -> Int64 {
    ForkGate.pass {
        switch find(number) {
        case .resource(let resource): body(resource)
        case .none: Int64(FERRY_EHANDLE)
        case .forked: Int64(FERRY_EFORKED)
        }
    }
}

/// Calls `body` outside ``ForkGate``, because `body` waits. Otherwise this function works like ``with(_:_:)``, but it
/// does not check the configuration file.
private func withWaiting(_ number: ferry_t, _ body: (Handle) -> Int64) -> Int64 {
    switch ForkGate.pass({ find(number) }) {
    case .resource(.provider(let handle)): body(handle)
    case .resource(.feedback), .none: Int64(FERRY_EHANDLE)
    case .forked: Int64(FERRY_EFORKED)
    }
}

private func find(_ number: ferry_t) -> LibraryState.Found {
    LibraryState.shared.withLock { $0.find(number) }
}

/// Returns the bytes of an argument; nil if the length is below 0, or if the pointer is NULL and the length is not 0.
/// NULL with length 0 is an empty text.
private func bytes<Byte>(_ start: UnsafePointer<Byte>?, _ count: Int) -> UnsafeBufferPointer<UInt8>? {
    guard count >= 0, start != nil || count == 0 else { return nil }
    let start = UnsafeRawPointer(start)?.assumingMemoryBound(to: UInt8.self)
    return UnsafeBufferPointer(start: start, count: count)
}

private func sentence(_ error: any Error) -> String {
    switch error {
    case let fault as OptionFault: fault.sentence
    case let error as PushValidationError: "\(error)".asSentence
    default: "\(error)"
    }
}
