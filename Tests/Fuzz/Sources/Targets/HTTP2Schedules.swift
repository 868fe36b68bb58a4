@testable import FerryHTTP2
@testable import FerryMachine
import NIOCore

@testable import FerryHTTP2World

/// The property: no outcome is false in the schedules of `HTTP2ScheduleTests`. The fuzzer makes the choices, instead of
/// a random generator.
func fuzzHTTP2Schedules(_ input: inout FuzzInput) {
    let isAbandoned = input.byte() & 3 == 0
    var choices = Choices(bytes: Array(input.rest)[...], rest: SplitMix64(seed: 1))
    var schedule = World.Schedule.random(&choices)
    let names = UInt32(choices.number(1...20))
    schedule.misbehave(names, &choices)
    let half = UInt32(choices.number(0...Int(names)))
    let between = choices.number(0...100)
    // The world makes its choices from a copy of the remaining input.
    var world = World(schedule, seed: 1, choices: choices)
    world.submit(0..<half)
    for _ in 0..<between { world.step() }
    world.submit(half..<names)
    if isAbandoned {
        for _ in 0..<between { world.step() }
        world.abandon()
    } else if let fault = world.finish() {
        fatalError("\(fault)\n\(schedule)\(world.events.map { "\n\($0)" }.joined())")
    }
    if let fault = world.fault(names) {
        fatalError("\(fault)\n\(schedule)\(world.events.map { "\n\($0)" }.joined())")
    }
}
