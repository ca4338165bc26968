/** What is mutated, by which tests it is proven, and how many of its mutants must be found. */

export type Room = {
  /** A folder of `src`. */
  readonly folder: string
  /** The test files that prove it: each mutant runs those of them that execute its line, to the first that fails. */
  readonly tests: readonly string[]
  /** Whether they need a database: a PostgreSQL server that all of them share is the cheapest. */
  readonly needsDatabase?: true
  /** The least score, in per cent. */
  readonly scoreMin: number
}

export const rooms = {
  domain: { folder: 'src/domain', tests: ['test/domain/*.test.ts'], scoreMin: 95 },
  crypto: { folder: 'src/crypto', tests: ['test/crypto/*.test.ts'], scoreMin: 90 },
  authorizing: {
    folder: 'src/authorizing',
    tests: [
      'test/authorizing/answer-schema.test.ts',
      'test/authorizing/objections.test.ts',
      'test/authorizing/repeats.test.ts',
      'test/authorizing/events.test.ts',
      'test/authorizing/in-flight.test.ts',
      'test/authorizing/pin-blocks.test.ts',
      'test/authorizing/wrong-expiries.test.ts',
      'test/authorizing/products.test.ts',
    ],
    needsDatabase: true,
    scoreMin: 90,
  },
  idempotency: {
    folder: 'src/idempotency',
    tests: [
      'test/issuing/idempotency.test.ts',
      'test/issuing/idempotency-upgrade.test.ts',
      'test/issuing/idempotency-race.test.ts',
      'test/authorizing/repeats.test.ts',
    ],
    needsDatabase: true,
    scoreMin: 90,
  },
} satisfies Record<string, Room>

export type RoomName = keyof typeof rooms

export const roomNames = Object.keys(rooms) as readonly RoomName[]

/** Rooms whose mutants take half a second each, so that a push can try some. */
export const quickRooms: readonly RoomName[] = ['domain', 'crypto']
