internal import FerryAppStore
internal import FerryMachine
internal import FerryPlatform

/// The made-up values of notifications, in an order that the seed decides.
struct NotificationValues: Sendable {
    /// A customer's purchase. Dates are milliseconds since 1970.
    struct Purchase: Sendable {
        var original: String
        var transaction: String
        var webOrderLine: String
        var appTransaction: String
        /// The customer in the app's own database, if the app gave one.
        var accountToken: String
        var product: String
        /// In thousandths of the currency's unit.
        var price: Int64
        var storefront: Storefront
        var bought: Int64
        var renewed: Int64
        var expires: Int64
        var signed: Int64

        /// "externalPurchaseId […] begins with SANDBOX in the sandbox" ("externalPurchaseToken", Apple)
        func externalPurchaseID(_ environment: AppStoreEnvironment) -> String {
            environment == .production ? self.accountToken : "SANDBOX_\(self.accountToken)"
        }
    }

    struct Storefront: Sendable {
        var country: String
        var id: String
        var currency: String
    }

    private static let storefronts = [
        Storefront(country: "USA", id: "143441", currency: "USD"),
        Storefront(country: "DEU", id: "143443", currency: "EUR"),
        Storefront(country: "JPN", id: "143462", currency: "JPY"),
        Storefront(country: "GBR", id: "143444", currency: "GBP"),
    ]
    private static let products = ["weekly", "monthly", "yearly"]
    private static let day: Int64 = 86_400_000

    private var generator: SplitMix64

    init(seed: UInt64) { self.generator = SplitMix64(seed: seed) }

    mutating func number() -> UInt64 { self.generator.next() }

    /// A number between 0 and 1, below 1.
    mutating func fraction() -> Double { Double.random(in: 0..<1, using: &self.generator) }

    /// A UUID of version 4 in lower case, as Apple writes them.
    mutating func uuid() -> String {
        var bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &self.generator) }
        bytes[6] = bytes[6] & 0x0f | 0x40
        bytes[8] = bytes[8] & 0x3f | 0x80
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text += "-" }
            text.append(digit)
        }
        return text
    }

    /// - Parameter customer: the original transaction; nil: a new customer.
    mutating func purchase(customer: String?, at date: Date) -> Purchase {
        let signed = date.millisecondsSince1970
        let age = Int64.random(in: 1...300, using: &self.generator)
        let transaction = self.digits(15, after: "2")
        let bought = signed - age * Self.day - 7_000
        let renewed = signed - 1_500
        return Purchase(
            original: customer ?? self.digits(15, after: "2"),
            transaction: transaction,
            webOrderLine: self.digits(14, after: "20"),
            appTransaction: self.digits(17, after: "7"),
            accountToken: self.uuid(),
            product: Self.products.randomElement(using: &self.generator) ?? "monthly",
            price: Int64.random(in: 1...99, using: &self.generator) * 1000 + 990,
            storefront: Self.storefronts.randomElement(using: &self.generator) ?? Self.storefronts[0],
            bought: bought,
            renewed: renewed,
            expires: renewed + 30 * Self.day,
            signed: signed
        )
    }

    mutating func digits(_ count: Int, after prefix: String) -> String {
        prefix + (0..<count).map { _ in String(Int.random(in: 0...9, using: &self.generator)) }.joined()
    }
}
