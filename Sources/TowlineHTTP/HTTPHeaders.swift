/// The fields of a message: in order, duplicates and all, with the bytes that came.
///
/// Names are compared without regard to case (ASCII) and kept as they were written. Values are
/// bytes; as a `String` they are read as UTF-8, with U+FFFD for what is ill-formed. Nothing is
/// checked here: what must not be sent is refused where a request is written.
///
/// Source: RFC 9110 section 5.
public struct HTTPHeaders: Sendable {
    /// One field of a message.
    public struct Field: Sendable, Hashable {
        /// The name as it was written.
        public var name: String
        /// The bytes behind the colon, without the blanks around them.
        public var value: [UInt8]

        /// The value as text; what is no UTF-8 is replaced.
        public var text: String { String(decoding: value, as: UTF8.self) }

        /// A field whose value is the UTF-8 of a text.
        public init(name: String, value: String) {
            self.init(name: name, value: Array(value.utf8))
        }

        /// A field whose value is these bytes.
        public init(name: String, value: [UInt8]) {
            self.name = name
            self.value = value
        }
    }

    /// Where a field's name and value lie in `storage`, which is less than 4 GiB long.
    struct Place {
        private var nameStart, nameEnd, valueStart, valueEnd: UInt32

        @inline(__always)
        init(name: Range<Int>, value: Range<Int>) {
            nameStart = UInt32(truncatingIfNeeded: name.lowerBound)
            nameEnd = UInt32(truncatingIfNeeded: name.upperBound)
            valueStart = UInt32(truncatingIfNeeded: value.lowerBound)
            valueEnd = UInt32(truncatingIfNeeded: value.upperBound)
        }

        // Both ends of each were those of a range.

        @inline(__always)
        var name: Range<Int> { Range(uncheckedBounds: (Int(nameStart), Int(nameEnd))) }

        @inline(__always)
        var value: Range<Int> {
            get { Range(uncheckedBounds: (Int(valueStart), Int(valueEnd))) }
            set { self = Place(name: name, value: newValue) }
        }

        /// How many bytes the name has.
        @inline(__always)
        var nameCount: Int { Int(nameEnd &- nameStart) }
    }

    /// The names and values of all fields, and of some that were removed, each field as its line is
    /// in a message, so that those that were only added lie as they are sent.
    private(set) var storage: [UInt8] = []
    private(set) var places: [Place] = []

    /// No fields.
    public init() {}

    /// These fields, in this order.
    public init(_ fields: some Sequence<Field>) {
        for field in fields { add(field.name, field.value) }
    }

    /// Makes room for so many more fields, whose names and values have so many bytes in all.
    public mutating func reserveCapacity(fieldCount: Int, byteCount: Int) {
        reserve(fieldCount: fieldCount, byteCount: byteCount)
    }

    /// How many fields there are.
    public var count: Int { places.count }

    /// Whether there is none.
    public var isEmpty: Bool { places.isEmpty }

    /// The value of the first field of this name; all of them together after a `set`.
    ///
    /// Setting replaces all fields of the name by one, which takes the place of the first; setting
    /// `nil` removes them.
    public subscript(name: String) -> String? {
        get {
            places.first { self.name(of: $0, is: name) }.map {
                String(decoding: storage[$0.value], as: UTF8.self)
            }
        }
        set {
            guard let newValue else { return remove(name) }
            set(name, Array(newValue.utf8))
        }
    }

    /// The values of all fields of this name, in order.
    public func values(of name: String) -> [String] {
        places.filter { self.name(of: $0, is: name) }.map {
            String(decoding: storage[$0.value], as: UTF8.self)
        }
    }

    /// The elements of all fields of this name, which hold lists: parted at commas that stand
    /// outside of quotes, blanks trimmed, empty ones left out.
    ///
    /// Source: RFC 9110 section 5.6.1.
    public func elements(of name: String) -> [String] {
        contains(name) ? values(of: name).flatMap { ListElements.split($0) } : []
    }

    /// Whether there is a field of this name.
    public func contains(_ name: String) -> Bool {
        let byteCount = name.utf8.count
        for place in places where place.nameCount == byteCount {
            if self.name(of: place, is: name) { return true }
        }
        return false
    }

    /// Adds a field behind all others.
    public mutating func add(_ name: String, _ value: String) {
        var value = value
        value.withUTF8 { add(name, $0) }
    }

    /// Adds a field behind all others.
    public mutating func add(_ name: String, _ value: [UInt8]) {
        value.withUnsafeBufferPointer { add(name, $0) }
    }

    /// Adds fields behind all others, in their order.
    public mutating func add(contentsOf fields: HTTPHeaders) {
        fields.storage.withUnsafeBufferPointer { bytes in
            for place in fields.places {
                // Both ranges lie within the storage.
                add(
                    UnsafeBufferPointer(rebasing: bytes[place.name]),
                    UnsafeBufferPointer(rebasing: bytes[place.value])
                )
            }
        }
    }

    private mutating func add(_ name: String, _ value: UnsafeBufferPointer<UInt8>) {
        var name = name
        name.withUTF8 { add($0, value) }
    }

    private mutating func add(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) {
        let start = storage.count
        storage.append(contentsOf: name)
        let middle = storage.count
        storage.append(UInt8(ascii: ":"))
        storage.append(Grammar.space)
        storage.append(contentsOf: value)
        appendPlace(name: start..<middle, value: (middle + 2)..<storage.count)
        storage.append(Grammar.carriageReturn)
        storage.append(Grammar.lineFeed)
    }

    /// Replaces all fields of this name by one, which takes the place of the first.
    public mutating func set(_ name: String, _ value: [UInt8]) {
        guard let index = places.firstIndex(where: { self.name(of: $0, is: name) }) else {
            return add(name, value)
        }
        add(name, value)
        let place = places.removeLast()
        places.replaceSubrange(
            (index + 1)...,
            with: places[(index + 1)...].filter {
                !self.name(of: $0, is: name)
            }
        )
        places[index] = place
    }

    /// Removes all fields of this name.
    public mutating func remove(_ name: String) {
        places = places.filter { !self.name(of: $0, is: name) }
        if places.isEmpty { storage.removeAll() }
    }

    /// Removes the fields that this says so of.
    public mutating func removeAll(where shouldRemove: (Field) -> Bool) {
        places = places.filter { !shouldRemove(field(at: $0)) }
        if places.isEmpty { storage.removeAll() }
    }

    private mutating func appendPlace(name: Range<Int>, value: Range<Int>) {
        precondition(value.upperBound <= UInt32.max, "fields have less than 4 GiB")
        places.append(Place(name: name, value: value))
    }

    private func field(at place: Place) -> Field {
        Field(
            name: String(decoding: storage[place.name], as: UTF8.self),
            value: Array(storage[place.value])
        )
    }

    private func name(of place: Place, is name: String) -> Bool {
        guard place.nameCount == name.utf8.count else { return false }
        return zip(storage[place.name], name.utf8).allSatisfy { ASCII.lower($0) == ASCII.lower($1) }
    }
}

extension HTTPHeaders: RandomAccessCollection {
    /// 0.
    public var startIndex: Int { 0 }
    /// ``count``.
    public var endIndex: Int { places.count }

    /// The field at this place, counted from 0.
    public subscript(position: Int) -> Field { field(at: places[position]) }
}

extension HTTPHeaders: Equatable {
    /// Whether both have the same fields in the same order, names compared as they were written.
    public static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool {
        left.elementsEqual(right)
    }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    /// These fields, in this order.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { add(name, value) }
    }
}

extension HTTPHeaders: CustomStringConvertible {
    /// One field a line, as in a message.
    public var description: String {
        map { "\($0.name): \(String(decoding: $0.value, as: UTF8.self))" }.joined(separator: "\n")
    }
}

extension HTTPHeaders {
    /// Makes room for fields whose names and values have so many bytes in all.
    mutating func reserve(fieldCount: Int, byteCount: Int) {
        places.reserveCapacity(places.count + fieldCount)
        // A colon, a space and a line end for each.
        storage.reserveCapacity(storage.count + byteCount + 4 * fieldCount)
    }

    /// The fields of a received section, which lie in it at these places.
    init(places: [Place], in bytes: [UInt8]) {
        self.places = places
        storage = bytes
    }

    /// Puts one space for each line end within a value, and for the blanks around it.
    ///
    /// Source: RFC 9112 section 5.2.
    mutating func joinContinuations() {
        for index in places.indices {
            let value = places[index].value
            var end = value.lowerBound
            var isBehindLineEnd = false
            for place in value {
                let byte = storage[place]
                if byte == Grammar.carriageReturn || byte == Grammar.lineFeed {
                    while end > value.lowerBound, Grammar.isBlank(storage[end - 1]) { end -= 1 }
                    isBehindLineEnd = true
                    continue
                }
                if isBehindLineEnd {
                    if Grammar.isBlank(byte) { continue }
                    isBehindLineEnd = false
                    if end > value.lowerBound {
                        storage[end] = Grammar.space
                        end += 1
                    }
                }
                storage[end] = byte
                end += 1
            }
            places[index].value = value.lowerBound..<end
        }
    }

    /// Lets look at the bytes of each value of this name without copying them.
    func forEachValue(of name: String, _ body: (ArraySlice<UInt8>) -> Void) {
        for place in places where self.name(of: place, is: name) { body(storage[place.value]) }
    }
}
