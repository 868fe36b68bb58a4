import Testing

@testable import FerryGateway

@Suite struct CreditTests {
    @Test func `a client begins with four, and has twice as many after each round trip`() {
        var credit = Credit()
        for expected in [4, 8, 16, 32] {
            let room = credit.room
            #expect(room == expected)
            for _ in 0..<room { credit.wentOut() }
            #expect(credit.room == 0)
            for _ in 0..<room { credit.returned(.taken) }
        }
    }

    @Test func `a refused token costs eight, and four are left`() {
        var credit = Credit()
        for _ in 0..<10 {
            credit.wentOut()
            credit.returned(.taken)
        }
        for expected in [6, 4, 4] {
            credit.wentOut()
            credit.returned(.countable)
            #expect(credit.limit == expected)
        }
    }

    @Test func `an answer that says nothing of the token changes nothing, and there is an upper limit`() {
        var credit = Credit()
        credit.wentOut()
        credit.returned(.other)
        #expect(credit.limit == Credit.floor && credit.underWay.count == 0)
        for _ in 0..<2 * Credit.cap {
            credit.wentOut()
            credit.returned(.taken)
        }
        #expect(credit.limit == Credit.cap)
    }
}
