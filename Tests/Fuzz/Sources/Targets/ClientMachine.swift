@testable import FerryBinary

/// The property: for any actions of peer, network, clocks and callers, every notification has one outcome and is held
/// only once.
func fuzzClientMachine(_ input: inout FuzzInput) {
    var world = HostileWorld(options: options(&input))
    while !input.isEmpty, world.submitted < 2000 {
        world.step(&input)
        world.check()
    }
    if input.byte() & 1 == 0 { world.end() } else { world.finish() }
    world.checkEnd()
}

private func options(_ input: inout FuzzInput) -> BinaryOptions {
    var options = BinaryOptions()
    let flags = input.byte()
    options.cachePolicy = flags & 1 == 0 ? .hold : .evict
    options.onUnknown = flags & 2 == 0 ? .resend : .report
    options.finality = flags & 4 == 0 ? .silence : .proof
    options.autoAdjustCache = flags & 8 == 0
    options.buffersNotifications = flags & 16 == 0
    options.probeWhenHeld = flags & 32 != 0
    options.retryLimit = flags & 64 == 0 ? 0 : 2
    options.connectionRetryLimit = flags & 128 == 0 ? 10 : nil
    let sizes = input.byte()
    options.command = BinaryOptions.Command(rawValue: sizes % 3) ?? .frame
    options.maxConnections = 1 + Int(sizes >> 2 & 3)
    options.firstSequence = [0, UInt64(UInt32.max) - 12, 1 << 40, UInt64(UInt32.max) * 3 - 40][Int(sizes >> 4 & 3)]
    options.settleTime = sizes & 64 == 0 ? .seconds(1) : .milliseconds(1)
    options.idleTimeout = sizes & 128 == 0 ? .seconds(3600) : .seconds(2)
    options.payloadLimit = 256
    options.cacheLength = input.number(1...64)
    options.cacheLimit = .init(entries: input.number(1...64), bytes: 64 << input.number(0...8))
    return options
}
