import TestSupport
import Testing

@testable import Towline

@Suite("Write queue") struct WriteQueueTests {
    @Test("An empty queue has nothing to hand over, to finish, or to tell")
    func emptyQueue() {
        var queue = WriteQueue()
        #expect(queue.isEmpty)
        #expect(queue.current == nil)
        #expect(queue.finished == nil)
        #expect(!queue.hasQueued)
        #expect(!queue.isSending)
        #expect(queue.unfinishedIndex == nil)
        #expect(queue.incomplete == [])
        let progress = queue.takeProgress()
        #expect(progress == nil)
    }

    @Test("A write is finished when its last byte is acknowledged, not before (W4)")
    func lastByte() {
        var queue = WriteQueue()
        queue.appendQueued([1, 2, 3], tag: 7)
        #expect(queue.pendingBytes == 3)
        let bytes = queue.handOver()
        #expect(bytes == [1, 2, 3])
        #expect(queue.isSending)
        #expect(queue.finished == nil)
        queue.acknowledge(2)
        #expect(queue.finished == nil)
        #expect(queue.pendingBytes == 1)
        queue.acknowledge(1)
        #expect(queue.finished?.tag == 7)
        #expect(!queue.isSending)
        queue.removeFirst()
        #expect(queue.isEmpty)
        #expect(queue.finished == nil)
    }

    @Test("Writes are handed over, and finish, in the order they were asked for (W1, O2)")
    func order() {
        var queue = WriteQueue()
        for tag in 1...4 {
            queue.appendQueued([UInt8](repeating: UInt8(tag), count: tag), tag: tag)
        }
        for tag in 1...4 {
            #expect(queue.nextCount == tag)
            let bytes = queue.handOver()
            #expect(bytes == [UInt8](repeating: UInt8(tag), count: tag))
        }
        #expect(!queue.hasQueued)
        queue.acknowledge(1 + 2 + 3)
        for tag in 1...3 {
            #expect(queue.finished?.tag == tag)
            queue.removeFirst()
        }
        #expect(queue.finished == nil, "the last still has four bytes to go")
        queue.acknowledge(4)
        #expect(queue.finished?.tag == 4)
    }

    @Test("An empty write finishes in its turn: not before the one in front of it (W1)")
    func emptyWrites() {
        var queue = WriteQueue()
        queue.appendQueued([], tag: 1)
        #expect(queue.finished == nil, "not handed over yet")
        let bytes = queue.handOver()
        #expect(bytes == [])
        #expect(queue.finished?.tag == 1)
        queue.removeFirst()
        queue.appendQueued([1], tag: 2)
        queue.appendQueued([], tag: 3)
        _ = queue.handOver()
        _ = queue.handOver()
        #expect(queue.finished == nil)
        queue.acknowledge(1)
        #expect(queue.finished?.tag == 2)
        queue.removeFirst()
        #expect(queue.finished?.tag == 3)
    }

    @Test("Gathered writes count as handed over, and bytes beyond them as the backend's (W5)")
    func gatheredWrites() {
        var queue = WriteQueue()
        queue.appendFirstGathered(tag: 1, id: OperationID(rawValue: 1), count: 3)
        queue.append(.write([4], tag: 2), isGathered: true)
        #expect(queue.count == 2)
        #expect(queue.isSending)
        #expect(!queue.hasQueued)
        #expect(!queue.isSendingBeyond(4), "the backend holds none of them")
        #expect(queue.isSendingBeyond(3))
        queue.acknowledge(4)
        #expect(queue.finished?.tag == 1)
        queue.removeFirst()
        #expect(queue.finished?.tag == 2)
        #expect(!queue.isSendingBeyond(0))
    }

    @Test("The fast calls and the general ones leave the same queue")
    func fastAndGeneralCalls() {
        for appendsFast in [true, false] {
            for removesFast in [true, false] {
                var queue = WriteQueue()
                for round in 1...3 {
                    if appendsFast {
                        let id = OperationID(rawValue: UInt64(round))
                        queue.appendFirstGathered(tag: round, id: id, count: 5)
                    } else {
                        queue.append(.write([1, 2, 3, 4, 5], tag: round), isGathered: true)
                    }
                    #expect(queue.current?.tag == round)
                    #expect(queue.current?.end == 5 * round)
                    #expect(queue.current?.timeout == .max)
                    queue.acknowledge(5)
                    #expect(queue.finished?.tag == round)
                    if removesFast { queue.removeOnlyRequest() } else { queue.removeFirst() }
                    #expect(queue.isEmpty)
                    #expect(queue.handedCount == 0)
                    #expect(queue.pendingBytes == 0)
                    #expect(queue.incomplete == [])
                }
            }
        }
    }

    // MARK: Progress

    @Test("Progress is told of new bytes only, the final ones included, and then no more (O3)")
    func progress() {
        var queue = WriteQueue()
        queue.appendQueued([1, 2, 3, 4], tag: 1)
        _ = queue.handOver()
        let reports = [1, 0, 2, 1, 0].map { count -> IOProgress? in
            queue.acknowledge(count)
            return queue.takeProgress()
        }
        let expected: [IOProgress?] = [
            IOProgress(newBytes: 1, bytesDone: 1, total: 4), nil,
            IOProgress(newBytes: 2, bytesDone: 3, total: 4),
            IOProgress(newBytes: 1, bytesDone: 4, total: 4), nil,
        ]
        #expect(reports == expected)
    }

    @Test("Bytes of the next write are no progress of this one (O3)")
    func progressOfTwo() {
        var queue = WriteQueue()
        queue.appendQueued([1, 2], tag: 1)
        queue.appendQueued([3, 4, 5], tag: 2)
        _ = queue.handOver()
        _ = queue.handOver()
        queue.acknowledge(4)
        let first = queue.takeProgress()
        #expect(first == IOProgress(newBytes: 2, bytesDone: 2, total: 2))
        let nothing = queue.takeProgress()
        #expect(nothing == nil)
        queue.removeFirst()
        let second = queue.takeProgress()
        #expect(second == IOProgress(newBytes: 2, bytesDone: 2, total: 3))
    }

    @Test("A write that nobody told progress of leaves none to the next")
    func untoldProgress() {
        var queue = WriteQueue()
        queue.appendQueued([1, 2], tag: 1)
        _ = queue.handOver()
        queue.acknowledge(2)
        queue.removeFirst()
        queue.appendQueued([3], tag: 2)
        let early = queue.takeProgress()
        #expect(early == nil, "not handed over yet")
        _ = queue.handOver()
        queue.acknowledge(1)
        let progress = queue.takeProgress()
        #expect(progress == IOProgress(newBytes: 1, bytesDone: 1, total: 1))
    }

    // MARK: Time and cancelling

    @Test("Time runs for the first write that is not finished, reported or not (W1)")
    func unfinished() {
        var queue = WriteQueue()
        queue.appendQueued([1], tag: 1)
        queue.appendQueued([], tag: 2)
        queue.appendQueued([2], tag: 3)
        #expect(queue.unfinishedIndex == 0)
        _ = queue.handOver()
        queue.acknowledge(1)
        #expect(queue.unfinishedIndex == 1, "the empty one is not handed over")
        _ = queue.handOver()
        #expect(queue.unfinishedIndex == 2)
        _ = queue.handOver()
        queue.acknowledge(1)
        #expect(queue.unfinishedIndex == nil)
        #expect(queue.count == 3, "none is reported yet")
    }

    @Test("A cancelled write was never asked for, wherever it stood (M3)")
    func cancelling() {
        for cancelled in 0..<4 {
            for handedCount in 0...cancelled {
                var queue = WriteQueue()
                for tag in 0..<4 {
                    queue.appendQueued([UInt8](repeating: UInt8(tag), count: tag + 1), tag: tag)
                }
                var sent: [UInt8] = []
                for _ in 0..<handedCount { sent += queue.handOver() }
                queue.cancel(at: cancelled)
                #expect(queue.count == 3)
                #expect(queue.pendingBytes == 10 - (cancelled + 1))
                while queue.hasQueued { sent += queue.handOver() }
                let others = (0..<4).filter { $0 != cancelled }
                #expect(sent == others.flatMap { [UInt8](repeating: UInt8($0), count: $0 + 1) })
                for tag in others {
                    #expect(queue.finished == nil)
                    queue.acknowledge(tag + 1)
                    #expect(queue.finished?.tag == tag)
                    queue.removeFirst()
                }
                #expect(queue.isEmpty)
                #expect(queue.pendingBytes == 0)
            }
        }
    }

    @Test("What follows a cancelled only write is as if it were the first")
    func cancellingTheOnlyOne() {
        var queue = WriteQueue()
        queue.appendQueued([1, 2, 3], tag: 1)
        queue.cancel(at: 0)
        #expect(queue.isEmpty)
        #expect(queue.pendingBytes == 0)
        queue.appendQueued([4], tag: 2)
        let bytes = queue.handOver()
        #expect(bytes == [4])
        queue.acknowledge(1)
        #expect(queue.finished?.tag == 2)
    }

    @Test("A handed-over write that is not begun can be cancelled, and all behind it (W9)")
    func cancellingHandedOver() {
        var queue = WriteQueue()
        for tag in 1...5 { queue.appendQueued([UInt8](repeating: 0, count: 2), tag: tag) }
        for _ in 0..<4 { _ = queue.handOver() }
        queue.acknowledge(3)
        let untouched = (0..<5).map { queue.isUntouched(at: $0) }
        #expect(untouched == [false, false, true, true, true])
        #expect(queue.untouchedIndex == 2)
        #expect(queue.progress == OperationProgress(tag: 2, bytesDone: 1, total: 2))
        queue.cancel(at: 2)
        #expect(queue.handedEnd == 6 && queue.acceptedEnd == 8)
        #expect(queue.pendingBytes == 5)
        #expect(queue.index(of: OperationID(rawValue: 4)) == 2)
        #expect(queue.index(of: OperationID(rawValue: 3)) == nil)
        queue.cancelAll(from: queue.untouchedIndex)
        #expect(queue.count == 2)
        #expect(queue.pendingBytes == 1)
        #expect(!queue.hasQueued)
        queue.acknowledge(1)
        queue.removeFirst()
        queue.removeFirst()
        queue.cancelAll(from: queue.untouchedIndex)
        #expect(queue.isEmpty)
        #expect(queue.progress == nil)
    }

    // MARK: The end

    @Test("What is not finished is reported with the bytes that were taken (O6)")
    func incompleteWrites() {
        var queue = WriteQueue()
        queue.appendQueued([1, 2], tag: 1)
        queue.appendQueued([3, 4, 5], tag: 2)
        queue.appendQueued([], tag: 3)
        queue.appendQueued([6], tag: 4)
        _ = queue.handOver()
        _ = queue.handOver()
        queue.acknowledge(3)
        #expect(
            queue.incomplete == [
                IncompleteWrite(tag: 2, bytesWritten: 1, total: 3),
                IncompleteWrite(tag: 3, bytesWritten: 0, total: 0),
                IncompleteWrite(tag: 4, bytesWritten: 0, total: 1),
            ]
        )
    }

    @Test("After a reset the queue is a new one")
    func resetting() {
        var queue = WriteQueue()
        for tag in 1...3 { queue.appendQueued([1, 2], tag: tag) }
        _ = queue.handOver()
        queue.acknowledge(1)
        _ = queue.takeProgress()
        queue.reset()
        #expect(queue.isEmpty)
        #expect(queue.pendingBytes == 0)
        #expect(queue.acceptedEnd == 0)
        #expect(queue.finishedEnd == 0)
        #expect(queue.handedEnd == 0)
        #expect(queue.handedCount == 0)
        #expect(queue.incomplete == [])
        queue.appendQueued([9], tag: 4)
        let bytes = queue.handOver()
        #expect(bytes == [9])
        queue.acknowledge(1)
        let progress = queue.takeProgress()
        #expect(progress == IOProgress(newBytes: 1, bytesDone: 1, total: 1))
        #expect(queue.finished?.tag == 4)
    }

    @Test("Whatever the kernel takes, each byte belongs to the write it came from (W1, W4)")
    func randomOperations() {
        var numbers = SeededNumbers()
        for _ in 0..<50 {
            var queue = WriteQueue()
            var ends: [Int] = []
            var accepted = 0
            var handed = 0
            var taken = 0
            var finished: [Int] = []
            for _ in 0..<100 {
                switch numbers.number(in: 0..<4) {
                case 0:
                    let count = numbers.number(in: 0..<6)
                    queue.appendQueued(numbers.bytes(count), tag: ends.count)
                    accepted += count
                    ends.append(accepted)
                case 1 where queue.hasQueued:
                    handed += queue.handOver().count
                default:
                    let count = numbers.number(in: 0..<handed - taken + 1)
                    queue.acknowledge(count)
                    taken += count
                    while let write = queue.finished {
                        #expect(ends[write.tag] <= taken, "seed \(numbers.seed)")
                        finished.append(write.tag)
                        queue.removeFirst()
                    }
                }
                #expect(queue.pendingBytes == accepted - taken)
                #expect(queue.isSending == (handed > taken))
                #expect(queue.count == ends.count - finished.count)
            }
            #expect(finished == Array(0..<finished.count), "in order, seed \(numbers.seed)")
        }
    }
}

extension WriteQueue {
    fileprivate mutating func appendQueued(_ bytes: [UInt8], tag: Int) {
        append(.write(bytes, tag: tag), isGathered: false)
    }
}

extension WriteRequest {
    fileprivate static func write(_ bytes: [UInt8], tag: Int) -> WriteRequest {
        WriteRequest(
            tag: tag,
            id: OperationID(rawValue: UInt64(tag)),
            end: 0,
            count: bytes.count,
            timeout: .max,
            bytes: bytes
        )
    }
}
