import type { CardData } from './card-data.ts'
import type { DeviceClock } from './device-clock.ts'
import type { JsonObject } from './json-object.ts'
import type { ServiceKeys } from './service-keys.ts'

/** What an answer must agree with. */
export interface Expectation {
  readonly service: ServiceKeys
  readonly publicToken: string
  readonly includePin: boolean
  readonly clock: DeviceClock
}

/** One form of asking and opening. */
export interface CardDataForm<Body> {
  readonly body: Body
  open(answer: JsonObject): Promise<CardData>
}
