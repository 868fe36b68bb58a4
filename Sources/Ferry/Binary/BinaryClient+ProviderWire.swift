internal import FerryBinary
internal import FerryMachine

extension BinaryClient: ProviderWire {
    mutating func takeSteps(now: Moment) -> [WireStep] {
        self.takeActions().map { action in
            switch action {
            case .dial(let id): .dial(id)
            case .close(let id): .close(id)
            case .finish(let id): .finish(id)
            case .sample(let id): .sample(id)
            }
        }
    }
}
