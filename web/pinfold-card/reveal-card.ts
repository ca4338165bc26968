import {
  type CardData,
  fetchKeys,
  requestCardData,
  type ServiceKeys,
} from '../../sdk/device/device.ts'
import { callRelay } from './call-relay.ts'

export interface RevealQuestion {
  /** Keys that the application was built with, or null: they are fetched from `issuer`. */
  readonly service: ServiceKeys | null
  readonly issuer: string
  readonly publicToken: string
  readonly relayUrl: string
  readonly includePin: boolean
}

/**
 * Asks for the card under a key made for this once, and opens what comes back.
 * @throws DeviceError or RelayError, and then nothing of the card was seen.
 */
export async function revealCard(question: RevealQuestion, signal: AbortSignal): Promise<CardData> {
  const { includePin, issuer, publicToken, relayUrl } = question
  const service = question.service ?? (await fetchKeys(issuer, { signal }))
  const { body, open } = await requestCardData(service, publicToken, { includePin })
  return open(await callRelay({ method: 'POST', url: relayUrl, body, signal }))
}
