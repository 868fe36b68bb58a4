package import FerryCore

/// The choice of a side for each notification. The choice depends on the rule, on the sides that are down, and on
/// their trials.
package struct MigrationRouter {
    package private(set) var rule: MigrationRule
    /// The groups below this number belong to HTTP/2. A rule for a device or a topic comes first.
    private var threshold: Int
    /// The devices that the rule lists, by the hash of their token. The router looks here for every notification.
    private var devices: [UInt32: [DeviceToken: ProviderSide]] = [:]
    /// The sides that are down.
    private(set) var down: Set<ProviderSide> = []
    /// The group that tries a side that is down; no entry without a trial.
    private(set) var trials: [ProviderSide: Int] = [:]

    package init(_ rule: MigrationRule) {
        self.rule = rule
        self.threshold = rule.threshold
        self.setDevices()
    }

    private mutating func setDevices() {
        self.devices = [:]
        for (device, side) in self.rule.devices {
            let hash = device.bytes.withUnsafeBufferPointer { DeviceToken.stableHash($0) }
            self.devices[hash, default: [:]][device] = side
        }
    }

    /// The side that all notifications get; nil if their sides may differ.
    package var uniformSide: ProviderSide? {
        guard self.devices.isEmpty, self.rule.topics.isEmpty, self.trials.isEmpty else { return nil }
        switch self.threshold {
        case 0: return self.standIn(for: .binary)
        case DeviceGroup.count: return self.standIn(for: .http2)
        default: return self.down.count == 1 ? self.down.first?.other : nil
        }
    }

    /// Returns the side that the rule gives a notification.
    package func home(_ run: BatchRun, at index: Int) -> ProviderSide {
        let entry = run.entries[index]
        if !self.devices.isEmpty, let listed = self.devices[entry.tokenHash],
            !entry.fields.isBroadcast, let side = listed[run.device(at: index)]
        {
            return side
        }
        if !self.rule.topics.isEmpty, entry.topicLength > 0 {
            let topic = run.withTopic(at: index) { String(decoding: $0, as: UTF8.self) }
            if let side = self.rule.topics[topic] { return side }
        }
        return DeviceGroup.of(entry) < self.threshold ? .http2 : .binary
    }

    /// Returns the side over which a notification goes now.
    package func side(_ run: BatchRun, at index: Int) -> ProviderSide {
        let home = self.home(run, at: index)
        if !self.trials.isEmpty, self.trials[home] == DeviceGroup.of(run.entries[index]) { return home }
        return self.standIn(for: home)
    }

    /// Returns `side`. If `side` is down and the other side is not, returns the other side.
    private func standIn(for side: ProviderSide) -> ProviderSide {
        self.down.contains(side) && !self.down.contains(side.other) ? side.other : side
    }

    // MARK: Changes

    /// Replaces the rule. Returns the groups whose devices may get another side.
    package mutating func change(_ rule: MigrationRule) -> DeviceGroupSet {
        let old = self.rule
        let oldThreshold = self.threshold
        self.rule = rule
        self.threshold = rule.threshold
        if rule.devices != old.devices { self.setDevices() }
        if rule.topics != old.topics { return .all }
        var groups = DeviceGroupSet(min(oldThreshold, self.threshold)..<max(oldThreshold, self.threshold))
        for device in Set(old.devices.keys).union(rule.devices.keys) where old.devices[device] != rule.devices[device] {
            groups.insert(MigrationRule.position(of: device))
        }
        return groups
    }

    /// Notes that a side went down or works again. Returns the groups whose devices may get another side.
    package mutating func set(_ side: ProviderSide, isDown: Bool) -> DeviceGroupSet {
        let before = self.down.count
        if isDown { self.down.insert(side) } else { self.down.remove(side) }
        self.trials[side] = nil
        // While both sides are down, each keeps its own devices. So the second failure, and the first recovery, move
        // devices of both sides.
        return before == 2 || self.down.count == 2 ? .all : self.groups(of: side)
    }

    /// Lets a group try a side that is down; nil ends the trial. Returns the groups whose devices may get another side.
    package mutating func setTrial(_ group: Int?, of side: ProviderSide) -> DeviceGroupSet {
        var groups = DeviceGroupSet()
        if let before = self.trials[side] { groups.insert(before) }
        if let group { groups.insert(group) }
        self.trials[side] = group
        return groups
    }

    private func groups(of side: ProviderSide) -> DeviceGroupSet {
        guard self.rule.topics.isEmpty else { return .all }
        var groups = DeviceGroupSet(side == .http2 ? 0..<self.threshold : self.threshold..<DeviceGroup.count)
        for (device, listed) in self.rule.devices where listed == side {
            groups.insert(MigrationRule.position(of: device))
        }
        return groups
    }
}
