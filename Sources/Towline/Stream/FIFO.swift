/// A queue whose first element is reached and removed in constant time.
struct FIFO<Element> {
    private var elements: ContiguousArray<Element> = []
    private var head = 0

    var count: Int { elements.count - head }
    var isEmpty: Bool { head == elements.count }

    var first: Element? { isEmpty ? nil : elements[head] }

    /// The elements from the first to the last.
    var all: ArraySlice<Element> { Array(elements[head...])[...] }

    subscript(index: Int) -> Element {
        get { elements[head + index] }
        set { elements[head + index] = newValue }
    }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func removeFirst() -> Element {
        let element = elements[head]
        head += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: elements.capacity <= 64)
            head = 0
        } else if head >= 32, head * 2 >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    /// Removes an element anywhere, in time that grows with those behind it.
    mutating func remove(at index: Int) -> Element {
        guard index > 0 else { return removeFirst() }
        return elements.remove(at: head + index)
    }

    /// Removes so many from the end.
    mutating func removeLast(_ removed: Int) {
        elements.removeLast(removed)
        if isEmpty { removeAll() }
    }

    mutating func removeAll() {
        elements = []
        head = 0
    }
}
