import CFerry
// It has the functions that `CFerry` declares.
import FerryC

/// The properties: no call of `ferry.h` traps or reads past the memory of its caller, whatever options, records and handles it
/// gets; and each notification that was taken has one outcome, under its own tag.
///
/// The backend is `echo`, which settles at once, so that the calls of an input are all that happens.
func fuzzCCalls(_ input: inout FuzzInput) {
    var handles: [ferry_t] = [0, 0, 0]
    while !input.isEmpty {
        let place = input.number(0...2)
        call(input.number(0...9), &handles[place], &input)
    }
    for handle in handles { ferry_free(handle) }
}

private func call(_ number: Int, _ handle: inout ferry_t, _ input: inout FuzzInput) {
    switch number {
    case 0:
        ferry_free(handle)
        handle = opened(#"{"backend":"echo","queueLimit":\#(input.number(1...9))}"#) ?? 0
    case 1:
        ferry_free(handle)
        handle = opened(#"{"backend":"echo","shared":"s","queueLimit":8}"#) ?? 0
    case 2:
        let text = take(&input)
        if isHarmless(text) {
            var message = [CChar](repeating: 1, count: input.number(0...64))
            let result = text.withUnsafeBufferPointer { text in
                text.withMemoryRebound(to: CChar.self) { ferry_open($0.baseAddress, $0.count, &message, message.count) }
            }
            if result > 0 { ferry_free(ferry_t(result)) }
            require(message.isEmpty || message.contains(0))
        }
    case 3: submit(take(&input), handle)
    case 4:
        let tokens = take(&input)
        let length = input.number(0...4)
        let record = take(&input)
        let most = length == 0 ? 0 : tokens.count / length
        let taken = ferry_submit_to(handle, record, record.count, tokens, length, most, UInt64(input.byte()))
        require(taken <= Int64(most))
    case 5:
        let size = input.number(0...80)
        var outcomes = [UInt8](repeating: 0, count: size * 4)
        let read = ferry_read(handle, &outcomes, size, 4)
        require(read <= 4 && (read <= 0 || size >= 40))
        var tags = [UInt64](repeating: 0, count: 3)
        let run = ferry_read_run(handle, &outcomes, size, &tags, tags.count)
        require(run <= 3 && (run <= 0 || size >= 40))
    case 6: _ = ferry_wait(handle, 0)
    case 7: _ = ferry_close(handle, Int64(input.number(0...1)))
    case 8:
        handle = ferry_t(input.uint32()) << 32 | ferry_t(input.uint32() & 0xff)
        submit([], handle)
        // A number that nobody gave out is not freed at the end either.
        handle = 0
    default: check(handle)
    }
}

/// Whether options name no file that the library would write.
private func isHarmless(_ text: [UInt8]) -> Bool {
    let words = String(decoding: text, as: UTF8.self)
    return !words.contains("feedback") && !words.contains("tokenFile") && !words.contains("\\")
}

private func opened(_ options: String) -> ferry_t? {
    let result = ferry_open(options, options.utf8.count, nil, 0)
    return result > 0 ? ferry_t(result) : nil
}

private func take(_ input: inout FuzzInput) -> [UInt8] { (0..<input.number(0...255)).map { _ in input.byte() } }

private func submit(_ records: [UInt8], _ handle: ferry_t) {
    var used = 0
    let before = numbers(handle)
    let taken = ferry_submit(handle, records, records.count, &used)
    require(used <= records.count && (taken < 0 ? used == 0 : used >= 24 * Int(taken)))
    guard let before, let after = numbers(handle), taken > 0 else { return }
    require(after.taken == before.taken + UInt64(taken))
    require(after.unread == before.unread + UInt64(taken))
}

private func numbers(_ handle: ferry_t) -> ferry_numbers? {
    var numbers = ferry_numbers()
    return ferry_counts(handle, &numbers, MemoryLayout<ferry_numbers>.size) == 0 ? numbers : nil
}

private func check(_ handle: ferry_t) {
    guard let numbers = numbers(handle) else { return }
    require(numbers.unsettled == 0)
    require(numbers.taken == numbers.confirmed + numbers.rejected + numbers.undelivered + numbers.uncertain)
}
