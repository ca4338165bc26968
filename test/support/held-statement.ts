import type { Database } from '../../src/storage/engine/database.ts'

/** A database one of whose statements waits until it is released. */
export interface HeldStatement {
  readonly database: Database
  /** Resolves when the statement is sent. */
  readonly reached: Promise<void>
  release(): void
}

/** Holds a statement of a database by its name. */
export function holdStatement(database: Database, name: string): HeldStatement {
  const reached = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  return {
    database: {
      ...database,
      query: async (statement, values) => {
        if (statement.name === name) {
          reached.resolve()
          await held.promise
        }
        return database.query(statement, values)
      },
    },
    reached: reached.promise,
    release: held.resolve,
  }
}
