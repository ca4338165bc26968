import type { RecordPurpose } from '../../hsm/contract/hsm.ts'
import { takePan } from '../../storage/cards/create-card.ts'
import {
  type CardUnderKeys,
  listCardsUnderKeys,
  movePan,
  movePersonalData,
  movePin,
} from '../../storage/cards/keys-of-cards.ts'
import {
  listSandboxSecrets,
  listSealedAnswers,
  listSealedFormerSecrets,
  listSealedNotes,
  listSealedWebhooks,
  moveAnswer,
  moveNote,
  moveSandboxSecret,
  moveSealedFormerSecret,
  moveSealedWebhook,
  type SealedWebhookColumn,
  sealedWebhookColumns,
} from '../../storage/keys/sealed-columns.ts'
import { answerSubject } from '../idempotency/idempotency.ts'
import type { KeyOperations } from './keys.ts'

/** One value that is under a key. */
interface EncryptedValue {
  /** Where it stands: the next page begins after it. */
  readonly position: string
  /** The version that it is under; null where it does not say. */
  readonly keyVersion: number | null
  /** Puts it under the active version, unless it changed meanwhile. @returns whether it did. */
  move(): Promise<boolean>
}

/** A column that is under a key, read in the order of its rows. */
interface EncryptedColumn {
  readonly columnName: string
  page(keys: KeyOperations, after: string, limit: number): Promise<readonly EncryptedValue[]>
}

const noUuid = '00000000-0000-0000-0000-000000000000'

/** What each sealed column of a webhook was sealed for. */
const purposes: Record<SealedWebhookColumn, RecordPurpose> = {
  secret: 'webhook-secret',
  description: 'note',
}

/** The columns of the webhooks that are sealed under the key of personal data. */
const webhookColumns = sealedWebhookColumns.map(
  (column): EncryptedColumn => ({
    columnName: `webhook.${column}`,
    async page({ database, hsm }, after, limit) {
      const [clientId = '', webhookId = noUuid] = after.split('\n')
      const rows = await listSealedWebhooks(database, column, { clientId, webhookId }, limit)
      return rows.map((row) => ({
        position: `${row.clientId}\n${row.webhookId}`,
        keyVersion: hsm.sealedVersionOf(row.sealed),
        async move() {
          const moved = await hsm.rewrapRecord(purposes[column], row.webhookId, row.sealed)
          return moveSealedWebhook(database, column, row, moved)
        },
      }))
    },
  }),
)

/** Secrets that were replaced. Looked at after the present ones, each of which may become one. */
const formerSecrets: EncryptedColumn = {
  columnName: 'webhook_former_secret.secret',
  async page({ database, hsm }, after, limit) {
    const [clientId = '', webhookId = noUuid, formerSecretId = noUuid] = after.split('\n')
    const position = { clientId, webhookId, formerSecretId }
    const rows = await listSealedFormerSecrets(database, position, limit)
    return rows.map((row) => ({
      position: `${row.clientId}\n${row.webhookId}\n${row.formerSecretId}`,
      keyVersion: hsm.sealedVersionOf(row.sealed),
      async move() {
        const moved = await hsm.rewrapRecord('webhook-secret', row.webhookId, row.sealed)
        return moveSealedFormerSecret(database, row, moved)
      },
    }))
  },
}

/** A column of the cards; null where a card has nothing under the key. */
const ofCards = (
  columnName: string,
  encryptedOf: (
    keys: KeyOperations,
    card: CardUnderKeys,
  ) => Omit<EncryptedValue, 'position'> | null,
): EncryptedColumn => ({
  columnName,
  async page(keys, after, limit) {
    const cards = await listCardsUnderKeys(keys.database, after, limit)
    return cards.map((card) => ({
      position: card.publicToken,
      ...(encryptedOf(keys, card) ?? nothing),
    }))
  },
})

const nothing = { keyVersion: Number.POSITIVE_INFINITY, move: async () => false }

const cardPans = ofCards('card.encrypted_pan', ({ database, hsm }, card) => ({
  keyVersion: hsm.sealedVersionOf(card.encryptedPan),
  move: async () =>
    movePan(database, card.publicToken, card.encryptedPan, await hsm.rewrapPan(card)),
}))

const cardPersonalData = ofCards('card.personal_data', ({ database, hsm }, card) => ({
  keyVersion: hsm.sealedVersionOf(card.personalData),
  async move() {
    const { personalData, publicToken } = card
    const moved = await hsm.rewrapRecord('personal-data', publicToken, personalData)
    return movePersonalData(database, publicToken, personalData, moved)
  },
}))

const cardPins = ofCards('card.pin_block', ({ database, hsm }, card) => {
  const { pinBlock, pinKey } = card
  if (!pinBlock) return null
  return {
    keyVersion: versionIn('pin-storage', pinKey),
    async move() {
      const moved = await hsm.rewrapPin(card, { pinBlock, pinKey })
      return movePin(database, card.publicToken, { pinBlock, pinKey }, moved)
    },
  }
})

const cardCvks = ofCards('card.cvk', (_, { cvk }) => issuedUnder('cvk', cvk))
const cardPvks = ofCards('card.pvv', (_, { pinKey }) => issuedUnder('pvk', pinKey))

/** Is never moved: cards that were issued under a version keep it. */
function issuedUnder(keyName: string, reference: string): Omit<EncryptedValue, 'position'> | null {
  const keyVersion = versionIn(keyName, reference)
  return keyVersion === null ? null : { keyVersion, move: async () => false }
}

/** The version in `cvk/2`; null in a reference to another key. */
function versionIn(keyName: string, reference: string): number | null {
  const [name, version] = reference.split('/')
  return name === keyName ? Number(version) : null
}

/** A card is found by its fingerprint under every version until the older ones are retired. */
const panFingerprints = ofCards('pan_fingerprint', ({ database, hsm }, card) => ({
  keyVersion: null,
  async move() {
    let isAdded = false
    for (const fingerprint of await hsm.panFingerprints(card)) {
      if (await takePan(database, [fingerprint], card.publicToken)) isAdded = true
    }
    return isAdded
  },
}))

const eventNotes: EncryptedColumn = {
  columnName: 'event.note',
  async page({ database, hsm }, after, limit) {
    const [publicToken = '', sequence = '0'] = after.split('/')
    const from = { publicToken, sequence: Number(sequence) }
    return (await listSealedNotes(database, from, limit)).map((row) => ({
      position: `${row.publicToken}/${row.sequence}`,
      keyVersion: hsm.sealedVersionOf(row.note),
      move: async () =>
        moveNote(database, row, await hsm.rewrapRecord('note', row.publicToken, row.note)),
    }))
  },
}

const answers: EncryptedColumn = {
  columnName: 'idempotency_record.answer',
  async page({ database, hsm }, after, limit) {
    const [clientId = '', hash = ''] = after.split('\n')
    const from = { clientId, keyHash: Buffer.from(hash, 'hex') }
    return (await listSealedAnswers(database, from, limit)).map((row) => ({
      position: `${row.clientId}\n${Buffer.from(row.keyHash).toString('hex')}`,
      keyVersion: hsm.sealedVersionOf(row.answer),
      async move() {
        const subject = answerSubject(row.clientId, row.claimId)
        return moveAnswer(database, row, await hsm.rewrapRecord('answer', subject, row.answer))
      },
    }))
  },
}

const sandboxSecrets: EncryptedColumn = {
  columnName: 'sandbox_secret.sealed',
  async page({ database, hsm }, after, limit) {
    return (await listSandboxSecrets(database, after, limit)).map((row) => ({
      position: row.secretName,
      keyVersion: hsm.sealedVersionOf(row.sealed),
      async move() {
        const moved = await hsm.rewrapRecord('sandbox', row.secretName, row.sealed)
        return moveSandboxSecret(database, row, moved)
      },
    }))
  },
}

/** Everything that is under each key, in the order in which it is re-encrypted. */
const columns: Readonly<Record<string, readonly EncryptedColumn[]>> = {
  pan: [cardPans],
  'pan-fingerprint': [panFingerprints],
  'pin-storage': [cardPins],
  'personal-data': [
    cardPersonalData,
    eventNotes,
    answers,
    sandboxSecrets,
    ...webhookColumns,
    formerSecrets,
  ],
  cvk: [cardCvks],
  pvk: [cardPvks],
}

export const encryptedColumnsOf = (keyName: string): readonly EncryptedColumn[] =>
  columns[keyName] ?? []
