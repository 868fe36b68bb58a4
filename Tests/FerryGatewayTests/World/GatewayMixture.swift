import FerryCore
import FerryMachine
import NIOCore

@testable import FerryGatewayTestSupport

/// A random mixture of old programs, networks, gateways and moods of APNs.
struct GatewayMixture {
    let seed: UInt64
    let world: GatewayWorld
    private var generator: SplitMix64
    private var programs: [OldProgram] = []
    /// Whether a program takes part that blames the notification that it writes at the time: no gateway can prevent it.
    private(set) var blamesCurrent = false
    /// What took part, for the message of a failure.
    private(set) var description: String

    /// - Parameter isKilled: whether the gateway may have a store, and be killed and started again.
    init(seed: UInt64, isKilled: Bool = false) throws {
        self.seed = seed
        var generator = SplitMix64(seed: seed)
        let count = UInt32.random(in: 100...700, using: &generator)
        var gateway = GatewayWorld.Gateway()
        gateway.repeatsUnknown = Bool.random(using: &generator)
        if isKilled || Bool.random(using: &generator) {
            gateway.storeTimes = [0...1, 0...10, 20...80, 100...700].randomElement(using: &generator)
            switch Int.random(in: 0..<8, using: &generator) {
            case 0: gateway.storeIsFull = Self.time(&generator)
            case 1: gateway.storeHangs = Self.time(&generator)
            default: break
            }
        }
        let apns = Self.apns(count, &generator)
        self.world = try GatewayWorld(seed: seed, gateway, apns)
        self.description = "  \(apns), \(gateway)"
        self.generator = generator
        self.addPrograms(count)
        if isKilled {
            for _ in 0..<Int.random(in: 1...3, using: &self.generator) {
                let time = TimeAmount.milliseconds(Int64.random(in: 100...20_000, using: &self.generator))
                let isOrderly = Bool.random(using: &self.generator)
                self.description += isOrderly ? ", restart after \(time)" : ", kill after \(time)"
                if isOrderly { self.world.restart(after: time) } else { self.world.kill(after: time) }
                guard !isOrderly, Int.random(in: 0..<4, using: &self.generator) == 0 else { continue }
                let before = TimeAmount.milliseconds(
                    Int64.random(in: 0...max(time.nanoseconds / 1_000_000, 0), using: &self.generator)
                )
                self.world.setClockBack(2400, after: before)
                self.description += ", clock back after \(before)"
            }
        }
    }

    private static func apns(_ count: UInt32, _ generator: inout SplitMix64) -> GatewayWorld.APNs {
        var apns = GatewayWorld.APNs()
        apns.times = [1...1, 5...50, 1...300, 1...800, 900...1500].randomElement(using: &generator) ?? 5...50
        apns.slowOneIn = [0, 0, 0, 20, 3].randomElement(using: &generator) ?? 0
        apns.unavailableOneIn = [0, 0, 0, 50].randomElement(using: &generator) ?? 0
        apns.busyOneIn = [0, 0, 0, 100].randomElement(using: &generator) ?? 0
        apns.silentOneIn = [0, 0, 0, 100].randomElement(using: &generator) ?? 0
        switch Int.random(in: 0..<8, using: &generator) {
        case 0...1: apns.stall = Self.time(&generator)
        case 2...3: apns.outage = Self.time(&generator)
        default: break
        }
        let shares = [0, 0.01, 0.01, 0.05, 0.2]
        let share = shares.randomElement(using: &generator) ?? 0
        apns.bad = Set((0..<count).filter { _ in Double.random(in: 0..<1, using: &generator) < share })
        return apns
    }

    /// A time of trouble, in milliseconds.
    private static func time(_ generator: inout SplitMix64) -> Range<Int64> {
        let from = Int64.random(in: 0...5000, using: &generator)
        return from..<from + Int64.random(in: 0...20_000, using: &generator)
    }

    /// Shares the names among some programs: each pushes its own, and repeats some on purpose.
    private mutating func addPrograms(_ count: UInt32) {
        let programCount = [1, 1, 1, 2, 3].randomElement(using: &self.generator) ?? 1
        let repeatShares = [0, 0, 0.1]
        let repeatShare = repeatShares.randomElement(using: &self.generator) ?? 0
        let isOneAddress = Bool.random(using: &self.generator)
        var number = 0
        for index in 0..<programCount {
            guard let manner = OldProgram.Manner.libraries.randomElement(using: &self.generator) else { return }
            self.blamesCurrent = self.blamesCurrent || manner.blamesCurrent
            let path = self.path()
            let address: [UInt8] = [192, 0, 2, isOneAddress ? 1 : UInt8(index + 1)]
            let program = OldProgram(self.world, manner, path, address: address)
            self.programs.append(program)
            let isConstant = Int.random(in: 0..<10, using: &self.generator) == 0
            var pushes: [Push] = []
            for name in stride(from: UInt32(index), to: count, by: programCount) {
                number += 1
                pushes.append(Push(number: number, name: name, isConstant: isConstant))
            }
            for push in pushes where Double.random(in: 0..<1, using: &self.generator) < repeatShare {
                number += 1
                let place = Int.random(in: 0...pushes.count, using: &self.generator)
                pushes.insert(Push(number: number, name: push.name, isConstant: isConstant), at: place)
            }
            self.description += "\n  \(manner.name), address \(address.last ?? 0), \(pushes.count) pushes"
            self.description += (isConstant ? ", constant" : "") + (repeatShare > 0 ? ", repeats" : "") + ", \(path)"
            self.plan(pushes, of: program)
        }
    }

    private mutating func path() -> Wire.Path {
        var path = Wire.Path()
        path.roundTrip = .milliseconds(
            [1, 20, 80, Int64.random(in: 1...300, using: &self.generator)].randomElement(using: &self.generator) ?? 20
        )
        if Int.random(in: 0..<4, using: &self.generator) == 0 {
            let milliseconds = Int64.random(in: 0...100, using: &self.generator)
            // Up to 10 s, most of them short.
            path.delay = .milliseconds(milliseconds * milliseconds)
            path.delayFrom = [0, 1, 50].randomElement(using: &self.generator) ?? 0
        }
        path.isHidden = Int.random(in: 0..<8, using: &self.generator) == 0
        path.firstFlight = [1, 4, 10].randomElement(using: &self.generator) ?? 10
        let spacing: Int64 = [0, 0, 1000, 7000].randomElement(using: &self.generator) ?? 0
        path.spacing = .microseconds(spacing)
        path.lossOneIn = [0, 0, 0, 50].randomElement(using: &self.generator) ?? 0
        path.sendBuffer = [4_000, 20_000, 200_000].randomElement(using: &self.generator) ?? 200_000
        path.receiveBuffer = [6_000, 128_000].randomElement(using: &self.generator) ?? 128_000
        return path
    }

    /// Pushes at a steady rate, all at once, or in bursts.
    private mutating func plan(_ pushes: [Push], of program: OldProgram) {
        let interval: Int64 = [0, 1000, 10_000, 50_000, 200_000].randomElement(using: &self.generator) ?? 0
        let burst = [1, 1, 20, 100].randomElement(using: &self.generator) ?? 1
        var time = TimeAmount.milliseconds(Int64.random(in: 0...2000, using: &self.generator))
        self.description += ", every \(interval) µs, \(burst) at once"
        for (index, push) in pushes.enumerated() {
            self.world.simulation.after(time) { program.push(push) }
            if index % burst == burst - 1 { time = time + .microseconds(interval * Int64(burst)) }
        }
        guard program.manner.exits else { return }
        self.world.simulation.after(time) { program.exit() }
    }

    /// Runs to the end: the programs stop after an hour, and everything else some minutes later.
    func run() {
        self.world.run(for: .hours(1))
        for program in self.programs { program.exit() }
        self.world.run(for: .minutes(30))
    }
}
