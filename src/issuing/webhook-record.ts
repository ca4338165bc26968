import { randomBytes } from 'node:crypto'
import { Problem, validationFailed } from '../errors.ts'
import type { Hsm } from '../hsm/hsm.ts'
import type { Connection } from '../storage/database.ts'
import { findWebhook, type WebhookRow, type WebhookStatus } from '../storage/webhooks.ts'
import type { Caller } from './issuing.ts'

/** What a client sets of a webhook. */
export interface WebhookSettings {
  readonly url: string
  /** Types of events, or `*` alone. */
  readonly events: readonly string[]
  readonly description?: string
  readonly status?: WebhookStatus
}

/** A webhook as its client sees it. Its secret is no part of it. */
export interface WebhookRecord {
  readonly webhookId: string
  readonly url: string
  readonly events: readonly string[]
  readonly description?: string
  readonly status: WebhookStatus
  readonly createdAt: string
  readonly disabledAt?: string
}

/** What is stored of a client's settings. */
export const storedSettings = async (
  hsm: Hsm,
  webhookId: string,
  { description, events, status, url }: WebhookSettings,
) => ({
  url,
  events,
  description:
    description === undefined ? null : await hsm.sealRecord('note', webhookId, description),
  status: status ?? ('Enabled' as const),
})

export async function webhookRecord(hsm: Hsm, row: WebhookRow): Promise<WebhookRecord> {
  const { createdAt, description, disabledAt, ...members } = row
  return {
    ...members,
    ...(description && { description: await hsm.revealRecord('note', row.webhookId, description) }),
    createdAt: createdAt.toISOString(),
    ...(disabledAt && { disabledAt: disabledAt.toISOString() }),
  }
}

/** A new secret that messages are signed with (Standard Webhooks: 32 random bytes in base64). */
export const drawWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

/** The caller's webhook. @throws `Problem` `not_found`, the same for another client's and for none. */
export async function holdWebhook(
  connection: Connection,
  { clientId }: Caller,
  webhookId: string,
): Promise<WebhookRow> {
  const row = await findWebhook(connection, clientId, webhookId)
  if (!row) throw new Problem('not_found')
  return row
}

/** @throws `Problem` `validation_failed` for a webhook that is disabled: nothing would be sent. */
export function refuseDisabled({ status }: WebhookRow): void {
  if (status === 'Enabled') return
  throw validationFailed({ pointer: '', detail: 'is for a webhook that is Enabled' })
}
