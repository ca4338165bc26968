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
    folder: 'src/authorizing',
    tests: [
      'test/authorizing/objections.test.ts',
      'test/authorizing/events.test.ts',
      'test/authorizing/repeats.test.ts',
      'test/authorizing/in-flight.test.ts',
      'test/authorizing/pin-blocks.test.ts',
    ],
    scoreMin: 90,
  },
  idempotency: {
    folder: 'src/idempotency',
    tests: ['test/issuing/idempotency.test.ts', 'test/authorizing/repeats.test.ts'],
    scoreMin: 90,
  },
} satisfies Record<string, Room>

export type RoomName = keyof typeof rooms

export const roomNames = Object.keys(rooms) as readonly RoomName[]

/** Rooms whose mutants take a quarter of a second each, so that a push can try some. */
export const quickRooms: readonly RoomName[] = ['domain', 'crypto']
