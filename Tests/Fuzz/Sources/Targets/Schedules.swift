@testable import FerryBinary
@testable import FerryMachine
import NIOCore

@testable import FerryBinaryWorld

/// The property: no outcome is false in the schedules of `ScheduleTests`. The fuzzer makes the choices, instead of a
/// random generator.
func fuzzSchedules(_ input: inout FuzzInput) {
    let isAbandoned = input.byte() & 3 == 0
    var choices = Choices(bytes: Array(input.rest)[...], rest: SplitMix64(seed: 1))
    var schedule = World.Schedule.random(&choices)
    let names = UInt32.random(in: 1...40, using: &choices)
    schedule.misbehave(names, &choices)
    let half = UInt32.random(in: 0...names, using: &choices)
    let between = Int.random(in: 0...200, using: &choices)
    // The world makes its choices from a copy of the remaining input.
    var world = World(schedule, seed: 1, choices: choices)
    world.submit(0..<half)
    for _ in 0..<between { world.step() }
    world.submit(half..<names)
    if isAbandoned {
        for _ in 0..<between { world.step() }
        world.abandon()
    } else if let fault = world.finish() {
        fatalError(fault)
    }
    if let fault = world.fault(names) {
        fatalError("\(fault)\n\(schedule)\n\(world.accepted)\n\(world.history.joined(separator: "\n"))")
    }
}
