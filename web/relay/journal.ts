/** One call that the relay passed on: everything of it that the relay could read. */
export interface Exchange {
  /** Counts from 1 in each session. */
  readonly number: number
  readonly at: string
  readonly method: string
  readonly path: string
  readonly sent: string
  readonly status: number
  readonly received: string
}

/** What the relay saw, in memory, for its own panel. A real client system has logs instead. */
export interface Journal {
  write(session: string, exchange: Omit<Exchange, 'number' | 'at'>): void
  /** Newest first. */
  read(session: string): readonly Exchange[]
}

/** What only reads a status is kept apart: it would soon push out all else. */
const readsKept = 10
const othersKept = 20
const sessionsKept = 50
const charactersKept = 4_096

export function createJournal(): Journal {
  const sessions = new Map<string, readonly Exchange[]>()
  return {
    write(session, { method, path, received, sent, status }) {
      const earlier = sessions.get(session) ?? []
      const exchange: Exchange = {
        number: (earlier[0]?.number ?? 0) + 1,
        at: new Date().toISOString(),
        method,
        path,
        sent: sent.slice(0, charactersKept),
        status,
        received: received.slice(0, charactersKept),
      }
      // Put in anew, so that the session that was idle longest comes first.
      sessions.delete(session)
      sessions.set(session, keep([exchange, ...earlier]))
      const [idlest] = sessions.keys()
      if (sessions.size > sessionsKept && idlest !== undefined) sessions.delete(idlest)
    },
    read: (session) => sessions.get(session) ?? [],
  }
}

function keep(exchanges: readonly Exchange[]): readonly Exchange[] {
  const reads = exchanges.filter(({ method }) => method === 'GET').slice(0, readsKept)
  const others = exchanges.filter(({ method }) => method !== 'GET').slice(0, othersKept)
  return [...reads, ...others].sort((one, other) => other.number - one.number)
}
