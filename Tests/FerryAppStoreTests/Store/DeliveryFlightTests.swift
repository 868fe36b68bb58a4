import Foundation
import Testing

@testable import FerryAppStore

@Suite struct DeliveryFlightTests {
    /// A class, so that expectations can change it.
    private final class Flight {
        var machine = DeliveryFlight()

        func begin(_ delivery: AppStoreDelivery) -> Bool { self.machine.begin(delivery) }
    }

    private let signing: Signing

    init() throws { self.signing = try Signing() }

    private func delivery(_ number: UInt64, customer: String) throws -> AppStoreDelivery {
        let text = try self.signing.renewal(transaction: customer)
        let notification = try self.signing.verifier().verify(signedPayload: text)
        return AppStoreDelivery(
            notification: notification,
            attempt: 1,
            isStale: false,
            post: [],
            number: number,
            failing: .zero
        )
    }

    @Test func `a customer has one running delivery, and all customers together have a limit`() throws {
        let flight = Flight()
        let first = try self.delivery(1, customer: "1")
        #expect(flight.begin(first))
        #expect(!flight.begin(try self.delivery(2, customer: "1")))
        for number in 2...UInt64(DeliveryFlight.limit) {
            #expect(flight.begin(try self.delivery(number, customer: "\(number)")))
        }
        let next = try self.delivery(99, customer: "99")
        #expect(!flight.begin(next))
        flight.machine.end(first)
        #expect(flight.begin(next))
    }

    @Test func `a delivery that ended during a look at the store does not begin again because of that look`() throws {
        let flight = Flight()
        let delivery = try self.delivery(1, customer: "1")
        flight.machine.look()
        #expect(flight.begin(delivery))
        flight.machine.look()
        flight.machine.end(delivery)
        #expect(!flight.begin(delivery))
        // Its next attempt.
        flight.machine.look()
        #expect(flight.begin(delivery))
    }
}
