import Foundation

/// The target that the environment names. One program for all is linked once.
private let target: @Sendable (inout FuzzInput) -> Void = {
    let name = ProcessInfo.processInfo.environment["FERRY_FUZZ_TARGET"] ?? ""
    guard let target = fuzzTargets[name] else { fatalError("FERRY_FUZZ_TARGET names no target: '\(name)'") }
    return target
}()

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = FuzzInput(UnsafeBufferPointer(start: start, count: count))
    target(&input)
    return 0
}
