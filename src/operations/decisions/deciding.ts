import type { Database } from '../../storage/engine/database.ts'
import type { AskClient } from './ask-client.ts'
import type { CalledAnswers } from './calls.ts'
import type { EndpointRegistry } from './registry.ts'
import type { DecisionStreams } from './streams.ts'

/** The dependencies of what clients do with decisions. */
export interface DecidingContext {
  readonly database: Database
  readonly now: () => Date
  readonly answers: CalledAnswers
  readonly streams: DecisionStreams
  readonly registry: Pick<EndpointRegistry, 'find'>
  readonly ask: AskClient
}
