import type { Requester } from '../../domain/client.ts'
import {
  decisionKeysSubject,
  type GeneratedDecisionKeys,
  generateDecisionKeys,
} from '../../domain/decision-keys.ts'
import { Problem } from '../../domain/problem.ts'
import type { WebhookSecret } from '../../domain/webhook-secret.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import {
  listSigningKeys,
  lockSigningKeys,
  replaceSigningKey,
} from '../../storage/decisions/signing-keys.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'
import { recordAct } from '../acts/acts.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import { type SigningKeyRecord, signingKeyRecord } from './endpoint-record.ts'
import type { DecisionSigner } from './signing.ts'

/** The maximum number of former keys that also sign, each for 24 hours. */
const formerMax = 5

/**
 * Stores the first keys of a client.
 * @returns false if it has keys already.
 */
export async function storeFirstKeys(
  connection: Connection,
  hsm: Hsm,
  clientId: string,
  generated: GeneratedDecisionKeys,
): Promise<boolean> {
  if ((await lockSigningKeys(connection, clientId)).length > 0) return false
  await storeKeys(connection, hsm, clientId, generated)
  return true
}

async function storeKeys(
  connection: Connection,
  hsm: Hsm,
  clientId: string,
  { keys, publicKey }: GeneratedDecisionKeys,
): Promise<void> {
  const { keyId } = keys
  const subject = decisionKeysSubject(clientId, keyId)
  const sealedKeys = await hsm.sealRecord('decision-keys', subject, keys.reveal())
  await replaceSigningKey(connection, clientId, { keyId, publicKey, sealedKeys })
}

/** The keys that sign and, in the first answer only, the new HMAC secret. */
interface RotatedKeys {
  readonly signingKeys: readonly SigningKeyRecord[]
  readonly secret?: WebhookSecret
}

interface RotationContext {
  readonly database: Database
  readonly hsm: Hsm
  readonly signer: DecisionSigner
}

/**
 * Gives a client other signing keys. The former ones also sign for 24 hours.
 * @throws `Problem` `not_found` for a client that never registered an endpoint; `rate_limited` if
 *   the maximum number of keys sign already.
 */
export async function rotateDecisionKeys(
  context: RotationContext,
  requester: Requester,
  request: RepeatableRequest | null,
): Promise<Answer<RotatedKeys>> {
  const { clientId } = requester
  const generated = generateDecisionKeys()
  const { replayed, result } = await once(context, request, async (connection) => {
    const [present, ...former] = await lockSigningKeys(connection, clientId)
    if (!present)
      throw new Problem('not_found', {
        detail: 'No decision endpoint is registered: PUT one first.',
      })
    if (former.length >= formerMax) throw refuseRotation(former.at(-1)?.signsUntil ?? null)
    await storeKeys(connection, context.hsm, clientId, generated)
    await recordAct(connection, requester, {
      act: 'decision_keys.rotated',
      subjectKind: 'client',
      subject: clientId,
      details: { keyId: generated.keys.keyId },
    })
    const signingKeys = (await listSigningKeys(connection, clientId)).map(signingKeyRecord)
    return { signingKeys }
  })
  context.signer.forget()
  if (replayed) return { replayed, result }
  return { replayed, result: { ...result, secret: generated.keys.hmacSecret } }
}

/** @param until when the oldest former key ends. */
const refuseRotation = (until: Date | null): Problem =>
  new Problem('rate_limited', {
    detail: `The limit of ${formerMax} rotations in 24 hours is reached.`,
    retryAfterSeconds: until === null ? 1 : (until.getTime() - Date.now()) / 1_000,
  })
