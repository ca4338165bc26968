import { approvalSubject, type SealedApprovalPart } from '../../domain/approval.ts'
import { freeTextSubject } from '../../domain/card-life.ts'
import { decisionKeysSubject } from '../../domain/decision-keys.ts'
import { isPublicToken } from '../../domain/identifiers.ts'
import type { KeyedColumn, KeyName } from '../../hsm/contract/catalogue.ts'
import type { RecordPurpose } from '../../hsm/contract/hsm.ts'
import * as cardKeys from '../../storage/cards/keys-of-cards.ts'
import * as sealedApprovals from '../../storage/keys/sealed-approvals.ts'
import * as sealedColumns from '../../storage/keys/sealed-columns.ts'
import * as virtualChips from '../../storage/sandbox/virtual-chips.ts'
import { answerSubject } from '../idempotency/idempotency.ts'
import type { KeyContext } from './keys.ts'

/** One value under a key. */
interface KeyedValue {
  /** The position in the column. The next page begins after it. */
  readonly position: string
  /** The version of its key; null if it does not state one. */
  readonly keyVersion: number | null
  /**
   * Encrypts it under the active version, unless it changed meanwhile.
   * @returns whether it was replaced.
   */
  move(): Promise<boolean>
}

/** Reads a page of a column under a key, in the order of its rows. */
type ReadPage = (keys: KeyContext, after: string, limit: number) => Promise<readonly KeyedValue[]>

/** Reads a value of each card; null if the card has none. */
const ofCards =
  (
    valueIn: (
      keys: KeyContext,
      card: cardKeys.CardUnderKeys,
    ) => Omit<KeyedValue, 'position'> | null,
  ): ReadPage =>
  async (keys, after, limit) => {
    const cards = await cardKeys.listCardsUnderKeys(keys.database, after, limit)
    return cards.map((card) => ({
      position: card.publicToken,
      ...(valueIn(keys, card) ?? nothing),
    }))
  }

const nothing = { keyVersion: Number.POSITIVE_INFINITY, move: async () => false }

/** Cards keep the key version that they were issued with. */
function keptVersion(keyName: KeyName, reference: string): Omit<KeyedValue, 'position'> | null {
  const keyVersion = versionIn(keyName, reference)
  return keyVersion === null ? null : { keyVersion, move: async () => false }
}

/** Parses the version in `cvk/2`; null in a reference to another key. */
function versionIn(keyName: KeyName, reference: string): number | null {
  const [name, version] = reference.split('/')
  return name === keyName ? Number(version) : null
}

const noUuid = '00000000-0000-0000-0000-000000000000'

/** A sealed column of the webhooks. */
const ofWebhooks =
  (column: sealedColumns.SealedWebhookColumn, purpose: RecordPurpose): ReadPage =>
  async ({ database, hsm }, after, limit) => {
    const [clientId = '', webhookId = noUuid] = after.split('\n')
    const rows = await sealedColumns.listSealedWebhooks(
      database,
      column,
      { clientId, webhookId },
      limit,
    )
    return rows.map((row) => ({
      position: `${row.clientId}\n${row.webhookId}`,
      keyVersion: hsm.readSealedVersion(row.sealed),
      async move() {
        const moved = await hsm.rewrapRecord(purpose, row.webhookId, row.sealed)
        return sealedColumns.moveSealedWebhook(database, column, row, moved)
      },
    }))
  }

/** A sealed column of the approvals. */
const ofApprovals =
  (column: SealedApprovalPart): ReadPage =>
  async ({ database, hsm }, after, limit) => {
    const afterId = after === '' ? noUuid : after
    const rows = await sealedApprovals.listSealedApprovals(database, column, afterId, limit)
    return rows.map((row) => ({
      position: row.approvalId,
      keyVersion: hsm.readSealedVersion(row.sealed),
      async move() {
        const subject = approvalSubject(row.approvalId, column)
        const moved = await hsm.rewrapRecord('approval', subject, row.sealed)
        return sealedApprovals.moveSealedApproval(database, column, row, moved)
      },
    }))
  }

/** How each column in the catalogue of keys is read, and how its values are re-encrypted. */
export const keyedColumns: Readonly<Record<KeyedColumn, ReadPage>> = {
  'card.encrypted_pan': ofCards(({ database, hsm }, card) => ({
    keyVersion: hsm.readSealedVersion(card.encryptedPan),
    move: async () =>
      cardKeys.movePan(database, card.publicToken, card.encryptedPan, await hsm.rewrapPan(card)),
  })),
  // A card has a fingerprint under every version until the older ones are retired.
  pan_fingerprint: ofCards(({ database, hsm }, card) => ({
    keyVersion: null,
    async move() {
      let isAdded = false
      for (const fingerprint of await hsm.panFingerprints(card)) {
        if (await cardKeys.addPanFingerprint(database, fingerprint, card.publicToken))
          isAdded = true
      }
      return isAdded
    },
  })),
  'card.pin_block': ofCards(({ database, hsm }, card) => {
    const { pinBlock, pinKey } = card
    if (!pinBlock) return null
    return {
      keyVersion: versionIn('pin-storage', pinKey),
      async move() {
        const moved = await hsm.rewrapPin(card, { pinBlock, pinKey })
        return cardKeys.movePin(database, card.publicToken, { pinBlock, pinKey }, moved)
      },
    }
  }),
  async 'chip_command.pin_block'({ database, hsm }, after, limit) {
    const [publicToken = '', number = '0'] = after.split('/')
    const from = { publicToken, number: Number(number) }
    return (await cardKeys.listPinsOfCommands(database, from, limit)).map((row) => ({
      position: `${row.publicToken}/${row.number}`,
      keyVersion: versionIn('pin-storage', row.pinKey),
      async move() {
        return cardKeys.movePinOfCommand(database, row, await hsm.rewrapPin(row, row))
      },
    }))
  },
  async 'virtual_chip.pin_block'({ database, hsm }, after, limit) {
    const chips = await virtualChips.listPinsOfVirtualChips(database, after, limit)
    return chips.map((chip) => ({
      position: chip.publicToken,
      keyVersion: versionIn('pin-storage', chip.pinKey),
      async move() {
        const moved = await hsm.rewrapPin(chip, chip)
        return virtualChips.movePinOfVirtualChip(database, chip, moved)
      },
    }))
  },
  'card.personal_data': ofCards(({ database, hsm }, card) => ({
    keyVersion: hsm.readSealedVersion(card.personalData),
    async move() {
      const { personalData, publicToken } = card
      const moved = await hsm.rewrapRecord('personal-data', publicToken, personalData)
      return cardKeys.movePersonalData(database, publicToken, personalData, moved)
    },
  })),
  'card.cvk': ofCards((_, { cvk }) => keptVersion('cvk', cvk)),
  'card.pvv': ofCards((_, { pinKey }) => keptVersion('pvk', pinKey)),
  // A virtual chip keeps its PIN until a command changes it, whatever the card has by then.
  async 'virtual_chip.pvv'({ database }, after, limit) {
    const chips = await virtualChips.listPvvsOfVirtualChips(database, after, limit)
    return chips.map(({ pinKey, publicToken }) => ({
      ...(keptVersion('pvk', pinKey) ?? nothing),
      position: publicToken,
    }))
  },
  // Chips keep their keys until their cards expire.
  async 'chip.key_version'({ database }, after, limit) {
    const [publicToken = '', panSequenceNumber = ''] = after.split('/')
    const chips = await cardKeys.listChipsUnderKeys(
      database,
      { publicToken, panSequenceNumber },
      limit,
    )
    return chips.map((chip) => ({
      ...nothing,
      position: `${chip.publicToken}/${chip.panSequenceNumber}`,
      ...(chip.expiryDate !== null && { keyVersion: chip.keyVersion }),
    }))
  },
  async 'plastic.free_texts'({ database, hsm }, after, limit) {
    const [token, number = '-1'] = after.split('/')
    const publicToken = isPublicToken(token) ? token : ''
    const from = { publicToken, plasticNumber: Number(number) } as const
    return (await sealedColumns.listSealedFreeTexts(database, from, limit)).map((row) => {
      const subject = freeTextSubject(row.publicToken, row.plasticNumber)
      return {
        position: subject,
        keyVersion: hsm.readSealedVersion(row.freeTexts),
        async move() {
          const moved = await hsm.rewrapRecord('personal-data', subject, row.freeTexts)
          return sealedColumns.moveFreeTexts(database, row, moved)
        },
      }
    })
  },
  async 'event.note'({ database, hsm }, after, limit) {
    const [token, sequence = '0'] = after.split('/')
    const publicToken = isPublicToken(token) ? token : ''
    const from = { publicToken, sequence: Number(sequence) } as const
    return (await sealedColumns.listSealedNotes(database, from, limit)).map((row) => ({
      position: `${row.publicToken}/${row.sequence}`,
      keyVersion: hsm.readSealedVersion(row.note),
      move: async () =>
        sealedColumns.moveNote(
          database,
          row,
          await hsm.rewrapRecord('note', row.publicToken, row.note),
        ),
    }))
  },
  async 'idempotency_record.answer'({ database, hsm }, after, limit) {
    const [clientId = '', hash = ''] = after.split('\n')
    const from = { clientId, keyHash: Buffer.from(hash, 'hex') }
    return (await sealedColumns.listSealedAnswers(database, from, limit)).map((row) => ({
      position: `${row.clientId}\n${Buffer.from(row.keyHash).toString('hex')}`,
      keyVersion: hsm.readSealedVersion(row.answer),
      async move() {
        const subject = answerSubject(row.clientId, row.claimId)
        return sealedColumns.moveAnswer(
          database,
          row,
          await hsm.rewrapRecord('answer', subject, row.answer),
        )
      },
    }))
  },
  async 'sandbox_secret.sealed'({ database, hsm }, after, limit) {
    return (await sealedColumns.listSandboxSecrets(database, after, limit)).map((row) => ({
      position: row.secretName,
      keyVersion: hsm.readSealedVersion(row.sealed),
      async move() {
        const moved = await hsm.rewrapRecord('sandbox', row.secretName, row.sealed)
        return sealedColumns.moveSandboxSecret(database, row, moved)
      },
    }))
  },
  'approval.payload': ofApprovals('payload'),
  'approval.reason': ofApprovals('reason'),
  'approval.outcome': ofApprovals('outcome'),
  'webhook.secret': ofWebhooks('secret', 'webhook-secret'),
  'webhook.description': ofWebhooks('description', 'note'),
  async 'webhook_former_secret.secret'({ database, hsm }, after, limit) {
    const [clientId = '', webhookId = noUuid, formerSecretId = noUuid] = after.split('\n')
    const position = { clientId, webhookId, formerSecretId }
    const rows = await sealedColumns.listSealedFormerSecrets(database, position, limit)
    return rows.map((row) => ({
      position: `${row.clientId}\n${row.webhookId}\n${row.formerSecretId}`,
      keyVersion: hsm.readSealedVersion(row.sealed),
      async move() {
        const moved = await hsm.rewrapRecord('webhook-secret', row.webhookId, row.sealed)
        return sealedColumns.moveSealedFormerSecret(database, row, moved)
      },
    }))
  },
  async 'decision_signing_key.sealed_keys'({ database, hsm }, after, limit) {
    const [clientId = '', keyId = ''] = after.split('\n')
    const rows = await sealedColumns.listSealedDecisionKeys(database, { clientId, keyId }, limit)
    return rows.map((row) => ({
      position: `${row.clientId}\n${row.keyId}`,
      keyVersion: hsm.readSealedVersion(row.sealed),
      async move() {
        const subject = decisionKeysSubject(row.clientId, row.keyId)
        const moved = await hsm.rewrapRecord('decision-keys', subject, row.sealed)
        return sealedColumns.moveSealedDecisionKeys(database, row, moved)
      },
    }))
  },
}
