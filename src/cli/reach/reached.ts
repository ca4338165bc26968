import type { Ask, ReadAll, Tokens } from './ask.ts'

/** The service, running elsewhere or opened here. */
export interface Reached {
  readonly ask: Ask
  readonly readAll: ReadAll
  /** What the paths of the specification begin with: `/thr/processor`. */
  readonly base: string
  /** Where a running server streams from; null where the service is opened in this process. */
  readonly live: { readonly baseUrl: string; readonly tokens: Tokens } | null
  close(): Promise<void>
}
