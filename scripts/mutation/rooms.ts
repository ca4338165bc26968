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
  authorizations: {
    folder: 'src/operations/authorizations',
    tests: [
      'test/operations/authorizations/interface.test.ts',
      'test/operations/authorizations/answers.test.ts',
      'test/operations/authorizations/repeats.test.ts',
      'test/operations/authorizations/events.test.ts',
      'test/operations/authorizations/in-flight.test.ts',
      'test/operations/authorizations/pin-blocks.test.ts',
      'test/operations/authorizations/counted.test.ts',
      'test/operations/authorizations/round-trips.test.ts',
    ],
    needsDatabase: true,
    scoreMin: 90,
  },
  idempotency: {
    folder: 'src/operations/idempotency',
    tests: [
      'test/operations/idempotency/idempotency.test.ts',
      'test/operations/idempotency/idempotency-race.test.ts',
      'test/operations/authorizations/repeats.test.ts',
    ],
    needsDatabase: true,
    scoreMin: 90,
  },
} satisfies Record<string, Room>

export type RoomName = keyof typeof rooms

export const roomNames = Object.keys(rooms) as readonly RoomName[]

/** Rooms whose mutants take half a second each, so that a push can try some. */
export const quickRooms: readonly RoomName[] = ['domain', 'crypto']
