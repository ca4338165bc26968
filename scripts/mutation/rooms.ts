/** What is mutated, by which tests it is proven, and how many of its mutants must be found. */

export type Room = {
  /** A folder of `src`. */
  readonly folder: string
  /** The test files that prove it: each mutant runs those of them that execute its line. */
  readonly tests: readonly string[]
  /** The least score, in per cent. */
  readonly scoreMin: number
}

export const rooms = {
  domain: { folder: 'src/domain', tests: ['test/domain/*.test.ts'], scoreMin: 95 },
  crypto: { folder: 'src/crypto', tests: ['test/crypto/*.test.ts'], scoreMin: 90 },
  authorizing: {
    folder: 'src/operations/authorizations',
    tests: [
      'test/operations/authorizations/objections.test.ts',
      'test/operations/authorizations/events.test.ts',
      'test/operations/authorizations/repeats.test.ts',
      'test/operations/authorizations/in-flight.test.ts',
      'test/operations/authorizations/pin-blocks.test.ts',
    ],
    scoreMin: 90,
  },
  idempotency: {
    folder: 'src/operations/idempotency',
    tests: [
      'test/operations/idempotency/idempotency.test.ts',
      'test/operations/authorizations/repeats.test.ts',
    ],
    scoreMin: 90,
  },
} satisfies Record<string, Room>

export type RoomName = keyof typeof rooms

export const roomNames = Object.keys(rooms) as readonly RoomName[]

/** Rooms whose mutants take a quarter of a second each, so that a push can try some. */
export const quickRooms: readonly RoomName[] = ['domain', 'crypto']
